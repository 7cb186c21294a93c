"""Reads NUMA nodes: CPUs and memory of each, from `numactl --hardware` and /sys/devices/system/node. Text in, dicts out.

Memory in bytes. numactl rounds to MiB; a node of 0 MB is memoryless, which is a fact and not unknown.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from planning.detect import cpulist
from planning.detect.text import lines

MIB = 1024 * 1024


@dataclass
class NodeReport:
    """What one source says. `count` is told only by sources that say how many there are."""

    cpus: dict[int, tuple[int, ...]] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    free: dict[int, int] = field(default_factory=dict)
    reclaimable: dict[int, int] = field(default_factory=dict)
    distances: dict[int, tuple[int, ...]] = field(default_factory=dict)
    count: int | None = None


def parse_numactl(text: str) -> NodeReport:
    """`numactl --hardware`, with or without --cpu-compress ('0-15 (16)')."""
    report = NodeReport()
    for line in lines(text):
        available = re.match(r"available:\s+(\d{1,4}) nodes?\b", line)
        row = re.match(r"node (\d{1,4}) (cpus|size|free):(.*)", line)
        distance = re.match(r"\s+(\d{1,4}):((?:\s+\d{1,4})+)\s*$", line)
        if available:
            report.count = int(available[1])
        elif row and row[2] == "cpus":
            cpus = cpulist.parse(",".join(re.sub(r"\(\d+\)", "", row[3]).split()))
            if cpus is not None:
                report.cpus[int(row[1])] = cpus
        elif row:
            size = re.fullmatch(r"\s*(\d{1,12}) MB\s*", row[3])
            if size:
                (report.memory if row[2] == "size" else report.free)[int(row[1])] = int(size[1]) * MIB
        elif distance:
            report.distances[int(distance[1])] = tuple(int(word) for word in distance[2].split())
    return report


_SYS = re.compile(r"node(\d{1,4})/(cpulist|meminfo):(.*)")
_MEM = re.compile(r"\s*Node \d+ (MemTotal|MemFree|FilePages|SReclaimable):\s+(\d{1,15}) kB\s*$")


def parse_sys_node(text: str) -> NodeReport:
    """Our own probe of /sys/devices/system/node: 'node0/cpulist:0-5' and 'node0/meminfo:Node 0 MemTotal: 1 kB', 'online:0-1' first."""
    report = NodeReport()
    for line in lines(text):
        online = re.match(r"online:(.*)", line)
        if online:
            nodes = cpulist.parse(online[1])
            report.count = len(nodes) if nodes else None
        row = _SYS.match(line)
        if not row:
            continue
        node = int(row[1])
        if row[2] == "cpulist":
            cpus = cpulist.parse(row[3])
            if cpus is not None:
                report.cpus[node] = cpus
        else:
            _memory_line(report, node, row[3])
    return report


def _memory_line(report: NodeReport, node: int, text: str) -> None:
    match = _MEM.match(text)
    if not match:
        return
    size = int(match[2]) * 1024
    if match[1] == "MemTotal":
        report.memory[node] = size
    elif match[1] == "MemFree":
        report.free[node] = size
    else:
        report.reclaimable[node] = report.reclaimable.get(node, 0) + size
