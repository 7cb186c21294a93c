"""Decides which core, socket and NUMA node each CPU belongs to when `lscpu -p` was not sent: from totals and node lists.

Linux numbers the first threads of all cores first and their siblings after them, socket by socket; on a bare-metal EPYC
that and the totals give every row. Inside a virtual machine the numbering is the hypervisor's, so nothing is derived there.
"""
from __future__ import annotations

from collections.abc import Mapping

from planning.detect.facts import LogicalCpu


def sockets_of_nodes(nodes: Mapping[int, tuple[int, ...]], rows: tuple[LogicalCpu, ...], sockets: int | None,
                     total: int | None) -> dict[int, int]:
    """Socket of each node: from rows where there are some, else by order (`total` nodes shared out over the sockets)."""
    seen: dict[int, set[int]] = {}
    for row in rows:
        if row.node is not None:
            seen.setdefault(row.node, set()).add(row.socket)
    if seen:
        return {node: min(found) for node, found in seen.items() if len(found) == 1}
    if not sockets or not total or total % sockets or sorted(nodes) != list(range(total)):
        return {}
    return {node: node // (total // sockets) for node in nodes}


def derive_rows(online: tuple[int, ...] | None, nodes: Mapping[int, tuple[int, ...]], node_socket: Mapping[int, int],
                sockets: int | None, cores: int | None, threads: int | None) -> tuple[LogicalCpu, ...]:
    """Rows for all on-line CPUs, or none when the numbers do not add up exactly. `cores` per socket, `threads` per core."""
    if not (sockets and cores and threads and online) or len(online) != sockets * cores * threads:
        return ()
    total = sockets * cores
    if online != tuple(range(total * threads)):
        return ()
    node_of = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
    if nodes and (set(node_of) != set(online) or set(nodes) != set(node_socket)):
        return ()
    rows = []
    for cpu in online:
        core = cpu % total
        socket = core // cores
        node = node_of.get(cpu)
        if node is not None and (node_socket[node] != socket or node_of[core] != node):
            return ()
        rows.append(LogicalCpu(cpu, core, socket, node))
    return tuple(rows)
