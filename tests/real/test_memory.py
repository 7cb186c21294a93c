"""Memory for real: within the planned limit, the longest prompt is answered, and a minute at the planned concurrency fails nowhere."""
from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from providers.packed import unpacked
from tests.real import flow, image, load, memory

LENGTH, AT_ONCE, SECONDS = 8192, 4, 60


@pytest.fixture(scope="module")
def loaded(milan, model, make_project):
    """One endpoint with a plan for four requests of full length, after its minute of load."""
    project = make_project()
    project.configure({"box": milan.connection()}, {"chat": flow.endpoint(model, maxModelLen=LENGTH, concurrency=AT_ONCE, extraArgs=["--enforce-eager"])})
    project.up(timeout=flow.UP_SECONDS).ok()
    outputs, plan = project.outputs(), unpacked(project.resource("pulumi-python:dynamic/amd-vllm:HostPlan")["outputs"]["plans"])["chat"]
    longest = LENGTH - load.ANSWER
    with memory.watch(milan) as seen:
        idle = seen.cgroup_peak_bytes
        first = load.ask(outputs["baseUrl"], outputs["model"], longest, seed=-1)
        minute = load.run(outputs["baseUrl"], outputs["model"], longest, AT_ONCE, SECONDS)
    made = SimpleNamespace(plan=plan, seen=seen, idle=idle, first=first, minute=minute, longest=longest, state=flow.container(milan)["State"])
    (image.cache() / "memory.json").write_text(json.dumps(figures(made), indent=1) + "\n")
    (image.cache() / "state.json").write_text(json.dumps(project.state()) + "\n")
    yield made
    project.destroy(timeout=300).ok()


def figures(loaded: SimpleNamespace) -> dict[str, object]:
    """For docs/real-vllm.md."""
    return {"planned": {line["name"]: int(line["bytes"]) for line in loaded.plan["memory"]["lines"]}, "limit": loaded.seen.limit_bytes,
            "anonymous_peak": loaded.seen.anonymous_bytes, "cgroup_peak": loaded.seen.cgroup_peak_bytes, "cgroup_peak_before_load": loaded.idle,
            "processes": loaded.seen.processes, "requests": loaded.minute.requests, "prompt_tokens": loaded.minute.prompt_tokens,
            "failures": loaded.minute.failures}


def line(loaded: SimpleNamespace, *names: str) -> int:
    return sum(int(each["bytes"]) for each in loaded.plan["memory"]["lines"] if each["name"] in names)


def test_the_longest_prompt_is_answered(loaded):
    status, document = loaded.first
    assert status == 200, document
    assert document["usage"]["prompt_tokens"] == loaded.longest


def test_no_request_fails(loaded):
    assert not loaded.minute.failures
    assert loaded.minute.requests >= AT_ONCE


def test_the_container_has_the_planned_limit(loaded):
    assert loaded.seen.limit_bytes == int(loaded.plan["launch"]["memory_bytes"])
    assert not loaded.state["OOMKilled"]


def test_what_it_takes_is_within_the_plan_without_headroom(loaded):
    planned = line(loaded, "weights", "kv-cache", "activations", "runtime", "servers")
    assert loaded.seen.anonymous_bytes <= planned
    assert loaded.seen.cgroup_peak_bytes <= loaded.seen.limit_bytes


def test_each_part_is_within_its_lines(loaded):
    held = loaded.seen.processes
    assert held["worker"] <= line(loaded, "weights", "kv-cache", "activations", "runtime")
    assert held["API server"] + held["engine core"] <= line(loaded, "servers")
