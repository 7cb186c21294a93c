"""The fit on GPUs: 4 GB reserve first, then 6 and 2 GB; contexts; sizes that heads and quantised blocks allow."""
from __future__ import annotations

import pytest

from planning.families.instinct.health import deadline_seconds
from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import codes, flags, llama, made_up, plan, warnings

GIB = machines.GIB
BUDGET = int(0.92 * 192 * GIB)
HOST = machines.host(number=1)


def leaving(bytes_left: int, **config):
    """A model of whose budget on one MI300X so much is left for the KV cache."""
    size = BUDGET - 4 * GIB - bytes_left
    return made_up(size / GIB, config=llama(context=4096, **config))


@pytest.mark.parametrize(("left", "verdict", "tight"), [(6 * GIB + 4096, "fits", False), (6 * GIB - 4096, "fits", True), (2 * GIB + 4096, "fits", True),
                                                       (2 * GIB - 4096, "refused", False), (-GIB, "refused", False)])
def test_six_and_two_gigabytes(left, verdict, tight):
    found = plan(leaving(left), HOST)
    assert found.verdict == verdict and ("tight" in warnings(found)) == tight
    assert codes(found) == ([] if verdict == "fits" else ["memory"])


def test_lines_add_up_and_the_reserve_is_counted_once():
    memory = plan(leaving(10 * GIB), HOST).memory
    assert memory.required_bytes == sum(line.bytes for line in memory.lines) <= memory.available_bytes == BUDGET
    sizes = {line.name: line.bytes for line in memory.lines}
    assert list(sizes) == ["weights", "kv-cache", "activations", "graphs", "runtime", "headroom"]
    assert sizes["activations"] + sizes["graphs"] + sizes["runtime"] == 4 * GIB
    assert memory.kv_cache_bytes == BUDGET - 4 * GIB - memory.weights_bytes_per_rank and memory.scope == "gpu"


def test_enforce_eager_is_configuration():
    found = plan(leaving(3 * GIB), HOST, enforceEager=True)
    assert flags(found)["--enforce-eager"] is True and "tight" not in warnings(found)
    assert any("enforceEager: true" in w.message for w in plan(leaving(3 * GIB), HOST).warnings)
    assert found.memory.kv_cache_bytes > plan(leaving(3 * GIB), HOST).memory.kv_cache_bytes
    assert {"enforceEager": True} in [suggestion.set for suggestion in plan(leaving(GIB), HOST).suggestions]


def test_the_context_is_limited_where_nobody_insists():
    model = made_up(150, config=llama(layers=80, context=1_000_000))
    found = plan(model, HOST)
    assert found.verdict == "fits" and "context-limited" in warnings(found)
    length = found.memory.max_model_len
    assert flags(found)["--max-model-len"] == str(length) and length % 256 == 0 and found.memory.max_concurrency >= 1
    assert codes(plan(model, HOST, maxModelLen=1_000_000)) == ["memory"]
    longer = plan(model, HOST, kvCacheDtype="fp8").memory.max_model_len
    assert 1.9 * length < longer < 2.1 * length


def test_suggestions_apply():
    found = plan(made_up(150, config=llama(layers=80, context=131072)), HOST, maxModelLen=131072)
    assert found.verdict == "refused" and found.suggestions
    for suggestion in found.suggestions:
        again = plan(made_up(150, config=llama(layers=80, context=131072)), HOST, **{"maxModelLen": 131072, **suggestion.set})
        assert again.verdict == "fits", suggestion


def test_an_insisted_context_takes_more_gpus():
    model = made_up(150, config=llama(layers=80, context=1_000_000))
    assert plan(model).placement.tensor_parallel_size == 1
    assert plan(model, maxModelLen=1_000_000).placement.tensor_parallel_size == 4


def test_a_context_beyond_the_models_own_is_refused():
    assert codes(plan(made_up(16), maxModelLen=131073)) == ["bad-value"]
    assert plan(made_up(16), maxModelLen=131073, env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}).verdict == "fits"


@pytest.mark.parametrize(("config", "weights", "tp"), [(llama(heads=40, kv_heads=8), 600, 4), (llama(heads=24), 600, 4), (llama(heads=6), 300, 2),
                                                       (llama(heads=7), 100, 1)])
def test_heads_limit_the_size(config, weights, tp):
    assert plan(made_up(weights, config=config)).placement.tensor_parallel_size == tp


def test_heads_that_allow_no_size_that_fits():
    found = plan(made_up(400, config=llama(heads=6)))
    assert codes(found) == ["memory"]
    assert codes(plan(made_up(100, config=llama(heads=6)), tensorParallelSize=4)) == ["bad-value"]


def test_quantised_blocks_limit_the_size():
    config = llama(num_experts=128, moe_intermediate_size=1536, model_type="qwen3_moe", architectures=["Qwen3MoeForCausalLM"],
                   quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]})
    assert codes(plan(made_up(100, config=config), tensorParallelSize=8)) == ["bad-value"]
    assert plan(made_up(100, config=config), tensorParallelSize=4).verdict == "fits"


def test_min_tp_of_amds_legacy_data():
    found = plan(made_up(440, "Qwen/Qwen3-235B-A22B", config=llama()), machines.host("mi355x"))
    assert found.placement.tensor_parallel_size == 4
    assert "bad-value" in codes(plan(made_up(440, "Qwen/Qwen3-235B-A22B"), machines.host("mi355x", 2)))


def test_a_refusal_names_quantised_alternatives_in_order():
    found = plan(made_up(2200, "moonshotai/Kimi-K2-Instruct"), machines.host("mi355x"))
    assert found.refusals[-1].code == "memory" and "model: amd/Kimi-K2-Instruct-w-mxfp4-a-fp8" in found.refusals[-1].do


def test_a_variant_is_estimated_and_says_so():
    model = made_up(1480, "zai-org/GLM-5.1", config=llama(heads=64))
    refused = plan(model, machines.host("mi300x"))
    assert "variant: fp8 (zai-org/GLM-5.1-FP8)" in refused.refusals[-1].do
    assert {"variant": "fp8"} in [suggestion.set for suggestion in refused.suggestions]
    taken = plan(model, machines.host("mi300x"), variant="fp8")
    assert taken.verdict == "fits" and taken.launch.command[0] == "zai-org/GLM-5.1-FP8" and "variant-estimated" in warnings(taken)
    assert flags(taken)["--served-model-name"] == "zai-org/GLM-5.1" and "--revision" not in flags(taken)
    assert any(name == "Model" and "in place of zai-org/GLM-5.1" in text for name, text in taken.summary)


@pytest.mark.parametrize(("weights", "seconds"), [(10**9, 600), (10**11 - 1, 600), (10**11, 86400), (None, 86400)])
def test_deadlines(weights, seconds):
    assert deadline_seconds(weights) == seconds


def test_health_is_a_short_generation():
    health = plan(made_up(16)).health
    assert (health.path, health.deadline_seconds) == ("/v1/chat/completions", 600)
    assert health.body == {"model": "org/model", "messages": [{"role": "user", "content": "say hi"}], "max_tokens": 5, "temperature": 0}
    assert plan(made_up(16), waitSeconds=77).health.deadline_seconds == 77


def test_large_weights_are_waited_for_as_long_as_the_log_goes_on():
    large = made_up(120)
    assert (plan(made_up(16)).health.stall_seconds, plan(large).health.stall_seconds) == (None, 3600)
    assert plan(large, waitSeconds=77).health.stall_seconds is None


@pytest.mark.parametrize(("model", "row"), [("MiniMaxAI/MiniMax-M2", "1 (the recipe runs with 2)"), ("inclusionAI/Ling-2.6-1T", "1 (the recipe runs with 8)"),
                                           ("Qwen/Qwen3-8B", "1"), ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "1 (the recipe runs with 4)")])
def test_the_recipes_own_size_is_shown(model, row):
    assert dict(plan(made_up(16, model)).summary)["TP"] == row


def test_every_row_of_the_confirmation_table():
    rows = dict(plan(made_up(16, "Qwen/Qwen3.5-9B")).summary)
    assert list(rows) == ["Model", "Precision", "Weights", "GPUs", "TP", "Context", "Recipe", "Image", "Port"]
    assert rows["Precision"].startswith("bf16: the model as published; native on gfx942") and "MI300X (192 GiB" in rows["GPUs"]
    assert "2026-08-19" in rows["Recipe"] and rows["TP"] == "1" and rows["Port"] == "8000"
