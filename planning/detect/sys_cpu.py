"""Reads what the kernel says about CPUs in /sys/devices/system/cpu and what the session may use (/proc/self/status, cgroups).

Text of our own probes in, plain values out; an unreadable list is unknown.
"""
from __future__ import annotations

import re

from planning.detect import cpulist
from planning.detect.text import lines, number

UNLIMITED_BYTES = 1 << 60        # cgroup v1 says 9223372036854771712 for "no limit"


def parse_sys_cpu(text: str) -> dict[str, tuple[int, ...]]:
    """'online:0-127', 'offline:', 'present:…', 'isolated:…', 'nohz_full:…' -> CPU numbers by key."""
    found: dict[str, tuple[int, ...]] = {}
    for line in lines(text):
        key, colon, value = line.partition(":")
        cpus = cpulist.parse(value) if colon else None
        if cpus is not None and key in {"online", "offline", "present", "isolated", "nohz_full"}:
            found.setdefault(key, cpus)
    return found


def parse_allowed(text: str) -> tuple[int, ...] | None:
    """Cpus_allowed_list of /proc/self/status."""
    for line in lines(text):
        match = re.match(r"Cpus_allowed_list:\s*(\S+)\s*$", line)
        if match:
            return cpulist.parse(match[1]) or None
    return None


def parse_cgroup(text: str) -> tuple[int | None, tuple[int, ...] | None]:
    """Smallest memory limit and common CPUs of all cgroups up the tree, from lines '/path/memory.max:123'.

    Files: memory.max, memory.limit_in_bytes, cpuset.cpus, cpuset.cpus.effective. None: no limit told.
    """
    limits: list[int] = []
    allowed: set[int] | None = None
    for line in lines(text):
        path, colon, value = line.rpartition(":")
        name = path.rsplit("/", 1)[-1]
        if not colon:
            continue
        if name in {"memory.max", "memory.limit_in_bytes"}:
            limit = number(value)
            if limit is not None and 0 < limit < UNLIMITED_BYTES:
                limits.append(limit)
        elif name in {"cpuset.cpus", "cpuset.cpus.effective", "cpuset.effective_cpus"}:
            cpus = cpulist.parse(value)
            if cpus:
                allowed = set(cpus) if allowed is None else allowed & set(cpus)
    return min(limits, default=None), tuple(sorted(allowed)) if allowed else None


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes by key of /proc/meminfo."""
    found: dict[str, int] = {}
    for line in lines(text):
        match = re.match(r"(\w+(?:\(\w+\))?):\s+(\d{1,15}) kB\s*$", line)
        if match:
            found.setdefault(match[1], int(match[2]) * 1024)
    return found
