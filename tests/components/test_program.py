"""The program before it declares anything: what the configuration holds, and that a refusal never shows a secret."""
from __future__ import annotations

import asyncio
import json
import runpy
import signal
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import set_all_config

PROGRAM = Path(__file__).resolve().parents[2] / "__main__.py"
HOSTS, ENDPOINTS = {"box": {"address": "local"}}, {"chat": {"kind": "epyc", "host": "box"}}
KEY = "sk-the-key-9876"


@pytest.fixture
def refused(monkeypatch):
    """Runs the program with a configuration (values as the engine hands them over); what it says and raises."""
    said: list[str] = []
    monkeypatch.setattr(pulumi, "run", lambda main: None)
    monkeypatch.setattr(pulumi.log, "error", said.append)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.setattr(pulumi.config, "get_project", lambda: "amd-vllm")

    def run(secret: list[str], **values: object) -> str:
        texts = {f"amd-vllm:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
        set_all_config(texts, [f"amd-vllm:{key}" for key in secret])
        with pytest.raises(pulumi.RunError) as raised:
            asyncio.run(runpy.run_path(str(PROGRAM), run_name="program")["main"]())
        return "\n".join([*said, str(raised.value)])

    yield run
    set_all_config({}, [])


@pytest.mark.parametrize("secret, values, told", [
    (["endpoints"], {"hosts": HOSTS, "endpoints": {"chat": {**ENDPOINTS["chat"], "env": {"X": KEY}, "port": KEY}}}, ["amd-vllm:endpoints", "a secret value"]),
    (["hosts"], {"hosts": {"box": {"address": KEY}}, "endpoints": ENDPOINTS}, ["amd-vllm:hosts", "a secret value", "hfToken"]),
    (["apiKeys"], {"hosts": HOSTS, "endpoints": ENDPOINTS, "apiKeys": KEY}, ["amd-vllm:apiKeys", "--secret --path apiKeys.NAME"]),
    ([], {"hosts": KEY, "endpoints": "[" * 100_000}, ["amd-vllm:hosts", "amd-vllm:endpoints", "--path hosts.NAME"]),
    (["apiKeys"], {"hosts": HOSTS, "endpoints": ENDPOINTS, "apiKeys": {"chat": KEY + "ü"}}, ["amd-vllm:apiKeys: chat"]),
])
def test_what_is_refused_without_its_text(refused, secret, values, told):
    text = refused(secret, **values)
    assert all(each in text for each in (*told, "[bad-value]", "Nothing was looked at")) and KEY not in text and "[[[" not in text
