"""Stopped in the middle of `up` and `destroy`, by Ctrl-C, kill -9, a cut network, a full disk: the next `up` ends in the declared state."""

from __future__ import annotations

import os
import signal
import time

import pytest

from providers.packed import unpacked
from tests.e2e import models
from tests.e2e.bed.processes import BedError
from tests.e2e.conftest import ZENTORCH
from tests.e2e.models import CHAT
from tests.e2e.test_faults import NAME, declared, until

WAITING = "EndpointStart chat created"
CREATING, DELETING = "docker:index:Container chat creating", "docker:index:Container chat deleting"


@pytest.fixture
def fresh(project, hub, genoa):
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "env": {"STAND_IN_START_SECONDS": "6"}}})
    return project


@pytest.fixture
def waiting(fresh, begin):
    """An `up` whose container runs, and that waits for the engine."""
    running = begin("up")
    until(lambda: WAITING in running.so_far(), "the wait")
    return running


@pytest.mark.parametrize("how", ["killed", "interrupted"])
@pytest.mark.parametrize("step", ["container", "wait"])
def test_up_that_is_stopped_in_the_middle_is_finished_by_the_next(fresh, begin, genoa, step, how):
    """While the container is created Docker is frozen, so that it makes the container when nobody waits for it any more."""
    running = begin("up")
    if step == "container":
        until(lambda: CREATING in running.so_far(), "the container")
        with frozen(genoa):
            time.sleep(1)
            stop(running, how)
    else:
        until(lambda: NAME in genoa.engine.containers(everything=False), "a running container")
        stop(running, how)
    if how == "killed":
        locked = fresh.up().failed()
        assert "pulumi cancel" in locked.text or "failed to load checkpoint" in locked.text, locked.report()
        unlock(fresh)
    fresh.refresh("--clear-pending-creates").ok()
    fresh.up().ok()
    declared(fresh, genoa)
    fresh.destroy().ok()
    assert not genoa.engine.containers()


def test_destroy_that_is_stopped_is_finished_by_the_next_up_or_destroy(fresh, begin, genoa):
    fresh.up().ok()
    for finish, how in ((fresh.up, "killed"), (fresh.destroy, "interrupted")):
        running = begin("destroy")
        until(lambda running=running: DELETING in running.so_far(), "the deletion")
        with frozen(genoa):
            stop(running, how)
        unlock(fresh)
        if finish == fresh.up and NAME not in genoa.engine.containers():
            assert "pulumi up --refresh" in fresh.up().failed().text
        fresh.refresh("--clear-pending-creates").ok()
        finish().ok()
        if finish == fresh.up:
            declared(fresh, genoa)
    assert not genoa.engine.containers() and not fresh.resources()


def test_a_network_that_is_cut_while_it_waits(fresh, waiting, genoa):
    genoa.cut_network()
    seen = waiting.wait(200).failed()
    assert "[host-unreachable] box" in seen.text or "[timeout] box" in seen.text
    assert "Traceback" not in seen.text
    genoa.restore_network()
    fresh.up().ok()
    declared(fresh, genoa)


def test_a_short_cut_while_it_waits_is_lived_through(fresh, waiting, genoa):
    genoa.ssh.stop()
    time.sleep(3)
    assert waiting.process.poll() is None, waiting.so_far()
    genoa.ssh.start()
    waiting.wait(120).ok()
    declared(fresh, genoa)


@pytest.mark.parametrize("operation", ["up", "destroy"])
def test_ssh_that_is_cut_while_a_container_is_made_or_removed(fresh, begin, genoa, operation):
    """Docker does what it was asked for when nobody hears of it any more."""
    if operation == "destroy":
        fresh.up().ok()
    running = begin(operation)
    until(lambda: (CREATING if operation == "up" else DELETING) in running.so_far(), "the container's step")
    with frozen(genoa):
        time.sleep(1)
        genoa.ssh.stop()
    seen = running.wait(120).failed()
    assert "ssh" in seen.text or "EOF" in seen.text, seen.report()
    genoa.ssh.start()
    fresh.refresh("--clear-pending-creates").ok()
    fresh.up().ok()
    declared(fresh, genoa)


def test_a_host_that_is_lost_between_preview_and_up(fresh, genoa):
    fresh.preview().ok()
    genoa.cut_network()
    lost = fresh.up("--skip-preview").failed()
    assert "[host-unreachable] box" in lost.text and "Traceback" not in lost.text
    assert not genoa.engine.containers()
    genoa.restore_network()
    fresh.up().ok()
    declared(fresh, genoa)


def test_docker_that_is_restarted_while_it_waits(fresh, waiting, genoa):
    genoa.stop_docker()
    genoa.start_docker()
    waiting.wait(200).ok()
    declared(fresh, genoa)


def test_docker_that_is_restarted_keeps_what_is_declared(fresh, genoa):
    fresh.up().ok()
    genoa.stop_docker()
    seen = fresh.refresh().failed().text
    assert "Cannot connect to the Docker daemon" in seen and "box: docker.reachable was True, is False" in seen and "Traceback" not in seen
    genoa.start_docker()
    fresh.refresh("--clear-pending-creates").ok()
    fresh.up().ok()
    declared(fresh, genoa)


def test_a_full_disk_is_told_and_up_goes_on_when_there_is_room(project, hub, make_host):
    models.add(hub)
    host = make_host()
    host.stop_docker()
    host.run_local("mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(host.engine.folder))
    host.start_docker()
    ZENTORCH.load(host.engine)
    filler = f"{host.engine.folder}/filler"
    host.run_local("sh", "-c", f"cat /dev/zero >{filler} 2>/dev/null; true")
    project.configure({"box": host.connection()}, {"chat": CHAT})
    seen = project.up().failed()
    assert "no space left on device" in seen.text and "Traceback" not in seen.text
    host.run_local("rm", filler)
    project.refresh("--clear-pending-creates").ok()
    project.up().ok()
    declared(project, host)


def test_a_container_of_somebody_else_is_refused_and_stays(fresh, genoa):
    genoa.engine.docker("create", "--name", NAME, ZENTORCH.name, "vllm", "serve", "m")
    assert "[name-taken]" in fresh.up().failed().text
    genoa.engine.docker("rm", NAME)
    labels = ["--label", "amd-vllm.stack=e2e", "--label", "amd-vllm.endpoint=chat"]
    genoa.engine.docker("create", "--name", NAME, *labels, "--label", "amd-vllm.owner=another", ZENTORCH.name, "vllm", "serve", "m")
    assert "made by another stack of the name e2e" in fresh.up().failed().text
    assert genoa.engine.containers() == [NAME]
    genoa.engine.docker("rm", NAME)
    genoa.engine.docker("create", "--name", NAME, *labels, ZENTORCH.name, "vllm", "serve", "m")
    fresh.up().ok()
    declared(fresh, genoa)


def test_a_container_that_was_made_and_is_not_in_the_state_is_replaced(fresh, genoa):
    fresh.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": "nowhere.invalid/no/image:v0.25.1", "acceptUnverified": True}})
    fresh.up().failed()
    launch = unpacked(fresh.resource("HostPlan::box")["outputs"]["plans"])["chat"]["launch"]
    labels = [word for key, value in launch["labels"].items() for word in ("--label", f"{key}={value}")]
    genoa.engine.docker("create", "--name", NAME, *labels, ZENTORCH.name, "vllm", "serve", "m")
    fresh.configure({"box": genoa.connection()}, {"chat": CHAT})
    assert "the next `up` makes its container anew" in fresh.refresh().ok().text
    fresh.up().ok()
    declared(fresh, genoa)


def test_a_host_that_is_lost_for_good_is_given_up(fresh, genoa):
    fresh.up().ok()
    genoa.cut_network()
    lost = fresh.destroy(timeout=300).failed()
    assert genoa.address in lost.text or "box" in lost.text
    host = fresh.resource("amd-vllm:index:Host")["urn"]
    fresh.run("state", "delete", host, "--target-dependents", "--yes", "--stack", "e2e").ok()
    fresh.destroy().ok()
    assert not fresh.resources()


def unlock(project) -> None:
    """As docs/reliability.md says: what Pulumi's file backend was writing when it was killed, and its lock."""
    for path in (project.folder.parent / "state").rglob("*.attrs"):
        if not path.read_bytes():
            path.unlink()
    project.run("cancel", "--yes").ok()


def stop(running, how: str) -> None:
    """Ctrl-C to all of it, or kill -9 to the CLI alone (what it started ends with it)."""
    if how == "killed":
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(30)
        time.sleep(2)
    else:
        running.interrupt()
        time.sleep(2)
        if running.process.poll() is None:
            running.interrupt()
        assert running.wait(120).status != 0


class frozen:
    """A program of the host (its Docker, if nothing else is said) does not move: what it was asked for it does afterwards."""

    def __init__(self, host, program: str = "dockerd") -> None:
        self._process = _process(host, program)

    def __enter__(self) -> None:
        os.kill(self._process, signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        os.kill(self._process, signal.SIGCONT)


def _process(host, program: str) -> int:
    """The process id, on this side, of a program of a host."""
    spaces = os.readlink(f"/proc/{host.namespace.process_id}/ns/pid")
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/comm") as stream:
                if stream.read().strip() == program and os.readlink(f"/proc/{process}/ns/pid") == spaces:
                    return int(process)
        except OSError:
            continue
    raise BedError(f"no {program} on {host.name}")
