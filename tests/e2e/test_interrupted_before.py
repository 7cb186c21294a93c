"""Stopped while the image is pulled or the weights are fetched: what served goes on serving, and the next `up` ends in the declared state."""

from __future__ import annotations

import pytest

from tests.e2e.bed import images
from tests.e2e.bed.registry import ADDRESS, Registry
from tests.e2e.conftest import ZENTORCH
from tests.e2e.models import CHAT
from tests.e2e.test_faults import NAME, declared, until
from tests.e2e.test_interrupted import frozen, stop, unlock
from tests.e2e.test_runtimes import answers

NEXT = f"{ADDRESS}/amdih/zendnn_zentorch:{ZENTORCH.name.partition(':')[2]}"
SLOW = {"STAND_IN_START_SECONDS": "8"}


@pytest.mark.parametrize("how", ["killed", "interrupted", "cut"])
def test_a_pull_that_is_stopped_leaves_the_old_one_serving(served, begin, genoa, how):
    registry = Registry(genoa).start()
    try:
        registry.push(images.zentorch(NEXT, build=how))
        served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": NEXT}})
        with frozen(genoa, "docker-registry"):
            running = begin("up")
            until(lambda: f"pulling {NEXT}" in running.so_far(), "the pull")
            end(running, genoa, how)
        finished(served, genoa, how)
    finally:
        registry.stop()


@pytest.mark.parametrize("how", ["killed", "interrupted", "cut"])
def test_a_fetch_of_weights_that_is_stopped_leaves_the_old_one_serving(served, begin, genoa, how):
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "prefetch": True, "hfCache": f"/tmp/cache-{how}", "env": SLOW}})
    running = begin("up")
    until(lambda: "fetching the weights" in running.so_far() and len(genoa.engine.containers(everything=False)) == 2, "the fetch")
    end(running, genoa, how)
    finished(served, genoa, how)


def test_a_fetch_of_weights_that_nobody_takes_up_is_gone_after_destroy(served, begin, genoa):
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "prefetch": True, "hfCache": "/tmp/cache-given-up", "env": SLOW}})
    running = begin("up")
    until(lambda: "fetching the weights" in running.so_far() and len(genoa.engine.containers(everything=False)) == 2, "the fetch")
    stop(running, "killed")
    unlock(served)
    assert len(genoa.engine.containers()) == 2
    served.destroy().ok()
    assert genoa.engine.containers() == []


def end(running, host, how: str) -> None:
    """What was going on for the next endpoint ends for us; the host may go on with it."""
    if how == "cut":
        host.ssh.stop()
        seen = running.wait(120).failed()
        assert "box" in seen.text and "Traceback" not in seen.text, seen.report()
        host.ssh.start()
    else:
        stop(running, how)


def finished(project, host, how: str) -> None:
    assert answers(project.outputs()["baseUrl"]) == 200, "the old one serves on"
    if how == "killed":
        unlock(project)
    before = host.engine.docker("inspect", "--format", "{{.Id}}", NAME).stdout
    project.up().ok()
    declared(project, host)
    assert host.engine.docker("inspect", "--format", "{{.Id}}", NAME).stdout != before
