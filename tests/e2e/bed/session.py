"""A session of the bed: a numbered slot on this machine, with a folder, names and addresses of its own.

Several test runs may go on at one time on a machine. The slot's lock is held by the Python process that owns it; the
kernel lets go of it when that process ends, and then whatever carries the slot's number is litter.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import TextIO

from .processes import BedError

PREFIX = "amdvllm"
SLOTS = 32
HOSTS = 8
"""Hosts that one slot has addresses for."""
BASE = Path(tempfile.gettempdir()) / f"{PREFIX}-bed"


class Session:
    """A slot that we hold until `close` or the end of the process."""

    def __init__(self, slot: int, lock: TextIO) -> None:
        self.slot, self._lock = slot, lock
        self.folder = folder_of(slot)
        self._taken: set[int] = set()

    def make_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)

    def take_number(self) -> int:
        """A host number that is free in this slot."""
        free = set(range(1, HOSTS + 1)) - self._taken
        if not free:
            raise BedError(f"a session has {HOSTS} hosts at one time: close one before you make another")
        self._taken.add(min(free))
        return min(free)

    def give_back(self, number: int) -> None:
        self._taken.discard(number)

    def name(self, number: int) -> str:
        """The name of the host's network namespace, its cgroup and its network interface here."""
        return f"{PREFIX}-{self.slot}-{number}"

    def subnet(self, number: int) -> str:
        """Three octets: .1 is this side, .2 the host."""
        return f"10.213.{self.slot * HOSTS + number - 1}"

    def close(self) -> None:
        self._lock.close()


def folder_of(slot: int) -> Path:
    """Everything that a slot keeps on disk."""
    return BASE / f"slot-{slot}"


def try_lock(slot: int) -> TextIO | None:
    """The lock of a slot, or None when a living session has it."""
    BASE.mkdir(parents=True, exist_ok=True)
    stream = open(BASE / f"slot-{slot}.lock", "w")  # noqa: SIM115 (the lock lives as long as the stream)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return None
    stream.write(f"{os.getpid()}\n")
    stream.flush()
    return stream


def open_session() -> Session:
    """Take the first free slot."""
    for slot in range(SLOTS):
        lock = try_lock(slot)
        if lock:
            return Session(slot, lock)
    raise BedError(f"all {SLOTS} slots of the test bed are in use: {BASE}")
