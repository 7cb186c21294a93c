"""The Hub client against a stand-in: what it reads, how often it asks, and each way in which the Hub says no."""
from __future__ import annotations

import json
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from planning.resolve import judge, manifest_from_dict, manifest_to_dict
from providers.transport.hub import read_manifest
from tests.hub_stand_in import HubStandIn

TOKEN = "hf_verysecrettokenvalue"
CONFIG = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "max_position_embeddings": 40960,
          "vocab_size": 8, "hidden_size": 4, "tie_word_embeddings": True, "id2label": {"0": "junk"}}
CHAT = {"chat_template": "{{ messages }}", "tokenizer_class": "Qwen2Tokenizer"}


@pytest.fixture
def hub():
    with HubStandIn() as stand_in:
        yield stand_in


def read(hub: HubStandIn, name: str = "org/name", revision: str = "main", **more):
    return read_manifest(name, revision, **{"token": TOKEN, "endpoint": hub.url, "timeout": 5, **more})


def safetensors(**tensors: int) -> bytes:
    """A file with a header and the first bytes of its (bfloat16) tensors; values: elements."""
    header, offset = {}, 0
    for name, count in tensors.items():
        header[name.replace("__", ".")] = {"dtype": "BF16", "shape": [count], "data_offsets": [offset, offset + 2 * count]}
        offset += 2 * count
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * 16


def test_a_sharded_model_takes_four_requests(hub):
    index = {"metadata": {"total_size": 1000}, "weight_map": {"lm_head.weight": "model-1.safetensors", "x": "model-2.safetensors"}}
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT, "model.safetensors.index.json": index},
            sizes={"model-1.safetensors": 600, "model-2.safetensors": 410, "consolidated.safetensors": 9999, "original/x.pth": 777,
                   "pytorch_model.bin": 5555, "model.gguf": 4444})
    manifest = read(hub)
    assert len(hub.requests) == 4
    assert manifest.refusals == () and manifest.revision == hub.repositories["org/name"].commit
    assert manifest.weights_bytes == 1000
    assert manifest.tensors == {"total_bytes": 1000, "source": "model.safetensors.index.json", "tied_head_bytes": 64, "loaded_bytes": 936}
    assert manifest.download_bytes < 1010 + 2000
    assert manifest.chat_template.status == "present"
    assert "id2label" not in manifest.config
    assert judge(manifest, vllm_version="0.25.1", device="cpu").launchable is True


def test_a_single_file_is_read_by_its_header_only(hub):
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT, "model.safetensors": safetensors(model__embed=32, lm_head__weight=32)},
            sizes={"model.safetensors": 130})
    manifest = read(hub)
    assert len(hub.requests) == 4
    assert "Range" in hub.requests[-1][2]
    assert manifest.tensors["total_bytes"] == 128 and manifest.tensors["loaded_bytes"] == 64
    assert manifest.tensors["dtypes"] == {"BF16": 128}


def test_the_quantisation_of_a_separate_file_is_read(hub):
    quant = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}}
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT, "hf_quant_config.json": quant, "model.safetensors.index.json": {}},
            safetensors={"parameters": {"BF16": 10, "U8": 30}, "total": 40})
    manifest = read(hub)
    assert len(hub.requests) == 4
    assert manifest.parameters == 40 and manifest.weights_bytes == 50
    assert judge(manifest, vllm_version="0.32.0", device="rocm").quantization == "modelopt_fp4"


def test_files_of_the_weights_decide_where_the_index_counts_something_else(hub):
    index = {"metadata": {"total_size": 10_000}, "weight_map": {"x": "model-1.safetensors"}}
    hub.add("org/name", {"config.json": CONFIG, "model.safetensors.index.json": index}, sizes={"model-1.safetensors": 4000})
    assert read(hub).weights_bytes == 4000


def test_a_known_commit_is_not_read_again(hub):
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT})
    manifest = read(hub)
    hub.requests.clear()
    assert read(hub, revision=manifest.revision, known=replace(manifest, requested_revision=manifest.revision)).config == manifest.config
    assert hub.requests == []
    assert read(hub, known=manifest) == manifest and len(hub.requests) == 1        # a branch may have moved: that is asked
    hub.repositories["org/name"].files["config.json"] = json.dumps({**CONFIG, "max_position_embeddings": 5}).encode()
    assert read(hub, known=manifest).config["max_position_embeddings"] == 5


def test_a_manifest_survives_the_state_as_floats_and_out_of_order(hub):
    hub.add("org/name", {"config.json": {**CONFIG, "rms_norm_eps": 1e-06}, "tokenizer_config.json": CHAT}, gated="auto", allowed={TOKEN})
    manifest = read(hub)
    stored = json.loads(json.dumps(manifest_to_dict(manifest)), parse_int=float)
    assert manifest_from_dict(dict(reversed(stored.items()))) == manifest
    assert len(json.dumps(stored)) < 2000


@pytest.mark.parametrize(("settings", "token", "code", "words"), [
    ({"gated": "manual"}, False, "gated", "no token was given"),
    ({"gated": "manual"}, TOKEN, "gated", "no access to it"),
    ({"private": True}, False, "metadata-missing", "or it is private"),
    ({"private": True}, TOKEN, "metadata-missing", "the token's account cannot see it"),
    (None, TOKEN, "metadata-missing", "there is no such repository"),
    ({"revisions": {"dev"}}, TOKEN, "metadata-missing", "revision main does not exist"),
])
def test_each_no_is_told_apart(hub, settings, token, code, words, monkeypatch):
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    if settings is not None:
        hub.add("org/name", {"config.json": CONFIG}, **settings)
    manifest = read(hub, token=token or None)
    assert [r.code for r in manifest.refusals] == [code]
    assert words in manifest.refusals[0].text()
    support = judge(manifest, vllm_version="0.25.1", device="cpu")
    assert support.launchable is None and support.refusals == manifest.refusals
    assert "support-unknown" in [w.code for w in support.warnings]
    if code == "gated":
        assert manifest.gated is True


def test_what_a_gated_model_still_tells_is_kept(hub):
    hub.add("org/name", {"config.json": CONFIG}, gated="manual", sizes={"model.safetensors": 12345})
    manifest = read(hub)
    assert manifest.config is None and manifest.weights_bytes == 12345 and manifest.revision


def test_a_licence_that_was_accepted_opens_the_model(hub):
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT}, gated="manual", allowed={TOKEN})
    manifest = read(hub)
    assert manifest.refusals == () and manifest.gated is True
    assert "gated" in [w.code for w in judge(manifest, vllm_version="0.25.1", device="cpu").warnings]


def test_a_renamed_model_is_read_under_its_new_name(hub):
    hub.add("old/name", renamed_to="new/name")
    hub.add("new/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT})
    manifest = read(hub, "old/name")
    assert manifest.id == "old/name" and manifest.extra["canonical_id"] == "new/name" and manifest.config
    assert any(w.code == "model-renamed" and "new/name" in w.message for w in manifest.warnings)
    assert all("/old/name/resolve" not in path for _, path, _ in hub.requests)


def test_an_invalid_token_is_named(hub):
    hub.bad_tokens = {TOKEN}
    hub.add("org/name", {"config.json": CONFIG})
    assert "does not accept the token" in read(hub).refusals[0].what


@pytest.mark.parametrize(("trouble", "words"), [
    ("silent", "did not answer in 1 s"), ("trickle", "did not answer in 1 s"), ("html", "cannot be used"), ("busy", "limits how often"),
    ("broken", "HTTP 500"), ("loop", "cannot be reached"), ("huge", "more than"), ("html:config.json", "config.json cannot be read"),
    ("huge:config.json", "more than 5000000 bytes for config.json"), ("broken:config.json", "HTTP 500"),
])
def test_trouble_ends_soon_and_in_words(hub, trouble, words):
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT})
    hub.trouble = trouble
    begun = time.monotonic()
    manifest = read(hub, timeout=5 if trouble.startswith("huge") else 1)
    assert time.monotonic() - begun < 6
    assert [r.code for r in manifest.refusals] == ["metadata-missing"]
    text = manifest.refusals[0].text()
    assert words in text and text.isprintable()


@pytest.mark.parametrize("trouble", ["html:tokenizer_config.json", "html:model.safetensors.index.json", "broken:model.safetensors.index.json"])
def test_trouble_with_what_only_makes_numbers_better_does_not_refuse(hub, trouble):
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT, "model.safetensors.index.json": {}}, sizes={"model.safetensors": 500})
    hub.trouble = trouble
    manifest = read(hub)
    assert manifest.refusals == () and manifest.weights_bytes == 500


def test_nobody_at_the_address():
    manifest = read_manifest("org/name", "main", token=TOKEN, endpoint="http://user:hunter2@127.0.0.1:9", timeout=3)
    text = manifest.refusals[0].text()
    assert "cannot be reached at http://127.0.0.1:9" in text and "hunter2" not in text


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b/c", "org/na me", "org/\x1b[31m", "", "org/x--y"])
def test_a_name_that_cannot_be_one_asks_nobody(hub, name):
    text = read(hub, name).refusals[0].text()
    assert "no name of a repository" in text and text.isprintable() and hub.requests == []


def test_a_token_with_a_line_break_is_not_shown(hub):
    text = read(hub, token="hf_one\nhf_two").refusals[0].text()
    assert "the token cannot be used" in text and "hf_one" not in text


def test_offline_mode(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    manifest = read(hub)
    assert "HF_HUB_OFFLINE" in manifest.refusals[0].found and hub.requests == []


@pytest.mark.parametrize("trouble", [None, "html", "broken", "busy", "loop", "html:config.json"])
def test_the_token_is_sent_and_never_shown(hub, trouble, caplog, capfd):
    caplog.set_level("DEBUG")
    hub.add("org/name", {"config.json": CONFIG, "tokenizer_config.json": CHAT})
    hub.trouble = trouble
    manifest = read(hub)
    assert any(TOKEN in headers.get("authorization", headers.get("Authorization", "")) for _, _, headers in hub.requests)
    shown = repr(manifest) + json.dumps(manifest_to_dict(manifest)) + caplog.text + "".join(capfd.readouterr())
    assert TOKEN not in shown


def test_the_token_does_not_follow_a_redirect_to_another_host(hub):
    with HubStandIn() as other:
        other.add("org/name", {"config.json": CONFIG})
        hub.add("org/name", renamed_to="org/other")
        hub._answer = lambda request: (request.send_response(302), request.send_header("Location", other.url.replace("127.0.0.1", "localhost")
                                       + request.path), request.send_header("Content-Length", "0"), request.end_headers())
        read(hub)
        assert other.requests and not any("uthorization" in str(headers.keys()) for _, _, headers in other.requests)


def test_several_threads_read_at_once(hub):
    for i in range(8):
        hub.add(f"org/m{i}", {"config.json": {**CONFIG, "n": i}, "tokenizer_config.json": CHAT})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: read(hub, f"org/m{i}").config["n"], range(8)))
    assert found == list(range(8))
