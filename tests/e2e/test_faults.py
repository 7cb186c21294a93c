"""What breaks while it starts, while it runs and while we look: each row of docs/reliability.md, with real means on the real engine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.processes import BedError, run
from tests.e2e.models import CHAT

NAME = "vllm-e2e-chat"
HEALTH = "dynamic/amd-vllm:EndpointHealth"


def until(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise BedError(f"{what} did not come in {seconds} s")
        time.sleep(0.05)


def declared(project, host) -> None:
    """What is there is what was declared: one container, running, ours, and nothing to change."""
    assert host.engine.containers() == [NAME]
    (seen,) = json.loads(host.engine.docker("inspect", NAME).stdout)
    assert seen["State"]["Running"] and seen["Id"] == project.resource("EndpointHealth::chat")["outputs"]["container_id"]
    project.preview("--expect-no-changes").ok()


@pytest.fixture
def fresh(project, hub, genoa):
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    return project


@pytest.mark.parametrize(("fail", "code"), [
    ("error-body-200", "[error-answer]"), ("empty-choices", "[empty-answer]"), ("empty-text", "[empty-answer]"), ("wrong-model-name", "[wrong-model]"),
    ("exit-137", "[out-of-memory]"), ("restart-loop", "[engine-failed]"), ("engine-dead", "[deadline]"), ("oom", "[out-of-memory]"),
    ("health-200-but-dead", "[hung]"), ("dies-in-generation", "[out-of-memory]"),
])
def test_an_engine_that_lies_fails_up_with_cause_and_next_step(fresh, genoa, fail, code):
    fresh.configure({"box": genoa.connection()}, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": fail}, "waitSeconds": 20}})
    seen = fresh.up(timeout=100).failed()
    assert code in seen.text and "Do this:" in seen.text and "Traceback" not in seen.text.split("last lines of the log")[0], seen.report()
    assert not any(HEALTH in each["type"] for each in fresh.resources()), "what was not proven is not in the state"
    assert genoa.engine.docker("inspect", "--format", "{{.State.Running}}", NAME).stdout.strip() == "false", "no blind retry"


def test_an_image_for_another_platform_fails_up(fresh, genoa, tmp_path):
    """The stand-in's program says in its header that it is for ARM: this machine's kernel does not run it."""
    name, ours = "example/arm:v0.25.1", bytearray(images.binary().read_bytes())
    ours[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "usr/local/bin").mkdir(parents=True)
    for program in ("vllm", "python3"):
        (tmp_path / "usr/local/bin" / program).write_bytes(ours)
        (tmp_path / "usr/local/bin" / program).chmod(0o755)
    run("tar", "-C", tmp_path, "-cf", tmp_path / "image.tar", "usr")
    with open(tmp_path / "image.tar", "rb") as archive:
        genoa.engine.call("import", "--change", "ENV PATH=/usr/local/bin", "-", name, stdin=archive)
    fresh.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": name, "waitSeconds": 20}})
    seen = fresh.up(timeout=100).failed()
    assert "[wrong-platform-image]" in seen.text and "Do this:" in seen.text and "Traceback" not in seen.text, seen.report()
    assert not genoa.engine.containers(everything=False), "no blind retry"


def test_a_failed_start_is_tried_again_by_the_next_up_and_never_turns_green_by_itself(fresh, genoa):
    fresh.configure({"box": genoa.connection()}, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": "crash-at-load"}}})
    fresh.up().failed()
    again = fresh.up().failed()
    assert "starting it again" in again.text and "[engine-failed]" in again.text
    assert not any(HEALTH in each["type"] for each in fresh.resources())
    genoa.engine.docker("start", NAME)
    until(lambda: genoa.engine.docker("inspect", "--format", "{{.RestartCount}}", NAME).stdout.strip() not in ("", "0"), "a restart")
    fresh.configure({"box": genoa.connection()}, {"chat": CHAT})
    fresh.up().ok()
    declared(fresh, genoa)


def test_a_failed_container_that_somebody_removed_is_told_and_made_anew(fresh, genoa):
    fresh.configure({"box": genoa.connection()}, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": "crash-at-load"}}})
    fresh.up().failed()
    genoa.engine.docker("rm", NAME)
    seen = fresh.up().failed()
    assert f"[no-container] chat: {NAME} is gone" in seen.text and "Do this: run `pulumi up --refresh`" in seen.text, seen.report()
    again = fresh.up("--refresh").failed()
    assert "[engine-failed]" in again.text and genoa.engine.containers() == [NAME]


def test_refresh_sees_an_engine_that_lies(fresh, genoa):
    fresh.up().ok()
    for fail, told in (("error-body-200", "[error-answer]"), ("empty-choices", "[empty-answer]"), ("wrong-model-name", "[wrong-model]"),
                       ("engine-dead", "[not-ready]")):
        genoa.engine.docker("exec", NAME, "/stand-in", "fail", fail)
        assert told in fresh.refresh().ok().text
        assert fresh.resource("EndpointHealth::chat")["outputs"]["healthy"] is False
    genoa.engine.docker("exec", NAME, "/stand-in", "fail", "crash-at-load")
    genoa.run_local("kill", "-9", genoa.engine.docker("inspect", "--format", "{{.State.Pid}}", NAME).stdout.strip(), cwd="/")
    until(lambda: int(genoa.engine.docker("inspect", "--format", "{{.RestartCount}}", NAME).stdout) >= 3, "a loop")
    seen = fresh.refresh().ok().text
    assert ("[engine-failed]" in seen or "[restart-loop]" in seen) and "the next `up` makes its container anew" in seen
    fresh.up().ok()
    declared(fresh, genoa)
