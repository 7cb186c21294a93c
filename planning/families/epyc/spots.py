"""Step place of the EPYC family: the places on a host where an endpoint could run, the best first.

From the topology, the survey's load, what others claim and the placement keys. One rank takes one socket; with
`tensorParallelSize` each rank takes one NUMA node. What an endpoint has from its last plan is the only place while it is valid.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planning.catalog import load_toml
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.place import Core, Domain, domains, listed, load_order, node_memory, threads_of
from planning.plan import Placement
from planning.units import cpu_list, parse_cpu_list


@dataclass(frozen=True)
class Spot:
    """A possible placement: the cores of each rank. `kept`: it is where the endpoint is already."""

    ranks: tuple[tuple[Core, ...], ...]
    socket: int | None
    reason: str
    warnings: tuple[Warn, ...] = ()
    kept: bool = False

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({core.node for rank in self.ranks for core in rank}))

    def node_of_rank(self, rank: int) -> int:
        """vLLM's CPU worker looks at the memory of the node of its first CPU."""
        return self.ranks[rank][0].node

    def placement(self, reserved: int) -> Placement:
        """`reserved` cores stay in the cpuset and leave the bind list, from the last rank on, one each in turn."""
        bound = [list(rank) for rank in self.ranks]
        for turn in range(reserved):
            bound[-1 - turn % len(bound)].pop()
        return Placement(self.socket, self.nodes, listed(core for rank in self.ranks for core in rank), cpu_list(self.nodes),
                         "|".join(listed(rank) for rank in bound), (), len(self.ranks), self.reason)


def spots(case: Case) -> tuple[tuple[Spot, ...], Notes]:
    """Places in order of preference; none comes with the refusals that say why."""
    places = domains(case.facts, threads_of(case.facts, case.claims.cpus))
    asked = _asked(case, places)
    if asked.refusals:
        return (), asked
    kept, moved = _kept(case, places)
    if kept is not None:
        return (kept,), Notes()
    found = tuple(_one_rank(case, places) if case.request.tensor_parallel_size == 1 else _ranks(case, places))
    return found, moved if found else Notes.of(_no_cores(case, places))


def _asked(case: Case, places: tuple[Domain, ...]) -> Notes:
    """Placement keys that this host cannot follow."""
    request, host, memory = case.request, case.facts.name, node_memory(case.facts)
    tp, sockets = request.tensor_parallel_size, [place.socket for place in places]
    owner = next((row.socket for row in case.facts.cpu.topology if (row.node or 0) == request.numa_node), None)
    cores = request.cores or tp
    return Notes.of(
        _bad(case, f"socket {request.socket} of {host}", f"sockets {cpu_list(sockets)}", "a socket that is there", "correct socket, or leave it out")
        if request.socket is not None and request.socket not in sockets else None,
        _bad(case, f"numaNode {request.numa_node} of {host}", f"nodes {cpu_list(memory)}", "a NUMA node with CPUs", "correct numaNode, or leave it out")
        if request.numa_node is not None and owner is None else None,
        _bad(case, f"numaNode {request.numa_node} of {host}", "a node without memory", "a node with memory", "choose another numaNode")
        if request.numa_node is not None and memory.get(request.numa_node) == 0 else None,
        _bad(case, "socket and numaNode contradict", f"node {request.numa_node} belongs to socket {owner}", f"a node of socket {request.socket}",
             "leave one of the two out") if None not in (owner, request.socket) and owner != request.socket else None,
        _bad(case, "numaNode with tensorParallelSize", f"tensorParallelSize {tp}", "one node for each rank", "leave numaNode out")
        if tp > 1 and request.numa_node is not None else None,
        _bad(case, "cores with tensorParallelSize", f"{cores} cores for {tp} ranks", f"a multiple of {tp}", f"set cores to a multiple of {tp}")
        if cores % tp else None,
        _tensor_parallel(case) if tp in load_toml("epyc.toml")["defaults"]["refused_tensor_parallel"] else None)


def _bad(case: Case, what: str, found: str, needed: str, do: str) -> Refusal:
    return Refusal("bad-value", f"endpoint {case.name}: {what}", found, needed, do)


def _tensor_parallel(case: Case) -> Refusal:
    return Refusal("tensor-parallel", f"vLLM on CPUs does not run {case.request.tensor_parallel_size} tensor parallel ranks",
                   f"tensorParallelSize {case.request.tensor_parallel_size}", "1, 2, 4 or 8, one rank for each NUMA node", "set another tensorParallelSize")


def _kept(case: Case, places: tuple[Domain, ...]) -> tuple[Spot | None, Notes]:
    """The placement of the last plan, while its cores are usable and the request's keys do not contradict it."""
    last = (case.previous or {}).get("placement") or {}
    if not last.get("cpuset_cpus"):
        return None, Notes()
    usable = {core.cpu: core for place in places for core in place.cores}
    cpus, request = parse_cpu_list(last["cpuset_cpus"]), case.request
    why = ("its cores are not usable any more" if not set(cpus) <= set(usable) else
           "another place is asked for" if not _agrees(request, last, [usable[cpu] for cpu in cpus]) else None)
    if why:
        return None, Notes.of(Warn("moved", f"{case.name} leaves cores {last['cpuset_cpus']} of {case.facts.name}: {why}"))
    cores = [usable[cpu] for cpu in cpus]
    tp = request.tensor_parallel_size
    ranks = (tuple(cores),) if tp == 1 else tuple(tuple(c for c in cores if c.node == node) for node in sorted({c.node for c in cores}))
    return Spot(ranks, None if last.get("socket") is None else int(last["socket"]), last.get("reason") or "kept", kept=True), Notes()


def _agrees(request, last, cores: list[Core]) -> bool:
    tp = request.tensor_parallel_size
    return (int(last.get("tensor_parallel_size") or 1) == tp and (tp == 1 or len({core.node for core in cores}) == tp)
            and (request.socket is None or {core.socket for core in cores} == {request.socket})
            and (request.numa_node is None or {core.node for core in cores} == {request.numa_node})
            and (request.cores is None or request.cores == len(cores)) and request.reserved_cpus < len(cores))


def _preferred(case: Case, places: tuple[Domain, ...]) -> Iterable[tuple[Domain, str, tuple[Warn, ...]]]:
    """Domains in order of load. A socket that was asked for is taken whatever its load."""
    request, by_number = case.request, {place.socket: place for place in places}
    if request.socket is not None:
        return [(by_number[request.socket], "asked for", ())]
    order = load_order(case.survey, by_number, request.busy_threshold)
    busy = (Warn("all-busy", f"all sockets of {case.facts.name} are busier than {request.busy_threshold:.0%}: {case.name} shares its cores with "
                 "other work"),) if all(item[2] for item in order) else ()
    return [(by_number[socket], reason, busy) for socket, reason, _ in order]


def _one_rank(case: Case, places: tuple[Domain, ...]) -> Iterable[Spot]:
    """One rank on one socket, or on the node that was asked for."""
    request = case.request
    for place, reason, warnings in _preferred(case, places):
        if request.numa_node is not None and request.numa_node not in place.nodes:
            continue
        nodes = place.nodes if request.numa_node is None else (request.numa_node,)
        cores = _pick(place, nodes, request.cores)
        if len(cores) > request.reserved_cpus:
            yield Spot((cores,), place.socket, "node asked for" if request.numa_node is not None else reason, warnings + _finer(case, place, cores))


def _pick(place: Domain, nodes: tuple[int, ...], wanted: int | None) -> tuple[Core, ...]:
    """All cores of the nodes, or as many as wanted, from the first node that has so many. Too few: none."""
    pool = tuple(core for core in place.cores if core.node in nodes)
    if wanted is None:
        return pool
    whole = next((place.on(node) for node in nodes if len(place.on(node)) >= wanted), pool)
    return whole[:wanted] if len(whole) >= wanted else ()


def _finer(case: Case, place: Domain, cores: tuple[Core, ...]) -> tuple[Warn, ...]:
    if len({core.node for core in cores}) < 2:
        return ()
    return (Warn("nps", f"socket {place.socket} of {case.facts.name} has {len(place.nodes)} NUMA nodes ({cpu_list(place.nodes)}): one rank counts on the "
                 f"memory of node {cores[0].node} only, its first core's. numaNode binds it to one node, tensorParallelSize: {len(place.nodes)} "
                 "gives each node a rank; both are faster"),)


def _ranks(case: Case, places: tuple[Domain, ...]) -> Iterable[Spot]:
    """One rank for each NUMA node: on one socket where that has enough nodes, else across sockets, with a warning."""
    tp = case.request.tensor_parallel_size
    for place, reason, warnings in _preferred(case, places):
        yield from _spread(case, [(place, node) for node in place.nodes], place.socket, reason, warnings)
    if case.request.socket is None and all(len(place.nodes) < tp for place in places):
        across = Warn("cross-socket", f"{case.name} runs {tp} ranks across the sockets of {case.facts.name}, as tensorParallelSize asks: "
                      "vLLM scales poorly between sockets; one endpoint for each socket is usually faster")
        yield from _spread(case, [(place, node) for place in places for node in place.nodes], None, "across sockets, asked for", (across,))


def _spread(case: Case, nodes: list[tuple[Domain, int]], socket: int | None, reason: str, warnings: tuple[Warn, ...]) -> Iterable[Spot]:
    tp, each = case.request.tensor_parallel_size, (case.request.cores or 0) // case.request.tensor_parallel_size
    fitting = [place.on(node) for place, node in nodes if len(place.on(node)) >= max(1, each)][:tp]
    if len(fitting) == tp:
        size = each or min(map(len, fitting))
        if size * tp - case.request.reserved_cpus >= tp:
            yield Spot(tuple(cores[:size] for cores in fitting), socket, reason, warnings)


def _no_cores(case: Case, places: tuple[Domain, ...]) -> Refusal:
    request, tp = case.request, case.request.tensor_parallel_size
    free = "; ".join(f"socket {place.socket}: {len(place.cores)} free of {_total(case, place)}" for place in places) or "no cores are known"
    if tp > 1:
        needed = f"{tp} NUMA nodes with memory and free cores{'' if request.socket is None else f' on socket {request.socket}'}, one for each rank"
        do = "set tensorParallelSize to the number of free nodes, or the BIOS to more nodes per socket (NPS2, NPS4)"
    else:
        wanted = request.cores or request.reserved_cpus + 1
        where = f" on node {request.numa_node}" if request.numa_node is not None else f" on socket {request.socket}" if request.socket is not None else ""
        needed, do = f"{wanted} free physical cores of one socket{where}", ("give the endpoints of this host fewer cores each (`cores`), a NUMA node each "
                                                                            "(`numaNode`), or put one on another host")
    return Refusal("no-cores", f"{case.name} finds no room on {case.facts.name}", free, needed, do)


def _total(case: Case, place: Domain) -> int:
    return len({(row.socket, row.core) for row in case.facts.cpu.topology if row.socket == place.socket})
