"""The support gate, one row for each reason to refuse and each thing that is not one."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planning.errors import Refusal
from planning.resolve import ChatTemplate, ModelManifest, judge

QWEN = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "max_position_embeddings": 40960}
VISION = {"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "dtype": "bfloat16"}}
MLA = {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "torch_dtype": "bfloat16", "kv_lora_rank": 512}
PRESENT = ChatTemplate("present")


def judged(config, *, template=PRESENT, version="0.25.1", device="cpu", manifest=None, **asked):
    return judge(ModelManifest(id="org/m", config=config, chat_template=template, **(manifest or {})), vllm_version=version, device=device, **asked)


def codes(support):
    return [r.code for r in support.refusals]


def quantised(**quantization):
    return {**QWEN, "quantization_config": quantization}


@pytest.mark.parametrize(("config", "asked", "expected"), [
    (QWEN, {}, []),
    ({**QWEN, "architectures": ["NoSuchForCausalLM"]}, {}, ["architecture-unsupported"]),
    ({**QWEN, "architectures": ["XverseForCausalLM"]}, {}, ["architecture-unsupported"]),
    ({**QWEN, "architectures": ["BartForConditionalGeneration"]}, {}, ["architecture-unsupported"]),
    ({**QWEN, "architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True, "model_type": "t5"}, {}, ["architecture-unsupported"]),
    ({**QWEN, "architectures": ["KimiK3ForConditionalGeneration"]}, {}, ["vllm-too-old"]),
    ({**QWEN, "architectures": ["KimiK3ForConditionalGeneration"]}, {"version": "0.32.0"}, []),
    ({**QWEN, "model_type": "foo"}, {}, ["architecture-unsupported"]),
    ({**QWEN, "model_type": "foo", "auto_map": {"AutoConfig": "c.C"}}, {}, ["needs-consent"]),
    ({**QWEN, "model_type": "foo", "auto_map": {"AutoConfig": "c.C"}}, {"trust_remote_code": True}, []),
    ({**QWEN, "auto_map": {"AutoConfig": "c.C"}}, {}, []),
    ({**QWEN, "architectures": ["Qwen3ForSequenceClassification"]}, {}, ["not-generative"]),
    ({**QWEN, "architectures": ["BertModel"], "model_type": "bert"}, {}, ["not-generative"]),
    ({**QWEN, "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper"}, {}, ["not-generative"]),
    ({**QWEN, "architectures": ["MedusaModel"]}, {}, ["not-generative"]),
    (MLA, {}, ["architecture-unsupported"]),
    (MLA, {"version": "0.31.0"}, []),
    (MLA, {"device": "rocm"}, []),
    ({**MLA, "index_topk": 2048}, {"version": "0.32.0"}, ["architecture-unsupported"]),
    ({**MLA, "kv_lora_rank": None}, {}, []),
    (VISION, {"template": ChatTemplate("absent")}, ["no-chat-template"]),
    (VISION, {"template": ChatTemplate("ambiguous", ("a", "b"))}, ["no-chat-template"]),
    (VISION, {"template": ChatTemplate("absent"), "chat_template_given": True}, []),
    (VISION, {"template": ChatTemplate("unknown")}, []),
    (QWEN, {"dtype": "float16"}, ["precision-unsupported"]),
    (QWEN, {"dtype": "half", "backend": "zentorch"}, ["precision-unsupported"]),
    (QWEN, {"dtype": "float16", "backend": "stock"}, []),
    (QWEN, {"dtype": "float8"}, ["precision-unsupported"]),
    (QWEN, {"dtype": "float16", "device": "rocm"}, []),
    ({**QWEN, "model_type": "gemma2"}, {"dtype": "float16", "device": "rocm"}, ["precision-unsupported"]),
    (quantised(quant_method="awq", bits=4), {}, []),
    (quantised(quant_method="gptq", bits=4), {}, []),
    (quantised(quant_method="gptq", bits=4), {"quantization": "gptq_marlin"}, []),
    (quantised(quant_method="gptq", bits=4), {"quantization": "awq"}, ["precision-unsupported"]),
    (quantised(quant_method="compressed-tensors", config_groups={"g": {"weights": {"num_bits": 8, "type": "int"}}}), {}, []),
    (quantised(quant_method="compressed-tensors", config_groups={"g": {"weights": {"num_bits": 8, "type": "float"}}}), {}, ["precision-unsupported"]),
    (quantised(quant_method="fp8"), {}, ["precision-unsupported"]),
    (quantised(quant_method="fp8"), {"device": "rocm"}, []),
    (quantised(quant_method="fbgemm_fp8"), {"device": "rocm"}, []),
    (quantised(quant_method="bitsandbytes", load_in_4bit=True), {}, ["precision-unsupported"]),
    (quantised(quant_method="bitsandbytes", load_in_4bit=True), {"device": "rocm"}, []),
    (quantised(quant_method="bitsandbytes", load_in_4bit=True), {"device": "rocm", "version": "0.32.0"}, ["precision-unsupported"]),
    (quantised(quant_method="modelopt", quant_algo="NVFP4"), {"device": "rocm", "gfx": "gfx942"}, ["precision-unsupported"]),
    (quantised(quant_method="quark", global_quant_config={"weight": {"dtype": "fp4"}}), {"device": "rocm", "gfx": "gfx942"}, []),
    (quantised(quant_method="gguf"), {"device": "rocm"}, ["precision-unsupported"]),
    (quantised(quant_method="no-such"), {"device": "rocm"}, ["precision-unsupported"]),
    ({**QWEN, "quantization_config": None}, {}, []),
    (QWEN, {"manifest": {"weight_format": "gguf"}}, ["precision-unsupported"]),
    (QWEN, {"manifest": {"sentence_transformers": True}}, ["not-generative"]),
    (QWEN, {"manifest": {"tokenizer": {"class": "OddTokenizer", "remote_code": True}}}, []),
    ({**QWEN, "model_type": "chatglm"}, {"manifest": {"tokenizer": {"class": "OddTokenizer", "remote_code": True}}}, ["needs-consent"]),
    ({**QWEN, "model_type": "chatglm"}, {"manifest": {"tokenizer": {"class": "GPT2Tokenizer", "remote_code": True}}}, []),
])
def test_reasons(config, asked, expected):
    support = judged(config, **asked)
    assert codes(support) == expected
    assert support.launchable is (False if expected else None if (asked.get("template") or PRESENT).status == "unknown" else True)
    for refusal in support.refusals:
        assert "org/m" in refusal.what and all((refusal.found, refusal.needed, refusal.do)) and "None" not in refusal.text()


def test_all_reasons_at_once():
    support = judged({**MLA, "model_type": "kimi_k2", "quantization_config": {"quant_method": "fp8"}}, dtype="float16")
    assert codes(support) == ["architecture-unsupported", "precision-unsupported", "precision-unsupported"]


@pytest.mark.parametrize(("config", "platform", "dtype"), [
    ({"torch_dtype": "float16"}, {}, "bfloat16"), ({"torch_dtype": "float16"}, {"backend": "stock"}, "float16"),
    ({"torch_dtype": "float16"}, {"device": "rocm"}, "float16"), ({"torch_dtype": "float32"}, {}, "bfloat16"),
    ({"dtype": "bfloat16"}, {}, "bfloat16"), ({}, {}, "bfloat16"),
    ({"torch_dtype": None, "text_config": {"dtype": "float16"}}, {"backend": "stock"}, "float16"),
    ({"torch_dtype": "torch.float16"}, {"backend": "stock"}, "float16"),
])
def test_dtype(config, platform, dtype):
    plain = {k: v for k, v in QWEN.items() if k != "torch_dtype"}
    assert judged({**plain, **config}, **platform).dtype == dtype


def test_dtype_from_the_tensors_when_the_config_is_silent():
    plain = {k: v for k, v in QWEN.items() if k != "torch_dtype"}
    assert judged(plain, backend="stock", manifest={"tensors": {"dtypes": {"F16": 10}}}).dtype == "float16"


@pytest.mark.parametrize(("extra", "limit", "default"), [
    ({}, 40960, 40960),
    ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, 131072, 131072),
    ({"rope_scaling": {"type": "linear", "factor": 2}}, 81920, 81920),
    ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}}, 40960, 40960),
    ({"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 4096}, 40960, 4096),
    ({"rope_scaling": {"type": "su"}, "original_max_position_embeddings": 4096}, 40960, 4096),
    ({"rope_scaling": {"type": "dynamic", "factor": None}}, 40960, 40960),
    ({"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 1000}}}, 2000, 2000),
    ({"sliding_window": 0}, 40960, 40960),
    ({"seq_length": 100}, 100, 100),
    ({"model_max_length": 500}, 500, 500),
    ({"max_position_embeddings": None}, 32768, 32768),       # Transformers' Qwen3Config fills it in
    ({"max_position_embeddings": 40960.0}, 40960, 40960),    # as a state gives it back
])
def test_longest_context(extra, limit, default):
    support = judged({**QWEN, **extra})
    assert (support.max_model_len, support.default_max_model_len) == (limit, default)


def test_unknown_length_is_null_not_a_guess():
    support = judged({"architectures": ["QWenLMHeadModel"], "model_type": "never-seen"})
    assert support.max_model_len is None


def test_endpoints_and_templates():
    assert judged(QWEN).supported_endpoints == ("chat_completions", "completions")
    plain = judged(QWEN, template=ChatTemplate("absent"))
    assert (plain.primary_endpoint, plain.supported_endpoints, plain.launchable) == ("completions", ("completions",), True)
    several = judged(QWEN, template=ChatTemplate("ambiguous", ("rag", "tool_use")))
    assert several.primary_endpoint == "completions" and "rag, tool_use" in several.warnings[-1].message
    rendered = judged({**QWEN, "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32"}, template=ChatTemplate("absent"), device="rocm")
    assert rendered.primary_endpoint == "chat_completions"


def test_an_unnamed_architecture_is_told_to_vllm():
    support = judged({"model_type": "falcon_h1", "torch_dtype": "bfloat16"}, device="rocm")
    assert (support.architecture, support.task, support.launchable) == ("FalconH1ForCausalLM", "generate", True)
    assert support.engine_args == ("--hf-overrides", '{"architectures": ["FalconH1ForCausalLM"]}')


def test_a_deprecated_quantisation_gets_the_flag_that_vllm_wants():
    assert judged(quantised(quant_method="fbgemm_fp8"), device="rocm").engine_args == ("--allow-deprecated-quantization",)


def test_a_version_without_a_table_uses_the_nearest_lower_one():
    support = judged({**QWEN, "architectures": ["KimiK3ForConditionalGeneration"]}, version="0.26.3")
    assert codes(support) == ["vllm-too-old"] and any("0.26.3" in w.message and "0.25.1" in w.message for w in support.warnings)
    assert not judged(QWEN, version="v0.25.1+cpu").warnings
    assert judged(QWEN, version="0.1").warnings


def test_no_metadata_is_not_judged():
    gone = Refusal("gated", "org/m is gated", "401", "a token", "give one")
    support = judge(ModelManifest(id="org/m", refusals=(gone,)), vllm_version="0.25.1", device="cpu")
    assert (support.launchable, support.refusals) == (None, (gone,))
    assert [w.code for w in support.warnings] == ["support-unknown"]


KEYS = st.sampled_from(["architectures", "model_type", "torch_dtype", "quantization_config", "text_config", "rope_scaling", "rope_parameters",
                        "max_position_embeddings", "auto_map", "quant_method", "config_groups", "weights", "num_bits", "format", "factor",
                        "full_attention", "thinker_config", "compression_config", "producer", "kv_lora_rank", "vision_config", "vocab_size"])
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats() | st.sampled_from(
    ["Qwen3ForCausalLM", "LlamaModel", "qwen3", "yarn", "fp8", "modelopt", "", "\x1b[31m"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(config=st.dictionaries(KEYS, VALUES, max_size=8), device=st.sampled_from(["cpu", "rocm"]))
def test_no_config_makes_it_fall_over(config, device):
    support = judged(config, device=device)
    assert all(r.text().isprintable() for r in support.refusals)
