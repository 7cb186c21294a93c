"""The stack gate, judged on paper: what the probe read in the image against what the plan wants of it."""
from __future__ import annotations

import pytest

from planning.families import family_of
from planning.plan import document
from tests.planning.paper import plan_one

ZEN = {"vllm": "0.25.1", "torch": "2.11.0+cpu", "zentorch": "2.11.0.3", "platform": "zen"}


def judged(on, stack, **keys):
    plan = plan_one(on, **keys)
    notes = family_of("epyc").judge_stack(document(plan), stack)
    return [refusal.code for refusal in notes.refusals], [warning.code for warning in notes.warnings]


@pytest.mark.parametrize("on, keys, stack, refused, warned", [
    ("genoa-dual", {}, ZEN, [], []),
    ("genoa-dual", {}, {**ZEN, "vllm": "0.25.1+cpu"}, [], []),
    ("genoa-dual", {}, {**ZEN, "platform": "cpu"}, ["blocked"], []),                                # the stock platform in the zentorch image
    ("genoa-dual", {}, {**ZEN, "vllm": "0.23.0"}, [], ["stack-differs"]),                           # a validated family, another version
    ("genoa-dual", {"backend": "stock"}, {**ZEN, "platform": "cpu", "zentorch": None}, [], []),
    ("genoa-dual", {"backend": "stock"}, {**ZEN, "platform": "rocm"}, ["blocked"], []),
    ("venice", {}, ZEN, [], []),
    ("venice", {}, {**ZEN, "vllm": "0.26.0"}, ["needs-consent"], ["stack-differs"]),                # confirmation on Venice
    ("venice", {"acceptUnverified": True}, {**ZEN, "vllm": "0.26.0"}, [], ["stack-differs"]),
    ("genoa-dual", {}, None, [], ["stack-unknown"]),
    ("genoa-dual", {}, {"vllm": "0.25.1", "platform": None}, [], ["stack-unknown"]),
])
def test_stack_gate(on, keys, stack, refused, warned):
    assert judged(on, stack, **keys) == (refused, warned)


def test_the_gate_reads_what_pulumis_state_made_of_the_plan():
    plan = document(plan_one("venice"))
    kept = {key: value for key, value in plan.items() if value is not None}
    kept["health"] = {key: value for key, value in plan["health"].items() if value}
    assert not family_of("epyc").judge_stack(kept, ZEN).refusals
