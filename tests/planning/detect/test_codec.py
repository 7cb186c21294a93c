"""State stays small and nothing of it is lost."""
from __future__ import annotations

import json

import pytest

from planning.detect import facts_from_dict, facts_to_dict
from planning.detect.codec_rows import pack_rows, unpack_rows
from planning.detect.facts import Cpu, HostFacts, LogicalCpu, NumaNode


def dual(cores: int, nodes_per_socket: int) -> HostFacts:
    rows = tuple(LogicalCpu(thread * 2 * cores + core, core, core // cores, core // (cores // nodes_per_socket))
                 for thread in range(2) for core in range(2 * cores))
    nodes = tuple(NumaNode(n, n // nodes_per_socket, tuple(row.cpu for row in rows if row.node == n), 1 << 38) for n in range(2 * nodes_per_socket))
    return HostFacts("genoa", cpu=Cpu(sockets=2, nodes=nodes, topology=rows, allowed=tuple(range(4 * cores))), witnesses={"cpu.sockets": "lscpu.txt"})


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_a_dual_9654_is_small(nodes: int) -> None:
    facts = dual(96, nodes)
    packed = facts_to_dict(facts)
    assert len(json.dumps(packed)) < 4000
    assert facts_from_dict(json.loads(json.dumps(packed))) == facts


@pytest.mark.parametrize("rows", [
    (), (LogicalCpu(0, 0, 0, None),),
    tuple(LogicalCpu(cpu, cpu // 2, 0, 0) for cpu in range(64)),                              # siblings side by side, as in guests
    tuple(LogicalCpu(cpu, cpu % 4, 0, 0) for cpu in range(7)),                                # one sibling off line
    (LogicalCpu(0, 1, 0, 0), LogicalCpu(1, 0, 0, 0), LogicalCpu(2, 0, 1, 1)),                 # core numbers that fall, and are used twice
])
def test_rows_come_back(rows: tuple[LogicalCpu, ...]) -> None:
    assert unpack_rows(json.loads(json.dumps(pack_rows(rows)))) == rows


def test_a_newer_version_s_keys_are_passed_over() -> None:
    assert facts_from_dict({"name": "a", "new": 1, "cpu": {"sockets": 2.0, "new": {}}}) == HostFacts("a", cpu=Cpu(sockets=2))
