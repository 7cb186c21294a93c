"""Cores, sockets, ports and addresses that are free on a host, from its facts, its survey and what others claim.

Gives `Domain`s (a socket with the physical cores that may be used there), the port and the address an endpoint binds to.
Which domain a family takes, and whether the memory there is enough, is the family's decision.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planning.addresses import ip
from planning.detect.facts import HostFacts, HostSurvey, LogicalCpu
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.units import cpu_list

FIRST_PORT = 8000


@dataclass(frozen=True)
class Core:
    """A physical core and the one logical CPU of it that is used."""

    cpu: int
    socket: int
    node: int


@dataclass(frozen=True)
class Domain:
    """A socket: its nodes that have memory, and its cores that may be used now, ascending."""

    socket: int
    nodes: tuple[int, ...]
    cores: tuple[Core, ...]

    def on(self, node: int) -> tuple[Core, ...]:
        return tuple(core for core in self.cores if core.node == node)


def node_memory(facts: HostFacts) -> Mapping[int, int | None]:
    """Bytes of each NUMA node; on a host with one node, MemTotal stands in where the node's size is not told."""
    sizes = {node.node: node.memory_bytes for node in facts.cpu.nodes} or {row.node or 0: None for row in facts.cpu.topology}
    if len(sizes) == 1 and None in sizes.values():
        return dict.fromkeys(sizes, facts.memory.total_bytes)
    return sizes


def domains(facts: HostFacts, taken: frozenset[int]) -> tuple[Domain, ...]:
    """All sockets of the host. A core is usable when it is on line, allowed, not isolated, and no thread of it is `taken`."""
    memory = node_memory(facts)
    sockets: dict[int, list[Core]] = {}
    for row, threads in _cores(facts):
        number = _socket(facts, row)
        socket = sockets.setdefault(number, [])
        usable = [cpu for cpu in threads if _allowed(facts, cpu)]
        if usable and not taken & set(threads) and memory.get(row.node or 0) != 0:
            socket.append(Core(usable[0], number, row.node or 0))
    owners: dict[int, set[int]] = {}
    for row in facts.cpu.topology:
        owners.setdefault(_socket(facts, row), set()).add(row.node or 0)
    return tuple(Domain(socket, tuple(n for n in sorted(owners[socket]) if memory.get(n) != 0), tuple(sorted(cores, key=lambda c: c.cpu)))
                 for socket, cores in sorted(sockets.items()))


def _cores(facts: HostFacts) -> Iterable[tuple[LogicalCpu, tuple[int, ...]]]:
    threads: dict[tuple[int, int], list[LogicalCpu]] = {}
    for row in facts.cpu.topology:
        threads.setdefault((row.socket, row.core), []).append(row)
    for rows in threads.values():
        rows.sort(key=lambda row: row.cpu)
        yield rows[0], tuple(row.cpu for row in rows)


def _allowed(facts: HostFacts, cpu: int) -> bool:
    return (facts.cpu.allowed is None or cpu in facts.cpu.allowed) and cpu not in facts.cpu.isolated


def _socket(facts: HostFacts, row: LogicalCpu) -> int:
    """A virtual machine that shows every CPU as a socket of its own, on one node, is one socket."""
    virtual = facts.cpu.hypervisor is not None and facts.cpu.cores_per_socket == 1 and (facts.cpu.sockets or 1) > 1
    return min(r.socket for r in facts.cpu.topology if r.node == row.node) if virtual else row.socket


def threads_of(facts: HostFacts, cpus: Iterable[int]) -> frozenset[int]:
    """The given logical CPUs and their siblings: who holds one thread of a core holds the core."""
    wanted = set(cpus)
    return frozenset(cpu for _, threads in _cores(facts) if wanted & set(threads) for cpu in threads) | wanted


def nodes_of(facts: HostFacts, cpus: Iterable[int]) -> tuple[int, ...]:
    """The NUMA nodes of logical CPUs, ascending."""
    where = {row.cpu: row.node or 0 for row in facts.cpu.topology}
    return tuple(sorted({where[cpu] for cpu in cpus if cpu in where}))


def port_of(case: Case, own: int | None) -> tuple[int, Notes]:
    """The port asked for, the one it has (`own`), or the first free one from 8000."""
    wanted, taken = case.request.port, case.claims.ports | set(case.survey.used_ports or ())
    if wanted is not None:
        return wanted, Notes.of(*_port_taken(case, wanted, taken), None if wanted == own else _port_unknown(case))
    if own is not None and own not in taken:
        return own, Notes()
    port = _first_free(taken)
    return port, Notes.of(_port_unknown(case), None if own is None else Warn(
        "moved", f"{case.name} leaves port {own} of {case.facts.name}, which is in use by another, for {port}"))


def name_of(case: Case) -> Notes:
    """A container of the endpoint's name that is not ours is somebody else's, and stays."""
    found = next((c for c in case.survey.containers if c.name == case.container_name and c.stack == case.stack and c.endpoint == case.name), None)
    ours = found is not None and found.made_by(case.stack, case.owner)
    if case.previous or ours or case.container_name not in case.survey.container_names:
        return Notes()
    whose = f"{case.container_name}, made by another stack of the name {case.stack}" if found else case.container_name
    return Notes.of(Refusal("name-taken", f"{case.facts.name} has a container {case.container_name} that this stack did not make", whose, "a free name",
                            "rename the endpoint or the stack, or remove that container yourself if nobody needs it: "
                            f"`docker rm -f {case.container_name}`"))


def _first_free(taken: Iterable[int]) -> int:
    return next(port for port in range(FIRST_PORT, 65536) if port not in taken)


def _port_taken(case: Case, port: int, taken: Iterable[int]) -> tuple[Refusal, ...]:
    if port not in taken:
        return ()
    by = "another endpoint of this stack or host" if port in case.claims.ports else "a process that listens there"
    return (Refusal("port-taken", f"port {port} on {case.facts.name} is in use", f"{port}, held by {by}", "a free TCP port",
                    f"set port: {_first_free(taken)}, or leave the key out and a free port is chosen"),)


def _port_unknown(case: Case) -> Warn | None:
    return None if case.survey.used_ports is not None else Warn(
        "port-unknown", f"{case.facts.name} does not say which ports are in use; if the port is taken the start fails and says so")


def address_of(case: Case) -> tuple[str, Notes]:
    """The address the server binds to: the key, loopback on a local host, else where our SSH connection arrived."""
    address, notes = case.request.bind_address, Notes()
    if address is None and (case.local or not case.facts.ssh_address):
        address = "127.0.0.1"
        notes = Notes() if case.local else Notes.of(Warn("bind-unknown", f"{case.facts.name} does not say at which address it is reached, "
                                                         "so the server listens on its loopback only; set bindAddress"))
    elif address is not None and is_loopback(address) and not case.local and not case.advertise_address:
        notes = Notes.of(Warn("bind-loopback", f"{case.name} listens on {address} of {case.facts.name} only: reach it through a forward "
                              f"(ssh -L), or say where a proxy serves it (advertiseAddress of the host)"))
    address = address or case.facts.ssh_address
    if not is_loopback(address) and not case.has_api_key:
        notes += Notes.of(Warn("open-endpoint", f"{case.name} listens on {address} without an API key: everybody who reaches it can use it "
                               "(set amd-vllm:apiKeys, or bindAddress: 127.0.0.1). A key does not close every route of vLLM either"))
    return address, notes


def is_loopback(address: str) -> bool:
    found = ip(address)
    return found is not None and found.is_loopback


def load_order(survey: HostSurvey, sockets: Iterable[int], threshold: float) -> tuple[tuple[int, str, bool], ...]:
    """Sockets in order of preference, each with its reason and whether it is busy: free ones by number, then by load."""
    load = {socket: survey.socket_load.get(socket) for socket in sockets}
    free = [s for s in sorted(load) if (load[s] or 0.0) < threshold]
    busy = sorted((s for s in load if s not in free), key=lambda s: (load[s], s))
    only = len(load) == 1
    return tuple((s, "the only socket" if only else "load unknown" if load[s] is None else f"free, {load[s]:.0%} busy", False) for s in free) + tuple(
        (s, f"{'the only socket' if only else 'least busy'}, {load[s]:.0%} busy", True) for s in busy)


def listed(cores: Iterable[Core]) -> str:
    """Cores as a CPU list."""
    return cpu_list(core.cpu for core in cores)
