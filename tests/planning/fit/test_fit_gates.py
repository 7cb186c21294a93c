"""What vLLM refuses because of shape or settings is refused with its reason, and what cannot be judged has no numbers."""
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planning.fit import capacity
from planning.units import GIB
from tests.planning.fit.recorded import config_of, rows

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}


def of(config, **settings):
    return capacity(config, kv_cache_bytes=8 * GIB, max_model_len=2048, **settings)


@pytest.mark.parametrize(("config", "settings", "code", "word"), [
    (config_of("deepseek-ai__DeepSeek-V3"), {"vllm_version": "0.25.1"}, "architecture-unsupported", "MLA"),
    (config_of("deepseek-ai__DeepSeek-V3.2"), {"vllm_version": "0.32.0"}, "architecture-unsupported", "Sparse"),
    ({**LLAMA, "num_key_value_heads": 2}, {"tensor_parallel_size": 6}, "tensor-parallel-heads", "32 heads, 6 ranks"),
    ({**LLAMA, "num_attention_heads": 48, "num_key_value_heads": 4, "hidden_size": 6144}, {"tensor_parallel_size": 6}, "tensor-parallel-heads",
     "4 key/value heads"),
    (config_of("nvidia__NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4"), {"quantization": "none"}, "architecture-unsupported", "experts without a gate"),
    (LLAMA, {"block_size": 10}, "block-size", "blockSize 10"),
    (LLAMA, {"kv_cache_dtype": "fp3"}, "unknown-dtype", "fp3"),
    (LLAMA, {"pipeline_parallel_size": 2}, "pipeline-parallel", "2 stages"),
    ({"model_type": "made_up", "architectures": ["MadeUpForCausalLM"], "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}, {},
     "unknown-architecture", "made_up"),
    ({}, {}, "unknown-architecture", "no architecture"),
    ({**LLAMA, "layer_types": ["full_attention", "woven_attention"] * 16}, {}, "unknown-architecture", "woven_attention"),
    (config_of("deepseek-ai__DeepSeek-V4-Flash"), {"device": "rocm", "vllm_version": "0.32.0"}, "unknown-architecture", "compressed"),
    (config_of("moonshotai__Kimi-K3"), {"vllm_version": "0.32.0"}, "pages-do-not-unify", "does not divide the largest page"),
])
def test_refused_with_its_reason_and_without_numbers(config, settings, code, word):
    found = of(config, **settings)
    assert [refusal.code for refusal in found.refusals] == [code]
    assert word in found.refusals[0].text()
    assert (found.kv_cache_num_blocks, found.kv_cache_tokens, found.max_concurrency, found.one_request_bytes) == (None,) * 4


def test_all_refusals_are_listed_not_the_first():
    found = of(LLAMA, tensor_parallel_size=6, block_size=10)
    assert [refusal.code for refusal in found.refusals] == ["tensor-parallel-heads", "tensor-parallel-heads", "block-size"]


def test_latent_attention_runs_on_a_gpu_and_on_a_newer_cpu():
    config = config_of("deepseek-ai__DeepSeek-V3")
    assert of(config, device="rocm").refusals == ()
    newer = of(config, vllm_version="0.28.0", block_size=128)
    assert (newer.refusals, newer.block_size) == ((), 16)


@pytest.mark.parametrize("broken", [
    {"num_hidden_layers": None}, {"num_hidden_layers": "many"}, {"num_attention_heads": None}, {"num_attention_heads": 0}, {"hidden_size": None},
    {"hidden_size": []}, {"num_key_value_heads": {}}, {"layer_types": 3}, {"layer_types": []}, {"sliding_window": "wide"}, {"rope_scaling": "yes"},
    {"text_config": None}, {"text_config": 5}, {"vision_config": "big"}, {"quantization_config": []}, {"architectures": None}, {"architectures": "x"},
    {"vocab_size": None}, {"intermediate_size": None}, {"head_dim": -1}, {"dtype": 5}, {"torch_dtype": "float13"},
])
def test_odd_configs_never_raise(broken):
    found = of({**LLAMA, **broken})
    assert found.refusals or found.kv_cache_num_blocks


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted({row.model for row in rows()})), st.data())
def test_spoiled_configs_never_raise(name, data):
    config = json.loads(json.dumps(config_of(name)))
    for _ in range(data.draw(st.integers(1, 3))):
        section = data.draw(st.sampled_from([config, *(v for v in config.values() if isinstance(v, dict) and v)]))
        section[data.draw(st.sampled_from(sorted(section)))] = data.draw(st.sampled_from(
            [None, 0, -1, 2.5, "x", [], {}, True, 10**9, "8", [1, 2], {"a": 1}, float("inf"), float("nan")]))
    found = of(config, device=data.draw(st.sampled_from(["cpu", "rocm"])), vllm_version=data.draw(st.sampled_from(["0.25.1", "0.32.0"])))
    assert found.refusals or found.kv_cache_num_blocks is not None
    json.dumps(found.document())


def test_a_block_that_only_the_planner_takes_is_warned_of():
    assert [w.code for w in of(LLAMA, block_size=16, vllm_version="0.32.0").warnings] == ["block-size"]
    assert of(LLAMA, block_size=16).warnings == of(LLAMA, block_size=64, vllm_version="0.32.0").warnings == ()


def test_encoders_keep_no_cache():
    found = of(config_of("BAAI__bge-large-en"))
    assert (found.kv_bytes_per_token_per_rank, found.one_request_bytes, found.refusals) == (0, 0, ())


def test_a_version_without_a_table_uses_the_nearest_lower_one_and_says_so():
    old, between, new = (of(LLAMA, vllm_version=version) for version in ("0.19.0", "0.25.9", "0.40.1"))
    assert all("vllm-version-not-covered" in [w.code for w in found.warnings] for found in (old, between, new))
    assert "0.22.0" in old.warnings[0].message and "0.25.1" in between.warnings[0].message and "0.33.0" in new.warnings[0].message
    assert [w.code for w in of(LLAMA, vllm_version="v0.25.1+cpu").warnings] == []


def test_defaults_follow_platform_and_card():
    assert of(LLAMA).max_num_batched_tokens == 2048
    assert of(LLAMA, tensor_parallel_size=2).max_num_batched_tokens == 4096
    gpu = {"device": "rocm", "card_bytes": 192 * GIB}
    assert [of(LLAMA, vllm_version=v, **gpu).max_num_batched_tokens for v in ("0.25.1", "0.28.0")] == [8192, 16384]
    assert of(LLAMA, max_num_batched_tokens=512).max_num_batched_tokens == 512
