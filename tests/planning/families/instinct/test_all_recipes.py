"""All 173 recipes on five kinds of host: each gives a plan, or a refusal with a code and its four answers, in seconds altogether."""
from __future__ import annotations

import pytest

from planning.families.instinct.flags import parse
from planning.families.instinct.recipe import records
from planning.plan import EndpointPlan
from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import manifest, plan

HOSTS = {"mi300x-8": ("mi300x", 8), "mi325x-8": ("mi325x", 8), "mi355x-8": ("mi355x", 8), "mi300x-1": ("mi300x", 1), "mi210-8": ("mi210", 8)}
CODES = {"blacklisted", "metadata-missing", "gfx-unsupported", "memory", "needs-consent", "precision-unsupported", "vllm-too-old", "architecture-unsupported",
         "not-generative", "no-chat-template", "gated"}


@pytest.fixture(scope="module", params=HOSTS)
def plans(request) -> tuple[str, dict[str, EndpointPlan]]:
    facts = machines.host(*HOSTS[request.param])
    return request.param, {record["model"]: plan(record["model"], facts) for record in records()}


def test_each_recipe_gives_a_plan_or_a_refusal_with_a_code(plans):
    _, found = plans
    assert len(found) == 173
    for model, one in found.items():
        assert (one.verdict == "fits") == (one.launch is not None) == (not one.refusals), model
        for refusal in one.refusals:
            assert refusal.code in CODES, (model, refusal)
            assert all((refusal.what, refusal.found, refusal.needed, refusal.do)) and "None" not in refusal.text(), (model, refusal)


def test_a_model_without_config_json_is_metadata_missing_and_composed_all_the_same(plans):
    _, found = plans
    for model, one in found.items():
        if manifest(model).config is None:
            assert "metadata-missing" in [r.code for r in one.refusals]
            assert one.recipe["name"] == model and one.engine.image.startswith("vllm/vllm-openai-rocm:v")


def test_mi210_is_refused_as_a_whole(plans):
    name, found = plans
    if name == "mi210-8":
        assert all("gfx-unsupported" in [r.code for r in one.refusals] for one in found.values())


def test_what_fits_says_so_in_numbers(plans):
    name, found = plans
    fitting = {model: one for model, one in found.items() if one.verdict == "fits"}
    assert name == "mi210-8" or len(fitting) >= 10
    for model, one in fitting.items():
        memory, place, options = one.memory, one.placement, parse(one.launch.command[1:])
        assert memory.required_bytes == sum(line.bytes for line in memory.lines) <= memory.available_bytes, model
        assert len(place.gpus) == place.tensor_parallel_size in (1, 2, 4, 8) and options["--tensor-parallel-size"] == str(place.tensor_parallel_size)
        assert memory.max_concurrency is None or memory.max_concurrency >= 1, model
        assert ("--enable-auto-tool-choice" in options) == ("--tool-call-parser" in options)
        assert one.launch.environment.get("VLLM_ROCM_USE_AITER_FP4BMM") == ("1" if "mi355x" in name else "0") or "mi355x" in name


def test_more_memory_never_needs_more_gpus():
    small, large = machines.host("mi300x"), machines.host("mi325x")
    for record in records():
        if manifest(record["model"]).config is not None:
            a, b = plan(record["model"], small), plan(record["model"], large)
            if a.verdict == b.verdict == "fits":
                assert b.placement.tensor_parallel_size <= a.placement.tensor_parallel_size
