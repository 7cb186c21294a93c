"""The stack gate of Instinct: the ROCm platform must be active, in a version that the recipe takes."""
from __future__ import annotations

import pytest

from planning.families import family_of
from planning.plan import document
from tests.planning.families.instinct.planned import made_up, plan

ROCM = {"vllm": "0.31.0", "torch": "2.13.0", "zentorch": None, "platform": "rocm"}


@pytest.mark.parametrize("stack, oldest, refused, warned", [
    (ROCM, None, [], []),
    ({**ROCM, "platform": "cuda"}, None, ["blocked"], []),
    ({**ROCM, "platform": "unspecified"}, None, ["blocked"], []),              # no amdsmi module, or no access to the devices
    ({**ROCM, "vllm": "0.10.2+rocm"}, "0.11.0", ["vllm-too-old"], []),
    ({**ROCM, "vllm": "0.11.0+rocm"}, "0.11.0", [], []),
    (None, None, [], ["stack-unknown"]),
])
def test_stack_gate(stack, oldest, refused, warned):
    made = document(plan(made_up(16)))
    made["health"]["stack"] = {"platform": "rocm", **({"oldest_vllm": oldest} if oldest else {})}
    notes = family_of("instinct").judge_stack(made, stack)
    assert ([r.code for r in notes.refusals], [w.code for w in notes.warnings]) == (refused, warned)


def test_the_plan_says_what_it_wants_of_the_image():
    assert plan(made_up(16)).health.stack["platform"] == "rocm"
