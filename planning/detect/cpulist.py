"""Reads and writes the kernel's CPU lists: '0-5,48-53' and (0, 1, … 53), and nothing else.

An unreadable list is None, never a part of it: half a list would pin an endpoint to the wrong cores.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CPU = 65536
_PART = re.compile(r"(\d{1,6})(?:-(\d{1,6})(?::(\d{1,6})/(\d{1,6}))?)?")


def parse(text: str) -> tuple[int, ...] | None:
    """CPU or node numbers of a list in ascending order; '' and '(null)' are empty; None if any part is not understood."""
    word = text.strip()
    if word in {"", "(null)"}:
        return ()
    found: set[int] = set()
    for part in word.split(","):
        match = _PART.fullmatch(part.strip())
        if not match:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last > MAX_CPU:
            return None
        if match[3]:
            used, group = int(match[3]), int(match[4])
            if not 0 < used <= group:
                return None
            found.update(n for n in range(first, last + 1) if (n - first) % group < used)
        else:
            found.update(range(first, last + 1))
    return tuple(sorted(found))


def show(numbers: Iterable[int]) -> str:
    """The shortest list: (0, 1, 2, 8) is '0-2,8'."""
    parts: list[str] = []
    ordered = sorted(set(numbers))
    start = 0
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or ordered[i] != ordered[i - 1] + 1:
            parts.append(str(ordered[start]) if i - start == 1 else f"{ordered[start]}-{ordered[i - 1]}")
            start = i
    return ",".join(parts)
