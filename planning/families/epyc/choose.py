"""Steps fit and place of the EPYC family together: the first spot, in order of preference, where the model fits."""
from __future__ import annotations

from dataclasses import replace

from planning.catalog import load_toml
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case, Choice
from planning.families.epyc.fit import Fit, fit
from planning.families.epyc.spots import Spot, spots
from planning.place import node_memory
from planning.plan import Engine
from planning.resolve.manifest import ModelSupport


def choose(case: Case, engine: Engine, support: ModelSupport) -> tuple[Choice | None, Notes]:
    """Where it goes and what it needs there; with the numbers of the best spot when it fits nowhere."""
    unknown = _unknown(case)
    if unknown.refusals:
        return None, unknown
    length, lengths = max_model_len(case, support)
    places, found = spots(case)
    if not places:
        return None, lengths + found
    spot, best = _first_fit(case, engine, support, places, length)
    if spot.kept and not best.fits:
        spot, best, moved = _elsewhere(case, engine, support, length, spot, best)
        found += moved
    tuning = {"kv_cache_gib": best.kv_cache_gib, "max_model_len": length}
    return Choice(spot.placement(case.request.reserved_cpus), best.report, tuning), lengths + found + Notes(warnings=spot.warnings) + best.notes


def _first_fit(case: Case, engine: Engine, support: ModelSupport, places: tuple[Spot, ...], length: int) -> tuple[Spot, Fit]:
    """The first place that fits; the first of all when none does."""
    first = None
    for spot in places:
        result = fit(case, engine, support, spot, length)
        if result.fits:
            return spot, result
        first = first or (spot, result)
    return first


def _elsewhere(case: Case, engine: Engine, support: ModelSupport, length: int, spot: Spot, best: Fit) -> tuple[Spot, Fit, Notes]:
    """An endpoint whose place became too small moves if there is room, and says so."""
    places, _ = spots(replace(case, previous=None))
    other, result = _first_fit(case, engine, support, places, length) if places else (spot, best)
    if not result.fits:
        return spot, best, Notes()
    return other, result, Notes.of(Warn("moved", f"{case.name} leaves node {spot.node_of_rank(0)} of {case.facts.name}: it does not fit there any more"))


def _unknown(case: Case) -> Notes:
    """Facts without which nothing can be placed."""
    host, memory = case.facts.name, node_memory(case.facts)
    used = {row.node or 0 for row in case.facts.cpu.topology}
    return Notes.of(
        None if case.facts.cpu.topology else Refusal("unknown-fact", f"{host} does not tell which CPUs share a core, a socket and a node", "nothing",
                                                     "one line for each logical CPU", "record `lscpu -p=CPU,CORE,SOCKET,NODE` of the host"),
        Refusal("unknown-fact", f"{host} does not tell the memory of its NUMA nodes", "nothing", "bytes for each node",
                "record `numactl --hardware` (or /proc/meminfo, on a host with one node)")
        if any(memory.get(node) is None for node in used) or not used and case.facts.memory.total_bytes is None else None)


def max_model_len(case: Case, support: ModelSupport) -> tuple[int, Notes]:
    """`maxModelLen`, else the procedure's default within the model's own limit."""
    asked, limit = case.request.max_model_len, support.max_model_len
    if asked is None:
        default = load_toml("epyc.toml")["defaults"]["max_model_len"]
        return (min(default, limit) if limit else default), Notes()
    too_long = limit is not None and asked > limit
    return asked, Notes.of(Refusal("length", f"maxModelLen of {case.name} is longer than the model allows", f"{asked} tokens", f"at most {limit} tokens",
                                   f"set maxModelLen: {limit}") if too_long else None)
