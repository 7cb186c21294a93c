"""Secrets in places that are kept and shown in clear are refused, and what is refused is never shown."""
from __future__ import annotations

import pytest

from planning.request import parse_endpoint, parse_stack, unknown_keys
from providers.transport.address import bad_address

BASE = {"kind": "epyc", "host": "box", "model": "org/name"}
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"
DIGEST = "sha256:" + "a" * 64
SECRET_VALUES = [
    ("env", {"HF_API_TOKEN": "hf_S3cretTOKEN1"}), ("env", {"HUGGINGFACE_TOKEN": "hf_S3cret"}), ("env", {"HTTPS_PROXY": "http://u:S3cret@proxy:1"}),
    ("env", {"GITHUB_TOKEN": "S3cret"}), ("env", {"VLLM_S3_SECRET_ACCESS_KEY": "S3cret"}), ("env", {"HF_TOKEN": "S3cret"}), ("env", {"github_token": "S3cret"}),
    ("env", {"DB_PASSWORD": "S3cret"}), ("env", {"DB_PASSWD": "S3cret"}), ("env", {"X": "ghp_S3cretS3cret"}), ("env", {"CACHE": "redis://:S3cret@box"}),
    ("env", {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer S3cret"}), ("env", {"VLLM_API_KEY": "S3cret"}), ("env", {"HF_TOKEN_PATH": "/S3cret"}),
    ("env", ["HF_TOKEN=hf_S3cret"]), ("env", {"HF_TOKEN=hf_S3cret": ""}), ("env", {"A": "S3cret\n"}), ("env", {"A": ["S3cret"]}), ("env", "HF_TOKEN=S3cret"),
    ("extraArgs", ["--otlp-traces-endpoint", "http://u:S3cret@x"]), ("extraArgs", ["--otlp-traces-endpoint=http://u:S3cret@x"]),
    ("extraArgs", ["--api-key", "S3cret"]), ("extraArgs", ["--hf_token=S3cret"]), ("extraArgs", ["--x", "a", "hf_S3cretTOKEN1"]),
    ("extraArgs", ["--x\n", "S3cret"]),
    ("extraArgs", "S3cret"), ("image", "reader:S3cretpw@registry.example.com/vllm:v0.25.1"), ("image", "r:S3cret@x:1@" + DIGEST), ("image", "x:1@sha256:1"),
    ("bindAddress", "http://u:S3cret@box"), ("model", "https://u:S3cret/x@hub/org"), ("hfCache", "hf_S3cretTOKEN1"), ("port", ["api_key=S3cret"]),
]
PLAIN_VALUES = [
    ("env", {"MAX_TOKENS": "5"}), ("env", {"TOKENIZERS_PARALLELISM": "false"}), ("env", {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}),
    ("env", {"HF_HOME": "/data/hf_models"}),
    ("env", {"PYTHONPATH": "/opt/hf_models:/opt/sk-learning"}), ("env", {"HTTPS_PROXY": "http://proxy.example.org:3128"}),
    ("env", {"VLLM_LOGGING_LEVEL": "DEBUG"}),
    ("extraArgs", ["--hf_overrides", '{"a": -1}']), ("extraArgs", ["--hf_overrides={}", "--max-log-len", "5"]), ("extraArgs", ["--tokenizer", "org/name"]),
    ("extraArgs", ["--otlp-traces-endpoint", "http://box:4317"]), ("extraArgs", ["--long-prefill-token-threshold", "512"]),
    ("image", "registry.example.com:5000/a/vllm_x:v0.25.1"), ("image", "vllm/vllm:v0.25.1@" + DIGEST), ("image", "vllm@" + DIGEST),
]


@pytest.mark.parametrize("key, value", SECRET_VALUES, ids=[f"{index}-{key}" for index, (key, _) in enumerate(SECRET_VALUES)])
def test_a_secret_is_refused_and_not_shown(key, value):
    request, problems = parse_endpoint("chat", {**BASE, key: value})
    assert request is None and {problem.code for problem in problems} == {"bad-value"}
    assert not any("S3cret" in problem.text() for problem in problems)


@pytest.mark.parametrize("key, value", PLAIN_VALUES, ids=[f"{index}-{key}" for index, (key, _) in enumerate(PLAIN_VALUES)])
def test_what_only_looks_a_little_like_one(key, value):
    assert parse_endpoint("chat", {**BASE, key: value})[1] == ()


@pytest.mark.parametrize("keys", [
    {"address": "ssh://user:S3cret@host"}, {"address": "ssh://user:S3/c@S3cret@host"},
    {"address": "ssh://u:S3cret" + "x" * 200 + "@host"}, {"address": "ssh://host", "identityFile": KEY.replace("b3B", "S3cret")},
    {"address": "ssh://host", "identityFile": ["S3cret"]}, {"address": "local", "advertiseAddress": "http://u:S3cret@box"},
])
def test_a_password_of_a_host_is_refused_and_not_shown(keys):
    stack = parse_stack({"box": keys}, {})
    assert not stack.hosts and [refusal.code for refusal in stack.refusals] == ["bad-value"]
    assert "S3cret" not in stack.refusals[0].text() + bad_address("box", keys["address"]).text()


@pytest.mark.parametrize("address", ["box", "ssh://-oProxyCommand=id", "tcp://box", "recorded:", "ssh://box:70000"])
def test_what_is_no_address_is_refused_with_the_rest(address):
    assert [refusal.what for refusal in parse_stack({"box": {"address": address}}, {}).refusals] == ["host box: address"]


@pytest.mark.parametrize("key", ["schlüssel", "S3cret ", " S3cret", "S3 cret", "S3cret\n", "", 7, None, "\u202eS3cret"])
def test_an_api_key_that_no_header_carries(key):
    (problem,) = unknown_keys({"chat": key}, parse_stack({"box": {"address": "local"}}, {"chat": BASE}))
    assert problem.code == "bad-value" and "S3" not in problem.text() and "schl" not in problem.text()


def deep(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("key", ["port", "model", "env", "kind", "weightGib", "extraArgs", "nope"])
@pytest.mark.parametrize("value", [deep(100_000), 16 ** 5000, [16 ** 5000], {"a": {"b": deep(100_000)}}], ids=["deep", "long", "long-in-list", "deep-in-map"])
def test_a_value_without_a_text_is_refused(key, value):
    request, problems = parse_endpoint("chat", {**BASE, key: value})
    assert request is None and problems and all(len(problem.text()) < 4000 for problem in problems)
