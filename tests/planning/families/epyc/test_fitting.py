"""Whether an EPYC endpoint fits: the node a rank looks at, limits, what others hold, the KV space and its defaults."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.detect.facts import Memory, OurContainer
from planning.fit.cpu_budget import default_kv_bytes
from planning.units import GIB
from tests.planning.paper import codes, host, model, plan_all, plan_one


def lines(plan):
    return {line.name: line.bytes for line in plan.memory.lines}


@pytest.mark.parametrize("ram_gib, kv", [(1536, 614), (768, 307), (384, 153), (64, 25), (33, 13), (32, 16), (16, 8), (2, 1), (1, 1), (0, 1), (27, 13)])
def test_default_kv(ram_gib, kv):
    """0.4 of the RAM, at most RAM - 16, at least 1; small nodes half."""
    assert default_kv_bytes(ram_gib * GIB) == kv * GIB


@pytest.mark.parametrize("on, keys, scope, available", [
    ("genoa-dual", {}, "socket", 768), ("nps4", {}, "numa-node", 192), ("nps4", {"tensorParallelSize": 4}, "numa-node", 192),
    ("container-limited", {}, "socket", 90), ("memoryless", {}, "numa-node", 192)])
def test_what_is_available(on, keys, scope, available):
    memory = plan_one(on, **keys).memory
    assert (memory.scope, memory.available_bytes) == (scope, available * GIB)


def test_nps4_counts_on_one_node():
    """The procedure's KV space for a whole socket (307 GiB) is refused by vLLM on a node of 192 GiB."""
    assert codes(plan_one("nps4", kvCacheGib=307)) == ["memory"]
    assert plan_one("nps4").memory.kv_cache_bytes <= 192 * GIB


def test_kv_space_is_per_rank():
    one, two = plan_one("nps4", kvCacheGib=16, numaNode=0), plan_one("nps4", kvCacheGib=16, tensorParallelSize=2)
    assert two.launch.environment["VLLM_CPU_KVCACHE_SPACE"] == "16" and lines(two)["kv-cache"] == 16 * GIB
    assert two.memory.kv_cache_tokens == pytest.approx(2 * one.memory.kv_cache_tokens, rel=0.01)
    assert two.memory.weights_bytes_per_rank < one.memory.weights_bytes_per_rank


def test_cgroup_limit_is_shared_by_ranks():
    assert plan_one("container-limited", tensorParallelSize=2, facts=replace(
        host("synthetic-genoa-dual")[0], memory=Memory(1536 * GIB, 90 * GIB))).memory.available_bytes == 45 * GIB


@pytest.mark.parametrize("key", ["kvCacheGib"])
def test_explicit_space_that_does_not_fit_is_refused_with_numbers(key):
    plan = plan_one("genoa-dual", **{key: 800})
    refusal = plan.refusals[0]
    assert codes(plan) == ["memory"] and str(plan.memory.required_bytes) in refusal.needed and str(plan.memory.available_bytes) in refusal.found
    assert plan.memory.required_bytes == sum(lines(plan).values()) > plan.memory.available_bytes


def test_default_space_shrinks_until_all_fits():
    big = plan_one("small", model="Qwen/Qwen3-4B")
    assert big.verdict == "fits" and 1 <= big.memory.kv_cache_bytes // GIB < 16 and big.memory.available_bytes - big.memory.required_bytes < GIB


def test_concurrency_must_fit():
    plan = plan_one("genoa-dual", kvCacheGib=1, concurrency=50)
    assert codes(plan) == ["memory"] and "50 at once" in plan.refusals[0].needed
    roomy = plan_one("genoa-dual", concurrency=50)
    assert roomy.verdict == "fits" and roomy.memory.max_concurrency >= 50


def test_weights_by_hand():
    assert lines(plan_one("genoa-dual", weightGib=12.5))["weights"] == int(12.5 * GIB)


def test_length_is_bounded_by_the_model():
    plan = plan_one("genoa-dual", maxModelLen=50_000)
    assert codes(plan) == ["length"] and plan.suggestions
    assert plan_one("genoa-dual").memory.max_model_len == 4096


def test_model_shorter_than_the_default():
    short = replace(model(), config={**model().config, "max_position_embeddings": 2048})
    assert plan_one("genoa-dual", manifest=short).memory.max_model_len == 2048


def test_memory_of_others_counts_above_the_headroom():
    seen = host("synthetic-genoa-dual")[1]
    survey = replace(seen, node_available_bytes={0: 500 * GIB, 1: 760 * GIB})
    assert plan_one("genoa-dual", survey=survey, socket=0).memory.available_bytes == (500 + 16) * GIB
    assert plan_one("genoa-dual", survey=survey, socket=1).memory.available_bytes == 768 * GIB


def test_our_own_containers_are_not_counted_twice():
    seen = host("synthetic-genoa-dual")[1]
    other = OurContainer("vllm-o-x", "o", "x", True, (0, 1), (), 8000, 200 * GIB, 0)
    survey = replace(seen, node_available_bytes={0: 560 * GIB}, containers=(other,))
    assert plan_one("genoa-dual", survey=survey, socket=0).memory.available_bytes == (768 - 200) * GIB


def test_second_endpoint_on_a_socket_has_what_is_left():
    plans = plan_all("genoa-single", {"a": {"cores": 16}, "b": {"cores": 16}})
    held = sum(size for name, size in lines(plans["a"]).items() if name != "headroom")
    assert plans["b"].memory.available_bytes == 384 * GIB - held and plans["b"].placement.cpuset_cpus == "16-31"


def test_the_first_socket_that_fits_is_taken():
    survey = replace(host("synthetic-genoa-dual")[1], node_available_bytes={0: 10 * GIB, 1: 760 * GIB})
    plan = plan_one("genoa-dual", survey=survey, model="Qwen/Qwen3-30B-A3B")
    assert plan.verdict == "fits" and plan.placement.socket == 1


@pytest.mark.parametrize("changes", [{"topology": ()}, {"nodes": ()}])
def test_unknown_facts_are_refused_with_the_command_that_tells(changes):
    facts = host("synthetic-genoa-dual")[0]
    plan = plan_one("genoa-dual", facts=replace(facts, cpu=replace(facts.cpu, **changes)))
    assert set(codes(plan)) == {"unknown-fact"} and all("record `" in refusal.do for refusal in plan.refusals)


def test_one_node_takes_its_memory_from_memtotal():
    facts = host("synthetic-genoa-single")[0]
    nodes = tuple(replace(node, memory_bytes=None) for node in facts.cpu.nodes)
    assert plan_one("genoa-single", facts=replace(facts, cpu=replace(facts.cpu, nodes=nodes))).memory.available_bytes == 384 * GIB


def test_model_without_a_config_is_refused():
    assert "metadata-missing" in codes(plan_one("genoa-dual", manifest=replace(model(), config=None)))


def test_float16_checkpoint_is_served_in_bfloat16():
    half = replace(model(), config={**model().config, "torch_dtype": "float16"})
    command = plan_one("genoa-dual", manifest=half).launch.command
    assert command[command.index("--dtype") + 1] == "bfloat16"


def test_big_models_may_start_slowly():
    assert plan_one("genoa-dual", model="meta-llama/Llama-3.1-70B-Instruct").health.deadline_seconds > 1000
