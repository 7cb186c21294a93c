"""Step fit of the EPYC family: does a rank's budget fit the memory of the NUMA node it looks at, and with how much KV cache?

From a spot, the model and what others hold there, giving the `MemoryReport` and the KV space in whole GiB. vLLM's worker
compares the KV space with the node of its first CPU (and with the cgroup limit), so that is what is available here.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planning.errors import Notes, Refusal
from planning.families.base import Case
from planning.families.epyc.measure import Measure, measured
from planning.families.epyc.spots import Spot
from planning.fit.cpu_budget import default_kv_bytes, headroom_bytes
from planning.place import node_memory
from planning.plan import Engine, MemoryReport
from planning.resolve.manifest import ModelSupport
from planning.units import GIB, gib


@dataclass(frozen=True)
class Fit:
    """`report` None: the bytes of the model are not known."""

    report: MemoryReport | None
    kv_cache_gib: int
    notes: Notes

    @property
    def fits(self) -> bool:
        return self.report is not None and not self.notes.refusals


def available_bytes(case: Case, spot: Spot, rank: int = 0) -> int:
    """What a rank may use: its node, less the claims there, less strangers above the headroom, within the cgroup limit.

    The headroom stands for the system and what idles beside it, so a stranger counts with what exceeds it. An endpoint
    that keeps its place is judged by facts and claims alone.
    """
    node, ranks = spot.node_of_rank(rank), len(spot.ranks)
    total = node_memory(case.facts)[node] or 0
    free = total - case.claims.node_bytes.get(node, 0) - (0 if spot.kept else _strangers(case, node, total))
    limit = case.facts.memory.limit_bytes
    if limit is not None:
        free = min(free, (limit - sum(case.claims.node_bytes.values())) // ranks)
    return max(0, free)


def _strangers(case: Case, node: int, total: int) -> int:
    survey = case.survey
    alone = len(node_memory(case.facts)) == 1
    now = survey.node_available_bytes.get(node, survey.available_bytes if alone else None)
    if now is None:
        return 0
    ours = sum(c.memory_bytes or 0 for c in survey.containers if c.running and c.node == node)
    return max(0, total - now - ours - headroom_bytes())


def fit(case: Case, engine: Engine, support: ModelSupport, spot: Spot, max_model_len: int) -> Fit:
    """The budget on the tightest rank. Without `kvCacheGib` the KV space shrinks until all fits, down to what the requests need."""
    available = min(available_bytes(case, spot, rank) for rank in range(len(spot.ranks)))
    take = measured(case, engine, support, len(spot.ranks), max_model_len)
    if isinstance(take, Notes):
        return Fit(None, 0, take)
    wanted = case.request.kv_cache_gib or (_kept_kv_gib(case) if spot.kept else None) or default_kv_bytes(available) // GIB
    needed = _needed_gib(take, case.request.concurrency)
    kv = wanted if case.request.kv_cache_gib else _shrunk(take, max(wanted, needed), needed, available)
    measure = take(kv)
    report = _report(case, spot, measure, available, kv, max_model_len)
    said = Notes(warnings=measure.capacity.warnings)
    return Fit(report, kv, said + Notes.of(_too_much(case, spot, report), _too_few(case, spot, kv, needed, measure, max_model_len)))


def _kept_kv_gib(case: Case) -> int | None:
    """The KV space that an endpoint has by default since it was placed: later neighbours do not shrink it."""
    launch = (case.previous or {}).get("launch") or {}
    if launch.get("flags_from", {}).get("VLLM_CPU_KVCACHE_SPACE") != "default":
        return None
    return int(launch["environment"]["VLLM_CPU_KVCACHE_SPACE"])


def _needed_gib(take: Callable[[int], Measure], concurrency: int) -> int:
    """The smallest KV space, in GiB, that holds `concurrency` requests of full length at once."""
    needed = max(1, -(-take(1).capacity.one_request_bytes * concurrency // GIB) - 1)
    while (take(needed).capacity.max_concurrency or concurrency) < concurrency or take(needed).capacity.one_request_bytes > needed * GIB:
        needed += 1
    return needed


def _shrunk(take: Callable[[int], Measure], wanted: int, needed: int, available: int) -> int:
    over = sum(line.bytes for line in take(wanted).lines) - available
    return max(needed, wanted - max(0, -(-over // GIB)))


def _report(case: Case, spot: Spot, measure: Measure, available: int, kv_gib: int, max_model_len: int) -> MemoryReport:
    lines, found = measure.lines, measure.capacity
    nodes_per_socket = len({row.node for row in case.facts.cpu.topology if row.socket == spot.ranks[0][0].socket})
    return MemoryReport("socket" if nodes_per_socket == 1 else "numa-node", available, sum(line.bytes for line in lines), lines,
                        found.weights_bytes_per_rank, kv_gib * GIB, found.kv_cache_tokens, found.max_concurrency, max_model_len)


def _too_much(case: Case, spot: Spot, report: MemoryReport) -> Refusal | None:
    if report.required_bytes <= report.available_bytes:
        return None
    parts = ", ".join(f"{line.name} {gib(line.bytes)}" for line in report.lines)
    return Refusal("memory", f"{case.request.model or case.manifest.id} does not fit node {spot.node_of_rank(0)} of {case.facts.name}",
                   f"{gib(report.available_bytes)} available ({report.available_bytes} bytes)",
                   f"{gib(report.required_bytes)} ({report.required_bytes} bytes): {parts}",
                   "lower maxModelLen, concurrency or kvCacheGib, choose a smaller model, or a host with more memory per node")


def _too_few(case: Case, spot: Spot, kv: int, needed: int, measure: Measure, max_model_len: int) -> Refusal | None:
    if kv >= needed:
        return None
    return Refusal("memory", f"the KV cache of {case.name} on {case.facts.name} is too small",
                   f"{kv} GiB hold {measure.capacity.max_concurrency or 0:.2f} requests of {max_model_len} tokens",
                   f"{needed} GiB for {case.request.concurrency} at once", f"set kvCacheGib: {needed}, or lower maxModelLen or concurrency")
