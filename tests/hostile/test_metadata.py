"""What the metadata of a model may hold and must not do: pass the fit gate with a size that cannot be, end a run, raise a bare error."""
from __future__ import annotations

import base64
import json
from types import SimpleNamespace

import pytest

from planning.errors import PlanningError
from planning.resolve import ModelManifest, judge, load_model_dir, manifest_from_files, manifest_to_dict
from planning.resolve.json_object import MAX_DEPTH, parse
from providers.transport import hub, model_dir
from tests.hub_stand_in import HubStandIn

CONFIG = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "max_position_embeddings": 4096,
          "vocab_size": 10, "hidden_size": 10}
INDEX, ONE = "model.safetensors.index.json", "model.safetensors"
SIZE = 1_200_000_000
HUGE = "1" + "0" * 400


def manifest(config=CONFIG, size=SIZE, info=None, **files):
    """`config`: a dict or JSON text. `header`, `index`: JSON texts."""
    names = {"header": ONE, "index": INDEX}
    content = {"config.json": config if isinstance(config, str) else json.dumps(config), **{names[key]: text for key, text in files.items()}}
    return manifest_from_files("org/m", None, content, [{"path": ONE, "size": size}], info or {})


def tensor(offsets: str) -> str:
    return f'{{"w": {{"dtype": "BF16", "data_offsets": {offsets}}}}}'


@pytest.mark.parametrize("header", [
    *[tensor(offsets) for offsets in ("[1000000000000, 0]", '"x"', "-1", "[0, null]", "[0]", "[0, 1, 2]", "[false, true]", "[-9, 0]", "[0, 1e3]",
                                      f"[0, {HUGE}]", "[0, NaN]", "null", "{}", "[0, 1000]", "[0, 0]", "[0, 9000000000000]")],
    '{"w": 5}', '{"w": {}}', "{}", "[]", '{"a":' * 5000, '{"a":' * 900 + "1" + "}" * 900, '{"w": {"data_offsets": [[0], {}]}}',
], ids=lambda text: text[:60])
def test_a_header_that_cannot_be_leaves_the_size_to_the_files(header):
    found = manifest(header=header)
    assert found.tensors is None and found.weights_bytes == found.download_bytes == SIZE and not found.refusals


@pytest.mark.parametrize("size", [-10**12, -1, 10**400, True, 1.5, float("nan"), "12", [], None])
def test_a_size_of_a_listing_that_cannot_be_is_unknown(size):
    found = manifest(size=size)
    assert found.weights_bytes is None and found.download_bytes is None
    assert [f["size"] for f in hub._listing({"siblings": [{"rfilename": "a", "size": size}]})] == [None]


@pytest.mark.parametrize("index", [
    '{"weight_map": {"a": []}}', '{"weight_map": {"a": {}, "b": null}}', '{"weight_map": "x"}', '{"metadata": []}',
    *[f'{{"metadata": {{"total_size": {total}}}}}' for total in ("NaN", "Infinity", "-Infinity", "1e999", HUGE, "-5", "true", '"9"', "[]", "1")],
], ids=lambda text: text[:60])
def test_an_index_that_cannot_be_leaves_the_size_to_the_files(index):
    found = manifest(index=index)
    assert found.tensors is None and found.weights_bytes == SIZE and not found.refusals


@pytest.mark.parametrize("number", [-10**12, True, "5", 1.5, 0])
def test_counts_that_cannot_be_are_unknown(number):
    found = manifest(size=None, info={"safetensors": {"parameters": {"BF16": number}, "total": -5}, "weights_bytes": -5})
    assert (found.tensors, found.weights_bytes, found.parameters) == (None, None, None)


@pytest.mark.parametrize("numbers", [{"vocab_size": 10**15}, {"vocab_size": -10**9}, {"vocab_size": 10**9, "hidden_size": -10**9}])
def test_a_tied_head_is_never_larger_than_what_it_is_tied_to(numbers):
    index = {"metadata": {"total_size": SIZE}, "weight_map": {"lm_head.weight": ONE}}
    found = manifest({**CONFIG, "tie_word_embeddings": True, **numbers}, index=json.dumps(index))
    assert found.tensors["loaded_bytes"] == SIZE


@pytest.mark.parametrize("config", [
    {"max_position_embeddings": 10**400}, {"max_position_embeddings": float("inf")}, {"max_position_embeddings": -10**30},
    {"quantization_config": {"quant_method": "gptq", "bits": 1e308}}, {"quantization_config": {"quant_method": "gptq", "bits": float("nan")}},
    {"rope_scaling": {"rope_type": "yarn", "factor": 1e308}}, {"num_experts": 10**400}, {"text_config": {"max_position_embeddings": 10**400}},
], ids=lambda value: repr(value)[:60])
def test_numbers_out_of_range_are_unknown(config):
    found = manifest({**CONFIG, **config})
    for one in (found, ModelManifest("org/m", config={**CONFIG, **config})):    # read, and as it is
        for device in ("cpu", "rocm"):
            support = judge(one, vllm_version="0.25.1", device=device)
            assert support.max_model_len is None or support.max_model_len < 2**63
    json.dumps(manifest_to_dict(found), allow_nan=False)


def nested(depth: int) -> str:
    return '{"a": ' * depth + "1" + "}" * depth


@pytest.mark.parametrize("config", [nested(900), nested(MAX_DEPTH + 1), "[" * 900 + "]" * 900, '{"a":' * 5000], ids=lambda text: f"{len(text)}")
def test_a_config_that_is_nested_too_deep_is_one_refusal(config, tmp_path):
    assert [r.code for r in manifest(config).refusals] == ["metadata-missing"]
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(PlanningError, match=r"config\.json"):
        load_model_dir(tmp_path)


def test_what_real_files_hold_is_read():
    assert parse('{"time_step_limit": [0.0, Infinity], "n": 9223372036854775807}') == {"time_step_limit": [0.0, None], "n": 2**63 - 1}
    assert parse(nested(MAX_DEPTH - 1))


def test_an_unforeseen_error_is_a_refusal_that_names_the_model(monkeypatch):
    def broken(*_):
        raise TypeError("Bearer hf_secret")

    for place in (hub, model_dir):
        monkeypatch.setattr(place, "manifest_from_files", broken)
    monkeypatch.setattr(model_dir, "Connection", lambda _: SimpleNamespace(run=lambda *_, **__: SimpleNamespace(stdout="")))
    with HubStandIn() as stand_in:
        stand_in.add("org/m", {"config.json": CONFIG})
        found = [hub.read_manifest("org/m", "main", token="hf_secret", endpoint=stand_in.url, timeout=5),
                 model_dir.read_directory(SimpleNamespace(name="box"), "/models/org/m")]
    for one in found:
        assert [r.code for r in one.refusals] == ["metadata-missing"] and one.requested_revision == "main"
        assert "org/m" in one.refusals[0].what and "TypeError" in one.refusals[0].found and "hf_secret" not in one.refusals[0].text()


@pytest.mark.parametrize("files", [
    {"config.json": nested(900).encode()}, {"config.json": CONFIG, ONE: b'{"a":' * 5000}, {"config.json": CONFIG, INDEX: {"weight_map": {"a": []}}},
    {"config.json": CONFIG, INDEX: b'{"metadata": {"total_size": NaN}}'}, {"config.json": CONFIG, ONE: tensor("[1000000000000, 0]").encode()},
], ids=["deep", "header", "index", "nan", "negative"])
def test_the_hub_may_answer_it(files):
    with HubStandIn() as stand_in:
        stand_in.add("org/m", files, sizes={} if ONE in files else {ONE: SIZE})
        found = hub.read_manifest("org/m", "main", token="hf_x", endpoint=stand_in.url, timeout=5)
    assert [r.code for r in found.refusals] == (["metadata-missing"] if found.config is None else [])
    assert found.weights_bytes == (SIZE if ONE not in files else len(files[ONE])) and found.tensors is None


@pytest.mark.parametrize("size", ["²", "9" * 5000, "-5", "", "1.5", "x"])
def test_a_size_on_a_host_that_cannot_be_is_unknown(size, monkeypatch):
    text = f"--list-- {size} ./{ONE}\n--file-- config.json\n{base64.b64encode(json.dumps(CONFIG).encode()).decode()}\n"
    monkeypatch.setattr(model_dir, "Connection", lambda _: SimpleNamespace(run=lambda *_, **__: SimpleNamespace(stdout=text)))
    found = model_dir.read_directory(SimpleNamespace(name="box"), "/models/m")
    assert found.config and not found.refusals and found.weights_bytes is None
