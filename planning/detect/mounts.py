"""Reads mounts: findmnt in raw, list and tree form, `mount -l`, `df -P`. Text in, rows out; the last row of a target is the one in force.

An automount shows as autofs until somebody has looked into it; after that a second row for the same target has the real file system.
"""
from __future__ import annotations

import re
from dataclasses import dataclass

from planning.detect.text import lines

TREE = re.compile(r"^[\s│├└─|`-]*")
SHARED = ("nfs", "lustre", "gpfs", "autofs", "cifs", "smb", "fuse.sshfs", "beegfs", "ceph", "9p")


@dataclass(frozen=True)
class Mount:
    target: str
    source: str
    fstype: str
    options: str = ""


def parse(text: str) -> tuple[Mount, ...]:
    """Rows in the order printed. Long targets and sources that push the rest to the next line are put together."""
    rows: list[Mount] = []
    pending: list[str] = []
    for line in lines(text):
        words = _words(line)
        mounted = re.match(r"(\S+) on (\S+) type (\S+) \((.*)\)", line)
        if mounted:
            rows.append(Mount(mounted[2], mounted[1], mounted[3], mounted[4]))
        elif words[:2] == ["TARGET", "SOURCE"] or not words:
            continue
        elif words[0].startswith("/"):
            pending = words
        elif pending:
            pending = [*pending, *words]
        if len(pending) >= 3:
            rows.append(Mount(pending[0], pending[1], pending[2], " ".join(pending[3:])))
            pending = []
    return tuple(rows)


def _words(line: str) -> list[str]:
    return TREE.sub("", line).split()


def effective(rows: tuple[Mount, ...], target: str | None = None) -> Mount | None:
    """The mount in force: the last row, of `target` if given."""
    found = [row for row in rows if target is None or row.target == target]
    return found[-1] if found else None


def is_shared(fstype: str | None) -> bool:
    """File systems where flock may do nothing and where others write too."""
    return bool(fstype) and fstype.lower().startswith(SHARED)


def parse_df_free(text: str) -> int | None:
    """Available bytes of the last row of `df -P -k`; None when the row is not understood."""
    for line in reversed(lines(text)):
        match = re.match(r".*?\s(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})\s+\d{1,3}%\s+/", line)
        if match:
            return int(match[3]) * 1024
    return None
