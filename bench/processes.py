"""Run a command and say what it cost: wall seconds, CPU seconds of everything it started, and the memory of all of it together."""
from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.bed.processes import children

SAMPLE_SECONDS = 0.1
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """One run. `cpu_seconds`: user and system, of all descendants. `peak_bytes`: highest sum of proportional set sizes, by process name in `parts`."""

    seconds: float
    cpu_seconds: float
    status: int
    text: str
    peak_bytes: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)

    def ok(self) -> Cost:
        """Itself, when the exit status is 0. Raises RuntimeError with the output."""
        if self.status:
            raise RuntimeError(f"ended with {self.status}:\n{self.text[-4000:]}")
        return self


def run(command: Sequence[str], environment: Mapping[str, str] | None = None, cwd: Path | None = None, memory: bool = False,
        timeout: float = 900) -> Cost:
    """Run to its end. Orphans (plugins whose parent was killed) come back to us and are counted. `memory` costs time: measure it apart."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    used, began = _used(), time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        process = subprocess.Popen(list(map(str, command)), env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        sampler = _Sampler(process.pid) if memory else None
        killer = threading.Timer(timeout, lambda: os.kill(process.pid, signal.SIGKILL))
        killer.start()
        status = process.wait()
        seconds = time.monotonic() - began
        killer.cancel()
        peak, parts = sampler.end() if sampler else (0, {})
        _reap_orphans()
        out.seek(0)
        return Cost(seconds, _used() - used, status, out.read(), peak, parts)


def _used() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _reap_orphans() -> None:
    """Those that have ended; who goes on (ssh's master connection) is not waited for."""
    for child in children(os.getpid()):
        try:
            stat = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
            if stat[0] == "Z":
                os.waitpid(child, os.WNOHANG)
        except (OSError, ChildProcessError):
            continue


class _Sampler:
    """Adds up the memory of a process and its descendants, again and again, and keeps the highest sum."""

    def __init__(self, root: int) -> None:
        self._root, self._peak, self._parts, self._over = root, 0, {}, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> tuple[int, dict[str, int]]:
        self._over.set()
        self._thread.join()
        return self._peak, self._parts

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            parts: dict[str, int] = {}
            for process in tree(self._root):
                name, size = _memory(process)
                parts[name] = parts.get(name, 0) + size
            if sum(parts.values()) > self._peak:
                self._peak, self._parts = sum(parts.values()), parts


def tree(root: int) -> list[int]:
    """A process and all that it started, by id."""
    return [root, *(each for child in children(root) for each in tree(child))]


def _memory(process: int) -> tuple[str, int]:
    """(name, proportional set size in bytes)."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return "gone", 0
    name = Path(words[0]).name
    if name.startswith("python"):
        name = "python " + ("provider" if "pulumi.dynamic" in words else "program")
    return name, sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024
