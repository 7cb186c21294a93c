"""Every recorded model resolves, and where vLLM's own numbers are recorded, the judgement agrees with them."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from planning.resolve import judge, load_model_dir, manifest_from_dict, manifest_to_dict
from planning.resolve.cli import to_document, to_text

MODELS = Path(__file__).resolve().parents[2] / "models"
FOLDERS = sorted(p for p in MODELS.iterdir() if (p / "config.json").is_file())
VERSIONS = ("0.25.1", "0.32.0")

# ModelConfig of the real vLLM 0.25.1 (CPU build, Transformers 5.16.1) on these folders, 2026-11-30: architecture, task, dtype, default length.
REAL = json.loads((Path(__file__).parent / "real_vllm_0.25.1.json").read_text())
# vLLM starts these as generators: it goes by the class. We go by what they are for: an embedding model, speech recognition.
KNOWN_TO_DIFFER = {"intfloat__e5-mistral-7b-instruct", "Qwen__Qwen3-ASR-0.6B"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_resolves_for_every_version_and_device(folder):
    manifest = load_model_dir(folder)
    assert manifest.id == folder.name.replace("__", "/", 1) and manifest.config
    for version in (*VERSIONS, "0.31.0", "0.22.0", "0.15.1"):
        for device in ("cpu", "rocm"):
            support = judge(manifest, vllm_version=version, device=device)
            assert support.launchable is (False if support.refusals else support.launchable)
            document = to_document(manifest, support)
            json.dumps(document)
            assert to_text(document).startswith("model")
            assert all(all((r.what, r.found, r.needed, r.do)) and "None" not in r.text() for r in support.refusals)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_survives_the_state(folder):
    manifest = load_model_dir(folder)
    stored = json.loads(json.dumps(manifest_to_dict(manifest)), parse_int=float)
    again = manifest_from_dict(stored)
    for device in ("cpu", "rocm"):
        assert judge(again, vllm_version="0.32.0", device=device) == judge(manifest, vllm_version="0.32.0", device=device)


@pytest.mark.parametrize("name", sorted(REAL))
def test_agrees_with_the_real_vllm(name):
    real, support = REAL[name], judge(load_model_dir(MODELS / name), vllm_version="0.25.1", device="cpu", backend="stock")
    if "refused" in real:
        assert {r.code for r in support.refusals} & set(real["refused"])
        return
    assert support.dtype == real["dtype"] and support.default_max_model_len == real["max_model_len"]
    assert (support.architecture, support.multimodal) == (real["architecture"], real["multimodal"])
    if name not in KNOWN_TO_DIFFER:
        assert support.task == real["task"]


@pytest.mark.parametrize("folder", [f for f in FOLDERS if (f / "vllm.json").is_file()], ids=lambda p: p.name)
def test_what_vllm_built_is_not_refused_for_its_architecture(folder):
    """vllm.json was computed with vLLM's own code: such a model is built. (Precision and consent are other gates.)"""
    for version, tables in json.loads((folder / "vllm.json").read_text()).items():
        support = judge(load_model_dir(folder), vllm_version=version, device="rocm")
        assert not {"architecture-unsupported", "vllm-too-old", "metadata-missing"} & {r.code for r in support.refusals}, version
        for table in tables.values():
            assert support.max_model_len >= table["max_model_len"]


def test_models_that_do_not_generate():
    expected = {"BAAI__bge-large-en": "pooling", "Snowflake__snowflake-arctic-embed-m": "pooling", "intfloat__e5-mistral-7b-instruct": "pooling",
                "internlm__internlm2-7b-reward": "pooling", "openai__whisper-tiny": "transcription", "Qwen__Qwen3-ASR-0.6B": "transcription"}
    for name, task in expected.items():
        support = judge(load_model_dir(MODELS / name), vllm_version="0.25.1", device="cpu", trust_remote_code=True)
        assert (support.task, support.launchable, support.primary_endpoint) == (task, False, None)
        assert [r for r in support.refusals if r.code == "not-generative" and "for example" in r.do]


def test_chat_templates_choose_the_endpoint():
    for name, endpoint in {"Qwen__Qwen2-7B-Instruct": "chat_completions", "THUDM__glm-4-9b-chat": "completions",
                           "google__gemma-4-E2B-it": "chat_completions", "Qwen__Qwen2.5-0.5B": "completions"}.items():
        assert judge(load_model_dir(MODELS / name), vllm_version="0.25.1", device="cpu").primary_endpoint == endpoint
