"""Log lines of running engines whose inputs are all stated (docs/capacity.md names where they were read)."""
from __future__ import annotations

import pytest

from planning.fit import capacity
from planning.units import GIB
from tests.planning.fit.recorded import config_of

QWEN2_0_5B = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
              "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "tie_word_embeddings": True, "sliding_window": 32768,
              "use_sliding_window": False, "max_window_layers": 21, "max_position_embeddings": 32768}
SMOLLM2_360M = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 960, "num_hidden_layers": 32, "num_attention_heads": 15,
                "num_key_value_heads": 5, "intermediate_size": 2560, "vocab_size": 49152, "tie_word_embeddings": True}
OPT_125M = {"model_type": "opt", "architectures": ["OPTForCausalLM"], "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "ffn_dim": 3072, "vocab_size": 50272, "word_embed_proj_dim": 768, "max_position_embeddings": 2048}
QWEN3_14B = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40,
             "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 17408, "vocab_size": 151936, "tie_word_embeddings": False}


def of(config, gib, length, **settings):
    return capacity(config, kv_cache_bytes=int(gib * GIB), max_model_len=length, **settings)


@pytest.mark.parametrize(("config", "gib", "length", "version", "tokens", "concurrency"), [
    pytest.param(QWEN2_0_5B, 8, 2048, "0.25.1", 699_008, 341.31, id="C1"),
    pytest.param(QWEN2_0_5B, 1, 4096, "0.30.0", 87_296, 21.31, id="C2"),
    pytest.param(SMOLLM2_360M, 1, 2048, "0.29.0", 26_112, 12.75, id="C3"),
    pytest.param(OPT_125M, 1, 2048, "0.28.0", 29_056, 14.19, id="C5"),
])
def test_cpu_logs_are_met_exactly(config, gib, length, version, tokens, concurrency):
    found = of(config, gib, length, vllm_version=version)
    assert found.kv_cache_tokens == tokens
    assert round(found.max_concurrency, 2) == concurrency


@pytest.mark.parametrize(("gib", "longest"), [(4, 37_376), (1, 9_344)], ids=["C9, 4 GiB", "C9, 1 GiB"])
def test_what_would_fit_is_what_the_engine_says(gib, longest):
    found = of(config_of("Qwen__Qwen3-0.6B"), gib, 40_960)
    assert round(found.one_request_bytes / GIB, 2) == 4.38
    assert found.estimated_max_model_len == longest


@pytest.mark.parametrize(("config", "gib", "length", "settings", "tokens", "concurrency"), [
    pytest.param(config_of("meta-llama__Llama-3.1-8B"), 145.8, 8192, {"vllm_version": "0.22.0"}, 1_194_384, 145.80, id="A1, MI300X"),
    pytest.param(config_of("google__gemma-3-4b-it"), 162.84, 8192, {"vllm_version": "0.23.0", "card_bytes": 192 * GIB}, 1_217_591, 148.63, id="A2, MI300X"),
    pytest.param(config_of("Qwen__Qwen3-8B"), 14.43, 4096, {}, 105_056, 25.65, id="N3"),
    pytest.param(QWEN3_14B, 11.00, 40_960, {}, 72_064, 1.76, id="N4"),
    pytest.param(config_of("Qwen__Qwen2.5-7B-Instruct"), 13.42, 8192, {}, 251_344, 30.68, id="N6"),
    pytest.param(config_of("moonshotai__Kimi-K2-Instruct"), 46.80, 131_072, {"tensor_parallel_size": 8}, 715_072, 5.46, id="N1, latent on 8 ranks"),
    pytest.param(config_of("nvidia__Qwen3.6-27B-NVFP4"), 15.35, 131_072, {"vllm_version": "0.28.0", "quantization": "none"}, 241_051, 1.84, id="N11, hybrid"),
])
def test_gpu_logs_are_met_within_their_rounding(config, gib, length, settings, tokens, concurrency):
    found = of(config, gib, length, device="rocm", **settings)
    assert found.kv_cache_tokens == pytest.approx(tokens, rel=0.001)
    assert found.max_concurrency == pytest.approx(concurrency, abs=0.012)


def test_hybrid_blocks_are_aligned_as_logged():
    config = config_of("nvidia__Qwen3.6-27B-NVFP4")
    assert of(config, 15.35, 131_072, device="rocm", vllm_version="0.28.0", quantization="none").block_size == 784                            # N11
    assert of(config, 15.35, 131_072, device="rocm", vllm_version="0.28.0", quantization="none", kv_cache_dtype="fp8").block_size == 1568      # N9


def test_needed_memory_of_windows_and_ranks():
    gpt_oss_120b = {**config_of("openai__gpt-oss-20b"), "num_hidden_layers": 36, "num_local_experts": 128,
                    "layer_types": ["sliding_attention", "full_attention"] * 18}
    assert round(of(gpt_oss_120b, 8, 131_072, device="rocm", max_num_batched_tokens=1024).one_request_bytes / GIB, 2) == 4.54                 # N18
    minimax = config_of("nvidia__MiniMax-M2.5-NVFP4")
    assert round(of(minimax, 40, 196_608, device="rocm", tensor_parallel_size=2, quantization="none").one_request_bytes / GIB, 2) == 23.25     # N21
