"""Decides the CPU facts of a host: identity, counts, instruction sets, NUMA nodes, from everything that was recorded about them.

From sorted sources and the ledger, giving `Cpu`. Each value is the best witness's (planning/detect/witnesses.py).
"""
from __future__ import annotations

from collections import Counter
from typing import Any

from planning.detect import cpuinfo, lscpu, lscpu_rows, sys_cpu, tables
from planning.detect.cpu_nodes import node_facts
from planning.detect.facts import Cpu, LogicalCpu
from planning.detect.flags import Flags
from planning.detect.generation import Identity, identify
from planning.detect.rocminfo import cpu_agents
from planning.detect.sources import Source
from planning.detect.text import clean
from planning.detect.witnesses import Ledger

PLAIN = ("vendor", "model_name", "cpu_family", "cpu_model", "stepping", "sockets", "cores_per_socket", "threads_per_core",
         "numa_nodes", "cpus_online", "cpus")
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni")


def read_cpu(sources: dict[str, list[Source]], ledger: Ledger) -> Cpu:
    """The CPU part of the facts; what no source tells is None."""
    parsed = _parse_all(sources, ledger)
    rows = _rows(sources, ledger)
    _say_agents(sources, ledger)
    online = _say_lists(sources, parsed, ledger)
    who = identify(*(ledger.take(f"cpu.{key}") for key in ("vendor", "model_name", "cpu_family", "cpu_model", "stepping")))
    if who.conflict:
        ledger.warn("cpu-name-disagrees", who.conflict)
    if who.why:
        ledger.chosen["cpu.generation"] = f"{ledger.chosen.get('cpu.cpu_family') or ledger.chosen.get('cpu.model_name')} ({who.why})"
    _say_threads(ledger)
    hypervisor = _hypervisor(parsed)
    nodes = node_facts(sources, parsed, rows, ledger, online, hypervisor)
    _say_all_cpus(ledger)
    allowed, isolated = _allowed(sources)
    taken = {key: ledger.take(f"cpu.{key}") for key in PLAIN if key not in {"stepping", "numa_nodes"}}
    return Cpu(**taken, is_epyc=who.is_epyc, generation=who.generation, zen=who.zen, numa_nodes=nodes.count, hypervisor=hypervisor,
               nodes=nodes.nodes, topology=nodes.rows, allowed=allowed, isolated=isolated,
               **_instruction_sets(parsed, who, hypervisor, ledger))


def _parse_all(sources: dict[str, list[Source]], ledger: Ledger) -> list[tuple[Source, dict[str, Any]]]:
    """lscpu and cpuinfo parsed; what they say about plain fields goes into the ledger."""
    parsed: list[tuple[Source, dict[str, Any]]] = []
    for source in sources.get("lscpu", []):
        is_json = clean(source.text).lstrip().startswith(("{", "["))
        fields = lscpu.parse_json(source.text) if is_json else lscpu.parse_text(source.text)
        parsed.append((Source(source.name, "lscpu-json" if is_json else "lscpu", source.text), fields))
    for source in sources.get("cpuinfo", []):
        parsed.append((source, cpuinfo.parse(source.text)))
    for source, fields in parsed:
        for key in PLAIN:
            ledger.say(f"cpu.{key}", fields.get(key), source.name, source.subject)
    return parsed


def _rows(sources: dict[str, list[Source]], ledger: Ledger) -> tuple[LogicalCpu, ...]:
    for source in sources.get("lscpu-p", []):
        rows = lscpu_rows.parse(source.text)
        if rows:
            cores = Counter((row.socket, row.core) for row in rows)
            per_socket = Counter(socket for socket, _ in cores)
            told = {"cpus_online": len(rows), "sockets": len(per_socket), "threads_per_core": max(cores.values()),
                    "cores_per_socket": max(per_socket.values())}
            for key, value in told.items():
                ledger.say(f"cpu.{key}", value, source.name, "lscpu-p")
            return rows
    return ()


def _say_agents(sources: dict[str, list[Source]], ledger: Ledger) -> None:
    """rocminfo's CPU agents tell the name, and sockets only if one agent holds all threads that the product has.

    Several files of one host complete each other: one may be cut, another may only list names.
    """
    names: set[str] = set()
    units: set[int] = set()
    whole, probe = 0, ""
    for source in sources.get("rocminfo", []):
        agents = cpu_agents(source.text)
        names |= {agent["name"] for agent in agents if agent.get("name")}
        units |= {agent["compute_units"] for agent in agents if agent.get("compute_units")}
        if agents and agents[0]["whole"] and len(agents) > whole:
            whole, probe = len(agents), source.name
        for name in {agent["name"] for agent in agents}:
            ledger.say("cpu.model_name", name, source.name, "rocminfo")
    cores = identify(None, names.pop(), None, None).cores_in_name if len(names) == 1 else None
    if cores and whole and units == {2 * cores}:
        ledger.say("cpu.sockets", whole, probe, "rocminfo")
        ledger.say("cpu.threads_per_core", 2, probe, "rocminfo")


def _say_threads(ledger: Ledger) -> None:
    """More on-line CPUs than cores prove a second thread: lscpu says 1 when a single sibling is off line."""
    sockets, cores, told, online = (ledger.take(f"cpu.{key}") for key in ("sockets", "cores_per_socket", "threads_per_core", "cpus_online"))
    seen = any(said.subject == "lscpu-p" for said in ledger.said.get("cpu.threads_per_core", []))
    if sockets and cores and told and online and online > sockets * cores * told and not seen:
        ledger.say("cpu.threads_per_core", -(-online // (sockets * cores)), "arithmetic of cpus_online, sockets and cores", "arithmetic")


def _say_all_cpus(ledger: Ledger) -> None:
    """If as many CPUs run as sockets, cores and threads make, those are all there are."""
    sockets, cores, threads, online = (ledger.take(f"cpu.{key}") for key in ("sockets", "cores_per_socket", "threads_per_core", "cpus_online"))
    if sockets and cores and threads and online == sockets * cores * threads and "cpu.cpus" not in ledger.said:
        ledger.say("cpu.cpus", online, "arithmetic of sockets, cores and threads", "derived")


def _say_lists(sources: dict[str, list[Source]], parsed: list[tuple[Source, dict[str, Any]]], ledger: Ledger) -> tuple[int, ...] | None:
    """On-line CPUs by number, if somebody lists them; their count and that of all CPUs go into the ledger."""
    lists: tuple[int, ...] | None = None
    for source in sources.get("sys-cpu", []):
        told = sys_cpu.parse_sys_cpu(source.text)
        if told.get("online"):
            lists = told["online"]
            ledger.say("cpu.cpus_online", len(lists), source.name, "sys-cpu")
            if told.get("present"):
                ledger.say("cpu.cpus", len(set(told["present"]) | set(lists)), source.name, "sys-cpu")
    for source, fields in parsed:
        if fields.get("online"):
            ledger.say("cpu.cpus_online", len(fields["online"]), source.name, source.subject)
            lists = lists or fields["online"]
            if fields.get("offline"):
                ledger.say("cpu.cpus", len(set(fields["online"]) | set(fields["offline"])), source.name, source.subject)
    return lists


def _hypervisor(parsed: list[tuple[Source, dict[str, Any]]]) -> str | None:
    """The vendor that lscpu names, or 'unidentified' when only the CPU flag tells of one."""
    named = next((fields["hypervisor"] for _, fields in parsed if fields.get("hypervisor")), None)
    flagged = any(isinstance(fields.get("flags"), Flags) and fields["flags"].has("hypervisor") for _, fields in parsed)
    return named or ("unidentified" if flagged else None)


def _instruction_sets(parsed: list[tuple[Source, dict[str, Any]]], who: Identity, hypervisor: str | None,
                      ledger: Ledger) -> dict[str, bool | None]:
    """What the flags say. Silicon that is known by its full name and not virtual answers where the flags are missing or cut.

    A list of flags that is there, even cut, is only completed by a "no": firmware can take features away, not add them.
    """
    silicon = tables.instruction_sets(who.zen) if who.zen and who.sku and who.cores_in_name and not hypervisor else {}
    sets: dict[str, bool | None] = {}
    for name in INSTRUCTION_SETS:
        listed = [(source, fields["flags"].has(name)) for source, fields in parsed if fields.get("flags")]
        sure = next(((source, value) for source, value in listed if value is not None), None)
        if sure:
            sets[name] = sure[1]
            ledger.chosen[f"cpu.{name}"] = sure[0].name
        else:
            from_table = silicon.get(name)
            sets[name] = from_table if not listed or from_table is False else None
            if sets[name] is not None:
                ledger.chosen[f"cpu.{name}"] = f"data/{tables.CPU} (Zen {who.zen})"
    return sets


def _allowed(sources: dict[str, list[Source]]) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """CPUs that the session may use (affinity and every cpuset up the tree), and isolated ones."""
    allowed: set[int] | None = None
    isolated: set[int] = set()
    for source in sources.get("self-status", []):
        told = sys_cpu.parse_allowed(source.text)
        allowed = set(told) if told else allowed
    for source in sources.get("cgroup", []):
        told = sys_cpu.parse_cgroup(source.text)[1]
        if told:
            allowed = set(told) if allowed is None else allowed & set(told)
    for source in sources.get("sys-cpu", []):
        lists = sys_cpu.parse_sys_cpu(source.text)
        isolated |= set(lists.get("isolated", ())) | set(lists.get("nohz_full", ()))
    return (tuple(sorted(allowed)) if allowed else None), tuple(sorted(isolated))

