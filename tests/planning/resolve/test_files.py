"""What is read from the files of a model: chat templates, weights, oddities of config.json, a folder on disk."""
from __future__ import annotations

import json
import struct

import pytest

from planning.errors import PlanningError
from planning.resolve import load_model_dir, manifest_from_dict, manifest_from_files, manifest_to_dict
from planning.resolve.chat_template import find
from planning.resolve.cli import add_parser, run

CONFIG = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "max_position_embeddings": 40960}


def model(tmp_path, **files):
    for name, content in {"config.json": CONFIG, **files}.items():
        path = tmp_path / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return tmp_path


@pytest.mark.parametrize(("tokenizer", "processor", "paths", "complete", "status", "names"), [
    ({"chat_template": "{{x}}"}, None, (), False, "present", ()),
    ({"chat_template": "  "}, None, (), False, "absent", ()),
    ({}, None, (), False, "absent", ()),
    (None, None, (), False, "unknown", ()),
    (None, None, (), True, "absent", ()),
    (None, None, ("tokenizer_config.json",), True, "unknown", ()),
    (None, None, ("chat_template.jinja",), False, "present", ()),
    (None, {"chat_template": "{{x}}"}, (), False, "present", ()),
    (None, None, ("chat_template.json",), False, "present", ()),
    ({}, None, ("additional_chat_templates/rag.jinja",), False, "ambiguous", ("rag",)),
    ({}, None, ("chat_template.jinja", "additional_chat_templates/rag.jinja"), False, "present", ("rag",)),
    ({"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]}, None, (), False, "present", ("tool_use",)),
    ({"chat_template": [{"name": "rag", "template": "a"}, {"name": "tool_use", "template": "b"}]}, None, (), False, "ambiguous", ("rag", "tool_use")),
    ({"chat_template": [None, 3, {"name": "x"}]}, None, (), False, "absent", ()),
    (None, None, ("tekken.json",), False, "present", ()),
])
def test_chat_template(tokenizer, processor, paths, complete, status, names):
    found = find(tokenizer, processor, paths, listing_complete=complete)
    assert (found.status, found.names) == (status, names)


@pytest.mark.parametrize(("files", "weights", "kind"), [
    ({"model.safetensors": 10, "pytorch_model.bin": 11, "model.gguf": 3}, 10, "safetensors"),
    ({"a-1.safetensors": 10, "a-2.safetensors": 20, "consolidated.safetensors": 30, "consolidated-00001.safetensors": 4}, 30, "safetensors"),
    ({"consolidated.safetensors": 30}, 30, "safetensors"),
    ({"pytorch_model.bin": 11, "training_args.bin": 1, "optimizer.pt": 40}, 11, "bin"),
    ({"original/consolidated.00.pth": 9, "metal/model.bin": 9, "model.safetensors": 7, "onnx/model.onnx": 5}, 7, "safetensors"),
    ({"q4.gguf": 5}, 5, "gguf"),
    ({"model.safetensors": None}, None, "safetensors"),
    ({}, None, None),
])
def test_which_files_are_the_weights(files, weights, kind):
    listing = [{"path": p, "size": s} for p, s in files.items()]
    manifest = manifest_from_files("org/m", None, {"config.json": json.dumps(CONFIG)}, listing, {})
    assert (manifest.weights_bytes, manifest.weight_format) == (weights, kind)


def test_the_index_leaves_out_files_that_it_does_not_name():
    index = {"metadata": {"total_size": 100.0}, "weight_map": {"x": "model-1.safetensors"}}
    listing = [{"path": "model-1.safetensors", "size": 101}, {"path": "extra.safetensors", "size": 900}]
    manifest = manifest_from_files("org/m", None, {"config.json": json.dumps(CONFIG), "model.safetensors.index.json": json.dumps(index)}, listing, {})
    assert manifest.weights_bytes == 100 and manifest.download_bytes == 101


def test_a_folder_with_weights_is_read_by_header(tmp_path):
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "F16", "shape": [3], "data_offsets": [0, 6]}}).encode()
    manifest = load_model_dir(model(tmp_path, model__safetensors=struct.pack("<Q", len(header)) + header + b"\0" * 6), id="org/m")
    assert manifest.tensors["total_bytes"] == manifest.weights_bytes == 6 and manifest.tensors["dtypes"] == {"F16": 6}
    assert manifest.chat_template.status == "absent"          # the folder is a whole checkpoint: no template file means none


@pytest.mark.parametrize("content", [b"\xff" * 9, b"", struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 4) + b"nope"])
def test_a_broken_weight_file_is_no_reason_to_fall_over(tmp_path, content):
    assert load_model_dir(model(tmp_path, model__safetensors=content)).weights_bytes == len(content)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]", b"null", b"\xff\xfe", b"[" * 5000])
def test_an_unreadable_config_is_bad_input(tmp_path, content):
    with pytest.raises(PlanningError, match=r"config\.json"):
        load_model_dir(model(tmp_path, **{"config.json": content}))


def test_what_is_not_a_model_folder(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(PlanningError):
            load_model_dir(path)


def test_other_broken_files_are_warnings(tmp_path):
    manifest = load_model_dir(model(tmp_path, **{"tokenizer_config.json": b"{", "generation_config.json": b"[]", "hf_quant_config.json": b"x"}))
    assert [w.code for w in manifest.warnings] == ["file-unreadable"] * 3 and manifest.config


@pytest.mark.parametrize("meta", [{}, {"weights": None, "parameters": None, "gated": None}, {"weights": {"total_bytes": 5}, "gated": True}])
def test_meta_is_optional_and_may_be_empty(tmp_path, meta):
    manifest = load_model_dir(model(tmp_path, **{"meta.json": meta}))
    assert manifest.gated is meta.get("gated") and manifest.weights_bytes == (meta.get("weights") or {}).get("total_bytes")


@pytest.mark.parametrize(("paths", "found"), [
    (["adapter_config.json", "adapter_model.safetensors"], "LoRA adapter"), (["model_index.json"], "diffusion"), (["q4.gguf"], "GGUF"), ([], "no config.json"),
])
def test_what_has_no_config_is_named(paths, found):
    manifest = manifest_from_files("org/m", None, {}, [{"path": p, "size": 1} for p in paths], {"complete": True})
    assert [r.code for r in manifest.refusals] == ["metadata-missing"] and found in manifest.refusals[0].found


def test_the_codec_says_what_it_cannot_read():
    for value in ({}, {"id": 3}, [], {"id": "x", "refusals": [{"no": 1}]}):
        with pytest.raises(PlanningError):
            manifest_from_dict(value)
    assert manifest_from_dict({**manifest_to_dict(manifest_from_files("a/b", None, {}, [], {})), "later": 1}).id == "a/b"


def resolve(*words, read_hub=None):
    import argparse
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return run(parser.parse_args(["resolve", *words]), read_hub=read_hub)


def test_command_line(tmp_path):
    status, document, text = resolve(str(model(tmp_path)), "--device", "cpu", "--vllm-version", "0.25.1")
    assert status == 0 and document["architecture"] == "Qwen3ForCausalLM" and document["max_model_len"] == 40960 and "Qwen3ForCausalLM" in text
    contract = ["id", "revision", "architecture", "task", "launchable", "multimodal", "primary_endpoint", "supported_endpoints", "chat_template", "dtype",
                "quantization", "max_model_len", "weights_bytes", "parameters", "gated", "refusals", "warnings"]
    assert set(contract) <= set(document)
    model(tmp_path, **{"config.json": {**CONFIG, "quantization_config": {"quant_method": "fp8"}}})
    status, document, text = resolve(str(tmp_path))
    assert status == 1 and document["refusals"][0]["code"] == "precision-unsupported" and "do this" in text
    assert resolve(str(tmp_path), "--device", "rocm")[0] == 0


def test_command_line_and_the_hub():
    asked = []
    manifest = manifest_from_files("org/m", "0" * 40, {"config.json": json.dumps(CONFIG)}, [], {})
    status, document, _ = resolve("org/m", "--revision", "v1", read_hub=lambda *words: (asked.append(words), manifest)[1])
    assert (status, document["revision"], asked) == (0, "0" * 40, [("org/m", "v1")])
    for words in (["org/m"], ["nowhere"], ["a/b/c"], ["/no/such"], [__file__]):
        with pytest.raises(PlanningError):
            resolve(*words)
    with pytest.raises(PlanningError):
        resolve("org/m", "--vllm-version", "latest", read_hub=lambda *_: manifest)
