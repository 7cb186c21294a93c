"""What holds for every Instinct plan, whatever the host, its users and the configuration."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planning.detect.facts import OurContainer
from planning.families.base import Claims
from planning.plan import document, from_document
from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import codes, llama, made_up, plan, plan_all, request

GPUS = st.integers(0, 7)
HOSTS = st.builds(lambda kind, number: machines.host(kind, number), st.sampled_from(["mi300x", "mi325x", "mi355x", "mi300a"]), st.sampled_from([1, 2, 4, 8]))
USE = st.dictionaries(GPUS, st.integers(0, 190), max_size=8)
MODELS = st.builds(lambda size, heads, context: made_up(size, config=llama(heads=heads, context=context)),
                   st.sampled_from([1, 16, 120, 165, 175, 180, 300, 700, 1300, 3000]), st.sampled_from([8, 24, 32, 40]),
                   st.sampled_from([2048, 131072, 2_000_000]))
KEYS = st.fixed_dictionaries({}, optional={
    "tensorParallelSize": st.integers(1, 9), "gpus": st.lists(GPUS, max_size=4), "maxModelLen": st.sampled_from([1, 4096, 131072]),
    "kvCacheDtype": st.sampled_from(["auto", "fp8"]), "enforceEager": st.booleans(), "gpuMemoryUtilization": st.sampled_from([0.1, 0.5, 0.95, 1.0]),
    "features": st.lists(st.sampled_from(["tool_calling", "x"]), max_size=2), "blockSize": st.sampled_from([1, 16, 64])})


@settings(max_examples=120, deadline=None)
@given(HOSTS, USE, st.frozensets(GPUS, max_size=4), MODELS, KEYS)
def test_every_plan_is_sound(host, use, held, model, keys):
    survey = machines.survey(host, use)
    found = plan(model, host, survey, Claims(gpus=held), **keys)
    assert (found.verdict == "fits") == (not found.refusals) == (found.launch is not None)
    assert all("None" not in refusal.text() and "  " not in refusal.text() for refusal in found.refusals)
    if found.launch is None:
        return
    taken, memory = found.placement.gpus, found.memory
    assert not set(taken) & held and set(taken) <= {gpu.index for gpu in host.gpus.devices}
    assert len(taken) == found.placement.tensor_parallel_size and len(taken) & (len(taken) - 1) == 0
    assert memory.required_bytes == sum(line.bytes for line in memory.lines) <= memory.available_bytes
    assert memory.available_bytes <= min(survey.vram_free_bytes[index] for index in taken), "never more than is free now"
    assert memory.max_concurrency >= 1 and memory.kv_cache_bytes >= 2 * machines.GIB
    assert found.launch.environment["HIP_VISIBLE_DEVICES"] == ",".join(map(str, range(len(taken))))


@settings(max_examples=40, deadline=None)
@given(HOSTS, USE, MODELS, KEYS)
def test_suggestions_fit_when_applied(host, use, model, keys):
    survey = machines.survey(host, use)
    for suggestion in plan(model, host, survey, **keys).suggestions:
        assert plan(model, host, survey, **{**keys, **suggestion.set}).verdict == "fits"


@settings(max_examples=40, deadline=None)
@given(HOSTS, USE, st.lists(MODELS, min_size=1, max_size=4))
def test_a_second_run_changes_nothing(host, use, models):
    requests = {f"e{i}": request("org/model") for i in range(len(models))}
    manifests = {f"e{i}": model for i, model in enumerate(models)}
    first = plan_all(requests, host, manifests, survey=machines.survey(host, use))
    running = {name: found for name, found in first.items() if found.launch}
    used = {**use, **{gpu: 180 for found in running.values() for gpu in found.placement.gpus}}
    containers = tuple(OurContainer(f"vllm-test-{name}", "test", name, True, gpus=found.placement.gpus, port=found.launch.port)
                       for name, found in running.items())
    second = plan_all(requests, host, manifests, {name: document(found) for name, found in first.items()}, machines.survey(host, used, containers=containers))
    assert {name: second[name].launch for name in running} == {name: found.launch for name, found in running.items()}
    taken = [gpu for found in running.values() for gpu in found.placement.gpus]
    assert len(taken) == len(set(taken))


def test_plans_survive_the_way_to_json_and_back():
    found = plan(made_up(16, "Qwen/Qwen3.5-9B"))
    assert document(from_document(document(found))) == document(found)


def test_no_gpu_is_no_list_of_gpus():
    assert codes(plan(made_up(16), gpus=[])) == ["bad-value"]


@pytest.mark.parametrize("quant", [{"weight_block_size": ["x"]}, {"weight_block_size": 7}, {"weight_block_size": []}, [], "fp8", {"quant_method": None}])
def test_odd_configs_end_in_an_answer(quant):
    assert plan(made_up(16, config=llama(quantization_config=quant, text_config=3))).verdict in ("fits", "refused")
