"""What `docker inspect` or `podman inspect` says about a container, judged. Texts: data/health-causes.toml, [[state]]."""
from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from planning.catalog import load_toml
from planning.errors import Refusal
from planning.health.log import LogReport
from planning.health.log_causes import GENERIC, known_text, shown

LOOP_RESTARTS = 3                       # so many restarts of a container that does not answer are a loop
_ENDED = ("exited", "stopped")
_SIGNALS = (132, 134, 135, 137, 139)    # exit statuses that say more than a log without a known cause
_MEMORY = ("out-of-memory", "kv-space")


def judge_state(state: Mapping[str, Any], answers: bool = False) -> Refusal | None:
    """`state`: inspect's State, with RestartCount added if known. None: it runs properly.

    `answers`: the server was seen to answer, so earlier restarts and earlier out-of-memory kills are forgiven.
    """
    status, exit_code = _status(state), _number(state, "ExitCode")
    restarts = _number(state, "RestartCount") or 0
    if not status:
        return _refusal("missing", "no state")
    if status in ("dead", "removing", "paused"):
        return _refusal(status, f"status {status}")
    if status in ("created", "configured", "initialized"):
        return _runtime_error(state) or _refusal("created", f"status {status}")
    if status == "running":
        if answers:
            return None
        if _true(state, "OOMKilled"):
            return _refusal("oom-killed", "a process of the running container was killed, OOMKilled is true")
        return _refusal("restarting", f"{restarts} restarts") if restarts >= LOOP_RESTARTS else None
    if _true(state, "OOMKilled"):
        return _refusal("oom-killed", _ending(exit_code, restarts, "OOMKilled is true"))
    if status == "restarting":
        return _refusal("restarting", _ending(exit_code, restarts, f"status {status}"))
    if status in _ENDED:
        ending = _ending(exit_code, restarts, f"status {status}")
        return _runtime_error(state) or _refusal(f"exit-{exit_code}", ending, otherwise="exit")
    return _refusal("exit", f"status {shown(status)}")


def judge_failure(state: Mapping[str, Any], log: LogReport) -> Refusal:
    """For an endpoint that is known to have failed: the better explanation of the two, and always one."""
    by_state = judge_state(state)
    killed = bool(by_state) and _true(state, "OOMKilled")
    if by_state and killed:
        return log.cause if log.cause and log.cause.code in _MEMORY else by_state
    for cause in (log.cause, log.died):
        if cause and cause.code not in GENERIC:
            return cause
    if by_state and (_number(state, "ExitCode") in _SIGNALS or _status(state) in ("paused", "dead", "removing", "created")):
        return by_state
    told = log.cause or log.died
    if told:
        return told
    if by_state:
        return by_state
    reached = f"the container runs, the log ends in phase {log.phase}" if log.phase else "the container runs, its log says nothing of vLLM"
    return Refusal("hung", "The server did not get ready in time and no error is in its log", reached, "a server that answers",
                   "if the log still makes progress raise waitSeconds, else look at the load, the memory and the network of the host")


@cache
def _texts() -> dict[str, Mapping[str, str]]:
    return {entry["key"]: entry for entry in load_toml("health-causes.toml")["state"]}


def _refusal(key: str, found: str, otherwise: str = "exit") -> Refusal:
    entry = _texts().get(key) or _texts()[otherwise]
    return Refusal(entry["code"], entry["what"], found, entry["needed"], entry["do"])


def _runtime_error(state: Mapping[str, Any]) -> Refusal | None:
    """The container runtime's own message, when it left one."""
    error = state.get("Error")
    if not isinstance(error, str) or not error.strip():
        return None
    return known_text(error) or _refusal("exit-125", shown(error))


def _status(state: Mapping[str, Any]) -> str:
    """Docker's word for the state; the booleans of older engines where the word is missing."""
    status = str(state.get("Status") or "").strip().lower()
    for flag in ("Dead", "Restarting", "Paused", "Running"):
        if not status and _true(state, flag):
            status = flag.lower()
    return "exited" if not status and _number(state, "ExitCode") is not None else status


def _true(state: Mapping[str, Any], key: str) -> bool:
    return str(state.get(key)).lower() == "true"


def _number(state: Mapping[str, Any], key: str) -> int | None:
    try:
        return int(state[key])          # Pulumi gives 137.0
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _ending(exit_code: int | None, restarts: int, more: str) -> str:
    code = "unknown" if exit_code is None else exit_code
    return f"exit status {code}, {more}" + (f", {restarts} restarts" if restarts else "")
