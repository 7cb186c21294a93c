"""Composition is merging of data in one order, and every setting remembers who set it."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.families.instinct.flags import parse, render
from planning.families.instinct.layers import Layer, Target, compose, merge
from planning.families.instinct.recipe import find, records, with_variant

NAMES = st.sampled_from(["--a", "--b-c", "--max-model-len", "--x.y_z", "-cc.mode"])
WORDS = st.text("abcdefXYZ019{}:,\"'_/", min_size=1, max_size=12)
VALUES = st.one_of(st.just(True), WORDS, st.lists(WORDS, min_size=2, max_size=3))
FLAGS = st.dictionaries(NAMES, VALUES, max_size=5)
ENV = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.text("01", min_size=1, max_size=2), max_size=3)
LAYERS = st.lists(st.builds(Layer, st.sampled_from(["one", "two", "three"]), FLAGS, ENV), max_size=6)


def target(gfx="gfx942", hardware="mi300x", version="0.31.0", **changes) -> Target:
    return Target(gfx, hardware, version, **changes)


@given(LAYERS)
def test_the_last_layer_that_sets_a_name_wins_and_is_named(layers):
    composed = merge(layers)
    for part, of in ((composed.flags, "flags"), (composed.env, "env")):
        for name, value in part.items():
            last = [layer for layer in layers if name in getattr(layer, of)][-1]
            assert value == getattr(last, of)[name] and composed.source[name] == last.source
    assert set(composed.source) == set(composed.flags) | set(composed.env)


@given(LAYERS, LAYERS)
def test_merging_is_associative(first, second):
    whole, parts = merge([*first, *second]), [merge(first), merge(second)]
    again = merge([Layer("", part.flags, part.env) for part in parts])
    assert (again.flags, again.env) == (whole.flags, whole.env)


@given(LAYERS)
def test_merging_changes_no_layer(layers):
    before = [(dict(layer.flags), dict(layer.env)) for layer in layers]
    merge(layers)
    assert before == [(dict(layer.flags), dict(layer.env)) for layer in layers]


@given(st.dictionaries(st.sampled_from(["--a", "--b-c", "--d"]), st.one_of(st.booleans(), WORDS), max_size=3))
def test_options_survive_the_way_to_words_and_back(flags):
    assert parse(render(flags)) == flags


@pytest.mark.parametrize(("words", "flags"), [
    (["--tokenizer_mode", "mistral"], {"--tokenizer-mode": "mistral"}), (["--no-enable-prefix-caching"], {"--enable-prefix-caching": False}),
    (["--max-model-len auto"], {"--max-model-len": "auto"}), (["--block-size=64"], {"--block-size": "64"}), (["--a", "1", "--a", "2"], {"--a": "2"}),
    (["--limit", '{"image": 2}'], {"--limit": '{"image": 2}'}), (["--a", "-1"], {"--a": "-1"}), (["lost", "--a"], {"--a": True}), ([], {})])
def test_spellings(words, flags):
    assert parse(words) == flags


def test_amd_overrides_win_over_the_recipe_and_the_gfx_defaults():
    mimo = compose(find("XiaomiMiMo/MiMo-V2-Flash"), target())
    assert mimo.env["VLLM_ROCM_USE_AITER"] == "0" and mimo.source["VLLM_ROCM_USE_AITER"] == "recipe XiaomiMiMo/MiMo-V2-Flash on amd"


def test_gpt_oss_on_gfx950_runs_without_the_aiter_moe_path():
    assert compose(find("openai/gpt-oss-120b"), target("gfx950", "mi355x")).env["VLLM_ROCM_USE_AITER_MOE"] == "0"
    assert "VLLM_ROCM_USE_AITER_MOE" not in compose(find("openai/gpt-oss-120b"), target()).env


@pytest.mark.parametrize("record", records(), ids=lambda record: record["model"])
def test_fp4bmm_is_always_off_on_gfx942(record):
    for variant in (None, *record["variants"]):
        match = find(record["model"]) if variant is None else with_variant(find(record["model"]), variant)
        assert compose(match, target()).env["VLLM_ROCM_USE_AITER_FP4BMM"] == "0"
        assert compose(match, target("gfx950", "mi355x")).env["VLLM_ROCM_USE_AITER_FP4BMM"] in "01"


@pytest.mark.parametrize("record", records(), ids=lambda record: record["model"])
def test_every_recipe_composes_to_options_that_vllm_takes_together(record):
    for several in (False, True):
        flags = compose(find(record["model"]), target(several=several, moe=record["architecture"] == "moe")).flags
        assert ("--enable-auto-tool-choice" in flags) == ("--tool-call-parser" in flags)
        assert not {"--trust-remote-code", "--host", "--port", "--tensor-parallel-size", "--model", "--served-model-name", "--swap-space"} & flags.keys()
        assert (flags.get("--distributed-executor-backend") == "mp") >= (several and record["architecture"] == "moe")
        assert parse(render(flags)) == flags


def test_tool_calling_alone_gets_its_partner():
    flags = compose(find("XiaomiMiMo/MiMo-V2-Flash"), target()).flags
    assert flags["--tool-call-parser"] == "qwen3_xml" and flags["--enable-auto-tool-choice"] is True


def test_features_are_switchable():
    match = find("Qwen/Qwen3.5-9B")
    assert "--reasoning-parser" in compose(match, target()).flags
    off = compose(match, target(features=())).flags
    assert not {"--reasoning-parser", "--tool-call-parser", "--enable-auto-tool-choice"} & off.keys()
    assert "--speculative-config" in compose(match, target(features=("spec_decoding",))).flags


def test_a_feature_with_modes_takes_the_variants_mode():
    match = find("deepseek-ai/DeepSeek-V4-Flash")
    assert '"mtp"' in compose(match, target("gfx950", "mi355x", features=("spec_decoding",))).flags["--speculative-config"]
    assert '"dspark"' in compose(with_variant(match, "dspark"), target("gfx950", "mi355x", features=("spec_decoding",))).flags["--speculative-config"]


def test_mla_gets_block_size_one_only_where_nothing_else_is_set():
    assert compose(find("deepseek-ai/DeepSeek-R1"), target(mla=True)).flags["--block-size"] == "1"
    assert compose(find("deepseek-ai/DeepSeek-V4-Flash"), target(mla=True)).flags["--block-size"] == "256"
    assert "--block-size" not in compose(find("Qwen/Qwen3-8B"), target()).flags


def test_settings_of_one_gpu_win_over_those_of_amd():
    laguna = find("poolside/Laguna-S-2.1")
    assert compose(laguna, target(hardware="mi325x")).env["VLLM_ROCM_QUICK_REDUCE_QUANTIZATION"] == "INT4"
    assert "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION" not in compose(laguna, target()).env


def test_legacy_data_is_cleaned():
    composed = compose(find("Qwen/Qwen3-235B-A22B"), target())
    assert composed.flags["--max-num-batched-tokens"] == "32768" and composed.env["VLLM_ROCM_USE_AITER_MHA"] == "0"
    assert "--swap-space" in composed.left_out and "VLLM_USE_V1" in composed.left_out
    assert "--swap-space" in compose(find("Qwen/Qwen3-235B-A22B"), target(version="0.15.1")).flags, "an old vLLM still has it"
    assert not any("$" in value for record in records() for value in record.get("env", {}).values())


def test_plugins_that_the_image_lacks_are_left_out_with_their_parser():
    composed = compose(find("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"), target())
    assert "--reasoning-parser" not in composed.flags and "nano_v3_reasoning_parser.py" in composed.left_out["--reasoning-parser-plugin"]
    assert composed.flags["--tool-call-parser"] == "qwen3_coder"


def test_chat_templates_of_the_source_tree_are_named_where_the_image_has_them():
    assert compose(find("deepseek-ai/DeepSeek-R1"), target()).flags["--chat-template"] == "/app/vllm/examples/tool_chat_template_deepseekr1.jinja"


def test_the_generic_configuration():
    composed = compose(find("someone/new-model"), target())
    assert composed.flags["--tool-call-parser"] == "hermes" and composed.left_out == {"--trust-remote-code": "only by the consent trustRemoteCode"}
