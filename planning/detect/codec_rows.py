"""Packs the rows of `lscpu -p` into a few lines and unpacks them: one entry for each socket, NUMA node and number of threads.

An entry's `cores` and each list of `threads` run in parallel: the k-th thread of the i-th core. Where the numbers do not rise
together the rows are written one by one.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planning.detect import cpulist
from planning.detect.facts import LogicalCpu


def pack_rows(rows: tuple[LogicalCpu, ...]) -> list[Any]:
    """[{'socket', 'node', 'cores', 'threads'}] or, if they do not fit that, [['cpu', 'core', 'socket', 'node']]."""
    by_core: dict[tuple[int, int], list[LogicalCpu]] = {}
    for row in rows:
        by_core.setdefault((row.socket, row.core), []).append(row)
    groups: dict[tuple[int, int, int], list[list[LogicalCpu]]] = {}
    for (socket, _), siblings in sorted(by_core.items()):
        if len({row.node for row in siblings}) != 1:
            return _one_by_one(rows)
        node = siblings[0].node
        groups.setdefault((socket, -1 if node is None else node, len(siblings)), []).append(siblings)
    packed: list[Any] = []
    for (socket, node, count), cores in sorted(groups.items()):
        threads = [[siblings[k].cpu for siblings in cores] for k in range(count)]
        if any(numbers != sorted(numbers) for numbers in threads):
            return _one_by_one(rows)
        packed.append({"socket": socket, "node": None if node < 0 else node, "cores": _show(siblings[0].core for siblings in cores),
                       "threads": [_show(numbers) for numbers in threads]})
    return packed if unpack_rows(packed) == rows else _one_by_one(rows)


def unpack_rows(packed: Iterable[Any]) -> tuple[LogicalCpu, ...]:
    """The rows by CPU number; numbers may have come back as floats."""
    rows: list[LogicalCpu] = []
    for entry in packed:
        if not isinstance(entry, dict):
            cpu, core, socket, node = entry
            rows.append(LogicalCpu(int(cpu), int(core), int(socket), None if node is None else int(node)))
            continue
        node = None if entry.get("node") is None else int(entry["node"])
        cores = cpulist.parse(entry["cores"]) or ()
        for numbers in entry["threads"]:
            rows.extend(LogicalCpu(cpu, core, int(entry["socket"]), node)
                        for cpu, core in zip(cpulist.parse(numbers) or (), cores, strict=True))
    return tuple(sorted(rows, key=lambda row: row.cpu))


def _one_by_one(rows: tuple[LogicalCpu, ...]) -> list[Any]:
    return [[row.cpu, row.core, row.socket, row.node] for row in rows]


def _show(numbers: Iterable[int]) -> str:
    """A CPU list; every n-th number is written as the kernel does ('0-190:1/2')."""
    ordered = sorted(numbers)
    step = ordered[1] - ordered[0] if len(ordered) > 2 else 1
    if step > 1 and ordered == list(range(ordered[0], ordered[-1] + 1, step)):
        return f"{ordered[0]}-{ordered[-1]}:1/{step}"
    return cpulist.show(ordered)
