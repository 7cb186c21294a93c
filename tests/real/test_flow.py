"""The real vLLM from preview to destroy, over SSH and on the host itself; and what happens when its engine hangs or dies."""
from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.real import flow, image

EAGER = {"extraArgs": ["--enforce-eager"]}
"""Compiling takes minutes where cores are few: the first start does it, the others need not."""


@pytest.fixture(scope="module", params=["ssh", "local"])
def deployed(request, milan, model, make_project) -> Iterator[SimpleNamespace]:
    """One stack on the host, brought up by `make up`: from here over SSH, or on the host with HOST=local."""
    on = milan if request.param == "local" else None
    project = make_project(on=on)
    connection = {"address": "local"} if on else milan.connection()
    first = {} if request.param == "ssh" else EAGER
    project.configure({"box": connection}, {"chat": flow.endpoint(model, **first)})
    made = SimpleNamespace(project=project, host=milan, on=on, first=first, times={},
                           up=lambda **more: project.make_up(connection, flow.endpoint(model, **more), flow.UP_SECONDS))
    yield made
    image.told(f"\nreal vLLM, {request.param}, seconds: {made.times}")


def timed(deployed: SimpleNamespace, what: str, result):
    """The result of a run of Pulumi; with the engine's own log where it failed."""
    deployed.times[what] = round(result.seconds)
    if result.status:
        print(flow.logs(deployed.host))
    return result


def test_preview_plans_the_stock_image(deployed):
    seen = timed(deployed, "preview", deployed.project.preview()).ok()
    assert "vllm/vllm-openai-cpu:v0.25.1-x86_64" in seen.text
    assert "2,097,152" in seen.text or "2097152" in seen.text


def test_up_serves_and_compares(deployed):
    seen = timed(deployed, "up", deployed.up(**deployed.first)).ok()
    assert "planned 2,097,152 tokens, measured 2,097,152" in seen.text


def test_outputs_answer_through_the_openai_client(deployed, openai):
    outputs = deployed.project.outputs()
    assert outputs["baseUrl"].endswith("/v1")
    flow.ask_as_told(outputs, openai, deployed.on)   # raises unless the client got its answer
    assert outputs["endpoints"]["chat"]["measured"]["kv_cache_tokens"] == 2097152


def test_measured_is_what_the_engine_said(deployed):
    measured = deployed.project.outputs()["endpoints"]["chat"]["measured"]
    assert measured["max_concurrency"] == 512.0
    assert measured["max_model_len"] == 4096
    assert measured["kv_cache_bytes"] == 1 << 30
    assert measured["startup_seconds"] > 0


def test_up_again_changes_nothing(deployed):
    seen = timed(deployed, "up again", deployed.up(**deployed.first)).ok()
    assert "unchanged" in seen.text and not any(word in seen.text for word in ("created", "updated", "replaced")), seen.text
    deployed.project.up("--expect-no-changes").ok()


def test_refresh_changes_nothing(deployed):
    timed(deployed, "refresh", deployed.project.refresh("--expect-no-changes")).ok()
    deployed.project.preview("--expect-no-changes").ok()


def test_a_changed_length_replaces_the_container(deployed, openai):
    before = flow.container(deployed.host)["Id"]
    seen = timed(deployed, "up with another maxModelLen", deployed.up(maxModelLen=2048, **EAGER)).ok()
    assert flow.container(deployed.host)["Id"] != before, seen.text
    outputs = deployed.project.outputs()
    assert outputs["endpoints"]["chat"]["measured"]["max_concurrency"] == 1024.0
    flow.ask_as_told(outputs, openai, deployed.on)


@pytest.mark.parametrize("deployed", ["ssh"], indirect=True)
@pytest.mark.parametrize("hurt", [flow.stop_engine, flow.kill_engine], ids=["SIGSTOP", "SIGKILL"])
def test_a_hurt_engine_is_seen_and_repaired(deployed, openai, hurt):
    before = flow.container(deployed.host)
    hurt(deployed.host)
    time.sleep(5)
    seen = timed(deployed, f"refresh after {hurt.__name__}", deployed.project.refresh("--skip-preview", timeout=400)).ok()
    assert "the next `up`" in seen.text, seen.text
    again = timed(deployed, f"up after {hurt.__name__}", deployed.up(maxModelLen=2048, **EAGER)).ok()
    after = flow.container(deployed.host)
    assert (after["Id"], after["State"]["StartedAt"]) != (before["Id"], before["State"]["StartedAt"]), again.text
    flow.ask_as_told(deployed.project.outputs(), openai, deployed.on)


def test_destroy_leaves_nothing(deployed):
    timed(deployed, "destroy", deployed.project.make_destroy()).ok()
    assert deployed.host.engine.containers() == []
    assert deployed.project.resources() == []
