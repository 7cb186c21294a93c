"""Reads `lscpu -p`: which core, socket and NUMA node each on-line CPU belongs to. Text in, `LogicalCpu` rows out.

The header names the columns, so their order and further columns do not matter. A row that is not understood makes the
whole table unknown: a missing core would look like one that is off line.
"""
from __future__ import annotations

from planning.detect.facts import LogicalCpu
from planning.detect.text import is_cut, lines, number

DEFAULT_COLUMNS = ("cpu", "core", "socket", "node")


def parse(text: str) -> tuple[LogicalCpu, ...]:
    """Rows by CPU number; empty when the table is cut or not understood. An empty node column is None."""
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    rows: dict[int, LogicalCpu] = {}
    if is_cut(text):
        return ()
    for line in lines(text):
        if line.startswith("#"):
            names = tuple(name.strip().lower() for name in line.lstrip("# ").split(","))
            columns = names if {"cpu", "core", "socket"} <= set(names) else columns
            continue
        if not line.strip():
            continue
        cells = dict(zip(columns, line.split(","), strict=False))
        cpu, core, socket = (number(cells.get(key)) for key in ("cpu", "core", "socket"))
        node = cells.get("node", "").strip()
        if cpu is None or core is None or socket is None or (node not in {"", "-"} and number(node) is None) or cpu in rows:
            return ()
        rows[cpu] = LogicalCpu(cpu, core, socket, number(node))
    return tuple(rows[cpu] for cpu in sorted(rows))
