"""Memory in use by a container, and how much of the plan it may take: both without what the kernel gives back under pressure.

From the text of a cgroup's memory.stat (v1 or v2) and from a plan's budget, giving bytes; None is unknown.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HELD = (("total_rss", "total_shmem"), ("anon", "shmem"))    # cgroup v1, v2
NOT_THE_CONTAINERS = "headroom"


def held_bytes(stat: str) -> int | None:
    """Heap and shared memory of all processes together; the page cache is not counted."""
    rows = dict(line.split()[:2] for line in stat.splitlines() if len(line.split()) >= 2)
    for names in HELD:
        if all(re.fullmatch(r"[0-9]{1,18}", rows.get(name, "")) for name in names):
            return sum(int(rows[name]) for name in names)
    return None


def planned_bytes(memory: Mapping[str, Any] | None, ranks: int) -> int | None:
    """The budget of all ranks without the headroom. None on GPUs, whose budget is of another memory."""
    if not memory or memory.get("scope") == "gpu" or not memory.get("lines"):
        return None
    return ranks * sum(int(line["bytes"]) for line in memory["lines"] if line["name"] != NOT_THE_CONTAINERS)
