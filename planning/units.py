"""Bytes and CPU lists, and how people read them. Sizes are integers of bytes everywhere; GiB appears in messages only."""
from __future__ import annotations

from collections.abc import Iterable

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def gib(size_bytes: int | None) -> str:
    """A size in bytes as `1.5 GiB`; None as `unknown`."""
    return "unknown" if size_bytes is None else f"{size_bytes / GIB:,.1f} GiB"


def cpu_list(cpus: Iterable[int]) -> str:
    """CPU (or node) numbers in Linux' list format: {0, 1, 2, 8} -> `0-2,8`. Nothing -> empty text."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1][1:] = [cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """The inverse of `cpu_list`, ascending. Empty text is no CPU. Raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in filter(None, (p.strip() for p in text.strip().split(","))):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(cpus))
