"""What a placed EPYC endpoint holds: its cores, and on each rank's node its memory without the headroom that all share."""
from __future__ import annotations

from planning.families.base import Choice, Claims
from planning.plan import MemoryReport
from planning.units import parse_cpu_list

HEADROOM = "headroom"


def claims(choice: Choice) -> Claims:
    """One rank holds the node of its first core; several ranks hold a node each."""
    place = choice.placement
    nodes = place.numa_nodes[:1] if place.tensor_parallel_size == 1 else place.numa_nodes
    return Claims(cpus=frozenset(parse_cpu_list(place.cpuset_cpus or "")), node_bytes={node: held_bytes(choice.memory) for node in nodes})


def held_bytes(memory: MemoryReport | None) -> int:
    """Bytes that a rank takes of its node: the budget without the headroom."""
    return 0 if memory is None else sum(line.bytes for line in memory.lines if line.name != HEADROOM)
