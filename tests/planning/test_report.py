"""`python -m planning report`: the two things that Pulumi prints, differences, and input that is neither."""
from __future__ import annotations

import io
import json

import pytest

from planning.__main__ import main

MEASURED = {"kv_cache_tokens": 2097152.0, "max_concurrency": 512.0, "max_model_len": 4096.0, "kv_cache_bytes": 1073741824.0, "weights_bytes": None,
            "load_seconds": 0.05, "graph_capture_seconds": None, "startup_seconds": 34.0}
PLAN = {"memory": {"kv_cache_tokens": 2097152.0, "max_concurrency": 512.0, "max_model_len": 4096.0, "kv_cache_bytes": 1073741824.0,
                   "weights_bytes_per_rank": 754752.0, "scope": "socket",
                   "lines": [{"name": "kv-cache", "bytes": 1073741824.0}, {"name": "runtime", "bytes": 2e9}, {"name": "headroom", "bytes": 17179869184.0}]},
        "placement": {"tensor_parallel_size": 1.0}}


def state(plan=PLAN, measured=MEASURED, stored=json.dumps):
    return {"version": 3, "deployment": {"resources": [
        {"type": "pulumi:pulumi:Stack", "urn": "u"},
        {"type": "pulumi-python:dynamic/amd-vllm:HostPlan", "outputs": {"name": "box", "plans": stored({"chat": plan})}},
        {"type": "pulumi-python:dynamic/amd-vllm:EndpointHealth", "outputs": {"name": "chat", "measured": measured}}]}}


def answer(capsys, monkeypatch, document, *words):
    monkeypatch.setattr("sys.stdin", io.StringIO(document if isinstance(document, str) else json.dumps(document)))
    status = main(["report", *words])
    out = capsys.readouterr()
    return status, out.out, out.err


@pytest.mark.parametrize("stored", [json.dumps, dict], ids=["packed", "as older states have it"])
def test_state_gives_all_figures(capsys, monkeypatch, stored):
    status, out, _ = answer(capsys, monkeypatch, state(stored=stored))
    rows = [line.split() for line in out.splitlines()]
    assert status == 0 and ["chat", "KV", "cache,", "tokens", "2,097,152", "2,097,152"] in rows and ["chat", "weights", "0.7", "MiB", "-"] in rows
    assert ["chat", "start", "to", "serving,", "s", "-", "34"] in rows


def test_outputs_give_less(capsys, monkeypatch):
    outputs = {"baseUrl": "http://x/v1", "endpoints": {"chat": {"kvCacheTokens": 2097152, "maxModelLen": 4096, "measured": MEASURED}}}
    status, out, _ = answer(capsys, monkeypatch, outputs, "--json")
    entry = json.loads(out)["endpoints"]["chat"]
    assert status == 0 and entry["comparison"] == "planned 2,097,152 tokens, measured 2,097,152" and entry["measured"]["max_concurrency"] == 512


def test_a_difference_is_status_one(capsys, monkeypatch):
    status, out, _ = answer(capsys, monkeypatch, state(measured={**MEASURED, "kv_cache_tokens": 2000000.0}))
    assert status == 1 and "[tokens-differ]" in out


def test_an_endpoint_that_never_answered(capsys, monkeypatch):
    document = state()
    document["deployment"]["resources"].pop()
    status, out, _ = answer(capsys, monkeypatch, document, "--json")
    assert status == 0 and json.loads(out)["endpoints"]["chat"]["measured"]["kv_cache_tokens"] is None


@pytest.mark.parametrize("used, status", [(3e9, 0), (4e9, 1)])
def test_memory_of_the_container_counts_without_the_headroom(capsys, monkeypatch, used, status):
    seen, out, _ = answer(capsys, monkeypatch, state(measured={**MEASURED, "container_bytes": used}))
    assert seen == status and ("[memory-over-plan]" in out) == bool(status) and "2.9 GiB" in out


@pytest.mark.parametrize("plan", [{}, {"memory": None, "launch": None}])
def test_a_refused_plan_has_no_figures(capsys, monkeypatch, plan):
    status, out, _ = answer(capsys, monkeypatch, state(plan, {}))
    assert status == 0 and out.split() == ["endpoint", "figure", "planned", "measured"]


@pytest.mark.parametrize("text", ["", "no", "[]", "{}", '{"deployment": 3}'])
def test_neither_is_bad_input(capsys, monkeypatch, text):
    status, out, err = answer(capsys, monkeypatch, text)
    assert (status, out) == (2, "") and "pulumi stack export" in err


def test_a_file(capsys, tmp_path):
    (tmp_path / "state.json").write_text(json.dumps(state()))
    assert main(["report", str(tmp_path / "state.json")]) == 0
    assert main(["report", str(tmp_path / "none.json")]) == 2
