"""Reads a container's log: how far the start came, why it failed, what the engine reported. Pure text in, a `LogReport` out.

A log may hold several starts (a container that restarts). The last one counts; while it has not come to an end, the one
before it tells the cause.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from planning.catalog import load_toml
from planning.errors import Refusal, Warn
from planning.health.log_causes import death, root_cause, shown
from planning.health.log_lines import Line, blob, occurring, read_lines, tail
from planning.health.measured import Measured, measured

_BANNER = re.compile(r"[█▄▀] {1,4}version \d|vLLM API server version")     # vLLM's logo carries the version in its third row
_DETECTED = re.compile(r"Automatically detected platform (\w{1,30})|Platform plugin (\w{1,30}) is activated")
_QUOTES = 3


@dataclass(frozen=True)
class LogReport:
    """`cause`: why the start failed, None for a start that did not fail. `died`: the engine ended after it had served
    (also when it was stopped together with its container: ask `judge_failure`). `phase`: of the last start; `failed_phase`: how far
    the start came that tells the cause, which the runtime may have followed with another already."""

    phase: str | None
    cause: Refusal | None
    died: Refusal | None
    zentorch_active: bool | None
    platform: str | None
    measured: Measured
    warnings: tuple[Warn, ...]
    tail: tuple[str, ...]
    failed_phase: str | None = None
    from_start: bool = True     # the banner of a start is in it


def read_log(text: str) -> LogReport:
    """Any text, hostile ones included; never raises, and works on a bounded part of long logs (see log_lines)."""
    lines = read_lines(text)
    starts = _starts(lines)
    last = starts[-1]
    phases = _phases(last)
    ready = next((i for i, phase in enumerate(phases) if phase == "serving"), len(last))
    phase = failed = phases[-1] if phases else None
    cause, died = root_cause(last[:ready], phases[:ready]), death(last[ready:])
    if ready == len(last) and cause is None and len(starts) > 1:
        cause, died, reached = _earlier(starts[-2])
        failed = reached if cause or died else failed
    begins = any(_BANNER.search(line.body) for line in lines)
    zentorch = _zentorch(lines, complete=begins)
    return LogReport(phase, cause, died, zentorch, _platform(lines, zentorch),
                     measured(last[:ready + 1], serving=ready < len(last)), _warnings(last, serving=ready < len(last)), tail(lines), failed, begins)


def _earlier(lines: Sequence[Line]) -> tuple[Refusal | None, Refusal | None, str | None]:
    """Cause, death and the phase that it came to."""
    phases = _phases(lines)
    ready = next((i for i, phase in enumerate(phases) if phase == "serving"), len(lines))
    return root_cause(lines[:ready], phases[:ready]), death(lines[ready:]), phases[-1] if phases else None


def _starts(lines: list[Line]) -> list[list[Line]]:
    """The lines of each start of the server; what stands before the first banner belongs to the first."""
    banners = [i for i, line in enumerate(lines) if _BANNER.search(line.body)]
    edges = [0, *banners[1:], len(lines)]
    return [lines[a:b] for a, b in zip(edges, edges[1:])]


def _phases(lines: Sequence[Line]) -> list[str | None]:
    """The phase at each line: the last one that was announced; serving is final."""
    whole = blob(lines)
    known = [(entry["name"], occurring(entry["any"], whole)) for entry in load_toml("log-phases.toml")["phase"]]
    phase: str | None = None
    result: list[str | None] = []
    for line in lines:
        if phase != "serving" and line.level in (None, "INFO", "WARNING") and not line.body.startswith(("    ", "  File ")):
            phase = next((name for name, parts in known if any(part in line.body for part in parts)), phase)
        result.append(phase)
    return result


def _zentorch(lines: Sequence[Line], complete: bool) -> bool | None:
    """True by the proving line; False by the stock line, or for an engine on device cpu in a `complete` log without the proof."""
    data = load_toml("log-phases.toml")["zentorch"]
    info = [line.body for line in lines if line.level in (None, "INFO", "DEBUG")]
    if any(part in body for body in info for part in data["active"]):
        return True
    if any(part in body for body in info for part in data["stock"]):
        return False
    return False if complete and any(data["engine_cpu"] in body for body in info) else None


def _platform(lines: Sequence[Line], zentorch: bool | None) -> str | None:
    """zen, cpu, rocm, cuda or what vLLM calls it; None when the log does not say."""
    if zentorch:
        return "zen"
    for line in lines:
        found = _DETECTED.search(line.body)
        if found:
            return found[1] or found[2]
    bodies = [line.body for line in lines if "device_config=" in line.body]
    if any("device_config=cpu" in body for body in bodies):
        return "cpu"
    if any("device_config=cuda" in body for body in bodies):
        rocm = any(mark in line.text for line in lines for mark in ("[rocm.py", "ROCm", "aiter", "AITER"))
        return "rocm" if rocm else "cuda"
    return None


def _warnings(lines: Sequence[Line], serving: bool) -> tuple[Warn, ...]:
    """Each known warning once; those that depend on their words with up to three of the lines."""
    bodies = [line.body for line in lines if line.level in (None, "INFO", "WARNING")]
    result, whole = [], blob(lines)
    for entry in load_toml("log-phases.toml")["warning"]:
        parts = occurring(entry["any"], whole)
        hits = list(dict.fromkeys(body for body in bodies if any(part in body for part in parts)))[:_QUOTES]
        if hits and not (serving and entry.get("pending")):
            said = ": " + " | ".join(map(shown, hits)) if entry.get("quote") else ""
            result.append(Warn(entry["code"], entry["message"] + said))
    return tuple(result)
