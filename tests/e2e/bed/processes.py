"""Run commands and keep daemons, so that nothing outlives the test session."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
"""Put before a daemon's command: the kernel kills it when this Python process ends, however that happens."""


class BedError(Exception):
    """The bed itself could not be made or used: no verdict on the program under test."""


def run(*command: str | Path, check: bool = True, timeout: float = 60, **options) -> subprocess.CompletedProcess[str]:
    """Run a command and keep its output. Raises BedError with that output when it fails or hangs (`check=False`: only if it hangs)."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, text=True, timeout=timeout, stdin=options.pop("stdin", subprocess.DEVNULL),
                              capture_output=True, errors="replace", **options)
    except subprocess.TimeoutExpired as error:
        raise BedError(f"`{' '.join(words)}` took more than {timeout} s; it said: {error.output!r} {error.stderr!r}") from None
    except FileNotFoundError:
        raise BedError(f"{words[0]} is not installed: run `tools/setup --e2e`") from None
    if check and done.returncode:
        raise BedError(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def start(command: Sequence[str | Path], log: Path) -> subprocess.Popen[bytes]:
    """Start a daemon whose output goes to `log` and who dies with us."""
    with open(log, "ab") as stream:
        return subprocess.Popen([*DIES_WITH_US, *map(str, command)], stdin=subprocess.DEVNULL, stdout=stream,
                                stderr=subprocess.STDOUT, start_new_session=True)


def stop(process: subprocess.Popen[bytes], patience: float = 10) -> None:
    """Ask a daemon to end, then make it; `patience` 0 makes it at once."""
    target = _behind_nsenter(process.pid)
    for signal_number in (signal.SIGTERM, signal.SIGKILL) if patience else (signal.SIGKILL,):
        if process.poll() is None:
            _signal(target, signal_number)
            try:
                process.wait(patience or 10)
            except subprocess.TimeoutExpired:
                continue
    if process.poll() is None:
        process.kill()
    process.wait()


def children(process: int) -> list[int]:
    """Process ids of the direct children, whichever thread started them."""
    found = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, listed.read_text().split())
        except OSError:
            continue
    return found


def _behind_nsenter(process: int) -> int:
    """nsenter forks when it enters a process namespace and passes no signal on: the daemon is its child."""
    try:
        name = Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return process
    return (children(process) or [process])[0] if name == "nsenter" else process


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def wait_until(true: Callable[[], object], what: str, seconds: float = 20, log: Path | None = None) -> None:
    """Ask `true` until it says so. Raises BedError with the end of `log` when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            end = "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log and log.exists() else ""
            raise BedError(f"{what}: not within {seconds} s\n{end}")
        time.sleep(0.05)
