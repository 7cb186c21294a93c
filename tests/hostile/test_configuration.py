"""What a user's configuration may hold and must not do: inject a command, a flag, YAML, a terminal escape, a path outside."""
from __future__ import annotations

import pytest

from planning.request import parse_endpoint, parse_stack, unknown_keys

BASE = {"kind": "epyc", "host": "box", "model": "org/name"}
REFUSED = [
    ("model", "org/name; rm -rf /"), ("model", "$(id)/name"), ("model", "org/na me"), ("model", "--trust-remote-code"), ("model", "org/name\nx: y"),
    ("model", "../../etc/passwd"), ("model", "/models/../../etc"), ("model", "org/name/../x"), ("model", "org/\x1b[31mname"), ("model", "a" * 300 + "/b"),
    ("model", ""), ("model", "org"), ("model", ["org/name"]), ("model", 7), ("model", "org/name'"), ("model", "`id`/x"), ("model", "org/nämé\u202e"),
    ("revision", "main; id"), ("revision", "--force"), ("revision", "a" * 200), ("revision", "../main"), ("revision", "x\ny"),
    ("servedModelName", "x\" --api-key y"), ("servedModelName", "a b"), ("servedModelName", "\x1b]0;t\x07"),
    ("image", "--privileged"), ("image", "x:1; id"), ("image", "X:1\n"), ("image", "a b:1"), ("image", "../x:1"),
    ("imageDigest", "sha256:xyz"), ("imageDigest", "sha256:" + "a" * 63), ("imageDigest", "md5:" + "a" * 64),
    ("hfCache", "relative/path"), ("hfCache", "/a:/b"), ("hfCache", "/a,readonly"), ("hfCache", "/a/../../etc"), ("hfCache", "/a\nb"),
    ("chatTemplate", "-/x"), ("chatTemplate", "/x/../../../etc/shadow"), ("pythonEnv", "~root;/x"), ("pythonEnv", "x"),
    ("env", {"A B": "x"}), ("env", {"A=B": "x"}), ("env", {"A": "x\ny"}), ("env", {"A": "\x1b[2J"}), ("env", {"$(id)": "x"}), ("env", {"": "x"}),
    ("env", ["A=x"]),
    ("extraArgs", ["--x\n--y"]), ("extraArgs", ["\x00"]), ("extraArgs", "--x"), ("extraArgs", ["x" * 5000]),
    ("bindAddress", "0.0.0.0 --x"), ("bindAddress", "localhost"), ("bindAddress", "$(id)"), ("port", 0), ("port", 70000), ("port", "8000; id"), ("port", True),
    ("maxModelLen", -1), ("maxModelLen", 10**12), ("maxModelLen", "4096"), ("maxModelLen", 1.5), ("cores", 0), ("kvCacheGib", 10**9), ("weightGib", -1),
    ("weightGib", float("nan")), ("quantization", "awq;id"), ("dtype", "bf16; id"), ("features", ["a b"]), ("runtime", "sh"), ("trustRemoteCode", "yes"),
    ("acceptUnverified", 1), ("waitSeconds", 0), ("drainSeconds", -1), ("busyThreshold", 0), ("kind", "gpu"), ("kind", ["epyc"]), ("__proto__", "x"),
]


@pytest.mark.parametrize("key, value", REFUSED, ids=[f"{index}-{key}" for index, (key, _) in enumerate(REFUSED)])
def test_a_hostile_value_is_refused_and_shown_without_control_characters(key, value):
    request, problems = parse_endpoint("chat", {**BASE, key: value})
    assert request is None and problems
    for problem in problems:
        assert problem.code == "bad-value" and problem.text().isprintable() and len(problem.text()) < 4000


@pytest.mark.parametrize("name", ["", "-x", "x-", "Chat", "a b", "a/b", "../a", "a;b", "a\nb", "ä", "a" * 41, "$(id)", "a_b", "\x1b[31m", "--name"])
def test_names_of_hosts_and_endpoints_are_plain(name):
    stack = parse_stack({name: {"address": "local"}}, {name: {**BASE, "host": name}})
    assert not stack.hosts and not stack.endpoints and len(stack.refusals) >= 2
    assert all(refusal.text().isprintable() for refusal in stack.refusals)


@pytest.mark.parametrize("hosts, endpoints", [
    ("x", {}), ([], []), ({"box": None}, {"a": None}), ({"box": "ssh://x"}, {"a": "epyc"}), (7, 7), ({"box": []}, {"a": []}), ({1: {}}, {2: {}}),
])
def test_other_shapes_are_refused(hosts, endpoints):
    stack = parse_stack(hosts, endpoints)
    assert not stack.endpoints
    assert stack.refusals or not (hosts or endpoints)


def test_every_problem_is_told_at_once_with_the_nearest_key():
    stack = parse_stack({"box": {"adress": "local"}}, {"a": {**BASE, "maxModelLength": 1, "port": 0}, "b": {**BASE, "host": "bix"}})
    texts = " ".join(refusal.text() for refusal in stack.refusals)
    for expected in ("did you mean address?", "did you mean maxModelLen?", "port", "did you mean box?"):
        assert expected in texts


def test_an_api_key_is_never_shown():
    stack = parse_stack({"box": {"address": "local"}}, {"chat": BASE})
    problems = unknown_keys({"chta": "s3cr3t-value", "chat": "s3cr3t\nvalue"}, stack)
    assert len(problems) == 2 and not any("s3cr3t" in problem.text() for problem in problems)
    assert not unknown_keys({"chat": "s3cr3t-value"}, stack) and unknown_keys("s3cr3t-value", stack)
