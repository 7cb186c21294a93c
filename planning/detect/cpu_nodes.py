"""Decides the NUMA nodes of a host and the place of each CPU, from lscpu, sysfs, numactl and KFD together.

From parsed sources, giving `NodeFacts`. A node list is given only if it holds as many nodes as the host has.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planning.detect import numa
from planning.detect.facts import LogicalCpu, NumaNode
from planning.detect.kfd import cpu_nodes as kfd_cpu_nodes
from planning.detect.sources import Source
from planning.detect.topology import derive_rows, sockets_of_nodes
from planning.detect.witnesses import Ledger


@dataclass(frozen=True)
class NodeFacts:
    count: int | None
    nodes: tuple[NumaNode, ...]
    rows: tuple[LogicalCpu, ...]


def node_facts(sources: dict[str, list[Source]], parsed: list[tuple[Source, dict[str, Any]]], rows: tuple[LogicalCpu, ...],
               ledger: Ledger, online: tuple[int, ...] | None, hypervisor: str | None) -> NodeFacts:
    """Nodes with CPUs, memory and socket, and one row per on-line CPU (told by `lscpu -p` or derived with a warning)."""
    _say_nodes(sources, parsed, rows, ledger)
    count = ledger.take("cpu.numa_nodes")
    numbers = sorted({int(fact.split(".")[2]) for fact in ledger.said if fact.startswith("cpu.node.")})
    cpus = {n: ledger.take(f"cpu.node.{n}.cpus", "cpu.node.") for n in numbers}
    memory = {n: ledger.take(f"cpu.node.{n}.memory", "cpu.node.", _about_equal) for n in numbers}
    with_cpus = {n: found for n, found in cpus.items() if found is not None}
    if count and len(with_cpus) == count and "cpu.cpus_online" not in ledger.said:
        ledger.say("cpu.cpus_online", len({cpu for found in with_cpus.values() for cpu in found}) or None, "the CPUs of all nodes", "derived")
    sockets = ledger.take("cpu.sockets")
    node_socket = sockets_of_nodes(with_cpus, rows, sockets, count)
    if not rows and not hypervisor:
        rows = derive_rows(online, with_cpus if count and len(with_cpus) == count else {}, node_socket, sockets,
                           ledger.take("cpu.cores_per_socket"), ledger.take("cpu.threads_per_core"))
        if rows:
            ledger.warn("topology-derived", "lscpu -p is missing: the core and socket of each CPU follow from the totals and Linux's "
                        "usual numbering, not from the machine itself")
            ledger.chosen["cpu.topology"] = "derived"
    nodes = tuple(NumaNode(n, node_socket.get(n), with_cpus.get(n, ()), memory.get(n)) for n in numbers)
    if count is not None and len(nodes) != count:
        nodes = tuple(node for node in nodes if node.node in with_cpus) if len(with_cpus) == count else ()
    return NodeFacts(count, nodes, rows)


def _say_nodes(sources: dict[str, list[Source]], parsed: list[tuple[Source, dict[str, Any]]], rows: tuple[LogicalCpu, ...],
               ledger: Ledger) -> None:
    for source, fields in parsed:
        for node, cpus in fields.get("node_cpus", {}).items():
            ledger.say(f"cpu.node.{node}.cpus", cpus, source.name, source.subject)
    for source in sources.get("numactl", []):
        _say_report(numa.parse_numactl(source.text), source, ledger)
    for source in sources.get("sys-node", []):
        _say_report(numa.parse_sys_node(source.text), source, ledger)
    for node in {row.node for row in rows if row.node is not None}:
        told = tuple(row.cpu for row in rows if row.node == node)
        ledger.say(f"cpu.node.{node}.cpus", told, sources["lscpu-p"][0].name, "lscpu-p")
    if rows and all(row.node is not None for row in rows):
        ledger.say("cpu.numa_nodes", len({row.node for row in rows}), sources["lscpu-p"][0].name, "lscpu-p")
    for source in sources.get("kfd-topology", []):
        banks = kfd_cpu_nodes(source.text)
        if banks is not None:
            ledger.say("cpu.numa_nodes", len(banks) or None, source.name, "kfd-topology")
            for node, size in banks.items():
                ledger.say(f"cpu.node.{node}.memory", size, source.name, "kfd-topology")


def _say_report(report: numa.NodeReport, source: Source, ledger: Ledger) -> None:
    ledger.say("cpu.numa_nodes", report.count, source.name, source.subject)
    for node, cpus in report.cpus.items():
        ledger.say(f"cpu.node.{node}.cpus", cpus, source.name, source.subject)
    for node, size in report.memory.items():
        ledger.say(f"cpu.node.{node}.memory", size, source.name, source.subject)


def _about_equal(one: int, other: int) -> bool:
    """Sources count reserved memory differently; 5 % apart is no disagreement."""
    return abs(one - other) <= max(one, other) * 0.05
