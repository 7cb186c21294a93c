"""tools/sync-registry on a tiny vLLM tree, and the tables that it generated."""
from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

from planning.resolve import registry

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tool():
    loader = importlib.machinery.SourceFileLoader("sync_registry", str(ROOT / "tools/sync-registry"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sync_registry", loader))
    loader.exec_module(module)
    return module


TREE = {
    "model_executor/models/registry.py": '''
_TEXT_GENERATION_MODELS = {"AForCausalLM": ("a", "AForCausalLM"), "PForCausalLM": ("a", "Pooled")}
_EMBEDDING_MODELS = {"AModel": ("a", "AForCausalLM"), "AForCausalLM": ("a", "AForCausalLM")}
_MULTIMODAL_MODELS = {"VForConditionalGeneration": ("b", "V"), "SpeechForConditionalGeneration": ("b", "W"),
                      "XAsrForConditionalGeneration": ("b", "X")}
_SPECULATIVE_DECODING_MODELS = {"Draft": ("a", "AForCausalLM")}
_PREVIOUSLY_SUPPORTED_MODELS = {"Old": "0.1.0"}
''',
    "model_executor/models/a.py": "class AForCausalLM: pass\nclass Pooled(VllmModelForPooling): pass\n",
    "model_executor/models/b.py": '''
class V(Base, SupportsMultiModal): pass
class W(V, SupportsTranscription):
    supports_transcription_only = True
class X(V, SupportsTranscription): pass
''',
    "config/model.py": '_SUFFIX_TO_DEFAULTS: list = [("ForCausalLM", ("generate", "none")), ("Model", ("pooling", "embed"))]\n',
    "platforms/cpu.py": 'def f():\n    raise NotImplementedError("MLA is not supported on CPU.")\n',
    "platforms/rocm.py": 'class R:\n    supported_quantization: list[str] = ["awq"]\n',
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        path = tmp_path / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_tree_becomes_a_table(tool, tree):
    table = tool.vllm_table(tree, "9.9.9", "a test", "2026-11-30")
    assert table["architectures"] == {"AForCausalLM": "generate", "AModel": "pooling", "Draft": "draft", "PForCausalLM": "generate",
                                      "SpeechForConditionalGeneration": "transcription+mm", "VForConditionalGeneration": "generate+mm",
                                      "XAsrForConditionalGeneration": "transcription+mm"}
    assert table["removed"] == {"Old": "0.1.0"} and table["rocm_quantization"] == ["awq"]
    assert table["cpu_attention"] == {"mla": False, "sparse": True}
    assert table["suffixes"] == [["ForCausalLM", "generate", "none"], ["Model", "pooling", "embed"]]


def test_a_folder_that_is_not_vllm(tool, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"registry\.py"):
        tool.vllm_table(tmp_path, "1", "x", "y")


def test_tables_have_source_and_date():
    for version in registry.versions():
        found = registry.for_version(version)
        assert found.warning is None and found.table["vllm_version"] == version and found.table["source"] and found.table["date"]
        assert len(found.table["architectures"]) > 200 and found.table["rocm_quantization"] and found.table["mla_model_types"]
    assert registry.platforms()["source"] and registry.platforms()["date"]


def test_versions_that_the_families_pin_have_a_table():
    for device in ("cpu", "rocm"):
        assert registry.default_version(device) in registry.versions()


def test_heads_by_suffix():
    found = registry.for_version("0.25.1")
    assert found.converted("Qwen3ForRewardModeling").task == "pooling"
    assert found.converted("NoSuchForSequenceClassification") is None and found.converted("NoSuchForCausalLM") is None
    assert found.wrapped("SmolLM3ForCausalLM", nested=False, experts=False).architecture == "TransformersForCausalLM"
