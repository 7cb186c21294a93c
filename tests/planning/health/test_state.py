"""States of containers as docker and podman tell them."""
from __future__ import annotations

from typing import Any

import pytest

from planning.health import judge_failure, judge_state, read_log

RUNNING: dict[str, Any] = {"Status": "running", "Running": True, "Paused": False, "Restarting": False, "OOMKilled": False, "Dead": False, "ExitCode": 0}


def ended(code: Any, **more: Any) -> dict[str, Any]:
    return {**RUNNING, "Status": "exited", "Running": False, "ExitCode": code, **more}


@pytest.mark.parametrize(("state", "code"), [
    (RUNNING, None),
    ({"Running": True}, None),
    ({**RUNNING, "RestartCount": 2}, None),
    ({**RUNNING, "RestartCount": 3}, "restart-loop"),
    ({**RUNNING, "OOMKilled": True}, "out-of-memory"),
    (ended(1), "engine-failed"), (ended(0), "stopped"), (ended(2), "bad-flag"), (ended(143), "stopped"), (ended(137), "out-of-memory"),
    (ended(137.0), "out-of-memory"), (ended(1, OOMKilled=True), "out-of-memory"), (ended(132), "illegal-instruction"), (ended(139), "segfault"),
    (ended(134), "aborted"), (ended(135), "shm-too-small"), (ended(127), "bad-entrypoint"), (ended(77), "engine-failed"),
    ({**RUNNING, "Status": "restarting", "Restarting": True, "ExitCode": 1, "RestartCount": 7}, "restart-loop"),
    ({**RUNNING, "Status": "paused", "Paused": True}, "paused"), ({"Status": "dead", "Dead": True}, "dead"), ({"Status": "removing"}, "dead"),
    ({"Status": "created", "ExitCode": 0}, "not-started"), ({"Status": "configured"}, "not-started"), ({}, "no-container"),
    ({"Status": "created", "ExitCode": 128, "Error": "driver failed programming external connectivity: port is already allocated"}, "port-taken"),
    ({"Status": "created", "ExitCode": 127, "Error": 'exec: "vllm": executable file not found in $PATH'}, "bad-entrypoint"),
    ({"Status": "created", "Error": "error gathering device information while adding custom device \"/dev/kfd\": no such file or directory"}, "no-gpu"),
    ({"Status": "created", "Error": "Requested CPUs are not available - requested 0-95, available: 0-1"}, "cpuset-invalid"),
    ({"Status": "created", "Error": "manifest for vllm/x:1 not found: manifest unknown: manifest unknown"}, "image-pull"),
    (ended(125, Error="something new"), "bad-entrypoint"),
])
def test_state(state: dict[str, Any], code: str | None) -> None:
    refusal = judge_state(state)
    assert (refusal.code if refusal else None) == code
    assert refusal is None or (refusal.do and refusal.found)


def test_a_server_that_answers_is_forgiven_its_restarts() -> None:
    assert judge_state({**RUNNING, "RestartCount": 9, "OOMKilled": True}, answers=True) is None
    assert judge_state(ended(1), answers=True) is not None


@pytest.mark.parametrize(("state", "log", "code"), [
    (ended(1), "OSError: [Errno 98] Address already in use", "port-taken"),
    (ended(1), "RuntimeError: Engine core initialization failed.", "engine-failed"),
    (ended(139), "RuntimeError: Engine core initialization failed.", "segfault"),
    (ended(137, OOMKilled=True), "OSError: [Errno 98] Address already in use", "out-of-memory"),
    (ended(137), "", "out-of-memory"),
    (ended(143), "", "stopped"),
    ({**RUNNING, "Status": "restarting", "ExitCode": 1}, "main.py: error: unrecognized arguments: --x", "bad-flag"),
    ({**RUNNING, "Status": "restarting", "ExitCode": 1}, "", "restart-loop"),
    (ended(0), "INFO:     Application startup complete.\nERROR 11-30 10:00:00 [a.py:1] vllm.v1.engine.exceptions.EngineDeadError: x", "engine-died"),
    ({**RUNNING, "Status": "paused"}, "", "paused"),
    (RUNNING, "INFO 11-30 10:00:00 [m.py:1] Starting to load model x", "hung"),
    (RUNNING, "", "hung"),
])
def test_failure_takes_the_better_explanation(state: dict[str, Any], log: str, code: str) -> None:
    assert judge_failure(state, read_log(log)).code == code
