"""Step fit of the Instinct family: does one rank fit a GPU, and which context does the rest hold?

AMD's procedure: of what vLLM may use, the weights and 4 GB for the start (activations, graphs, buffers) come off; at least 6 GB
left for the KV cache is safe, 2 to 6 is worth a try (enforceEager frees a bit more), below 2 it is not tried. The KV cache
must also hold one request of `max_model_len`; where nobody set that, the context is shortened to what fits.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planning.catalog import load_toml
from planning.detect.facts import GpuDevice
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.flags import number
from planning.families.instinct.gpus import before, free_bytes, kept_share
from planning.families.instinct.layers import Composed
from planning.families.instinct.measure import Cache, Measure
from planning.families.instinct.settings import utilization
from planning.fit.budget import gpu_lines, required_bytes
from planning.plan import Line, MemoryReport
from planning.resolve.manifest import ModelSupport
from planning.units import GIB, gib

CONTEXT_STEP = 256


@dataclass(frozen=True)
class Budget:
    """Of one GPU: what vLLM may use, and the share that it is told. `lowered`: less than configured, as others use the GPU."""

    available_bytes: int
    gpu_memory_utilization: float
    lowered: bool
    notes: Notes = Notes()


@dataclass(frozen=True)
class Fit:
    """One size judged. `limited`: the context is shorter than wanted. `left_bytes`: for the KV cache, after weights and reserve."""

    report: MemoryReport
    limited: bool
    left_bytes: int
    budget: Budget
    notes: Notes

    @property
    def fits(self) -> bool:
        return self.report.required_bytes <= self.report.available_bytes and not self.notes.refusals

    @property
    def words(self) -> str:
        """The lines of the report, for a refusal."""
        return ", ".join(f"{line.name} {gib(line.bytes)}" for line in self.report.lines)


def budget(case: Case, gpus: Sequence[GpuDevice], composed: Composed) -> Budget | Refusal:
    """The tightest GPU of a set decides, as every rank is told the same share."""
    share, total = utilization(composed), min(gpu.vram_bytes or 0 for gpu in gpus)
    kept = kept_share(case) if {gpu.index for gpu in gpus} == before(case) else None
    if not total:
        return Refusal("unknown-fact", f"{case.facts.name} does not tell the VRAM of GPU {gpus[0].index}", "nothing", "bytes of VRAM",
                       "run `amd-smi static --vram --json` on the host")
    if kept is not None and kept < share:
        return Budget(int(kept * total), kept, True)
    known = [free for gpu in gpus if (free := free_bytes(case, gpu)) is not None]
    notes = Notes.of(None if len(known) == len(gpus) else Warn(
        "vram-unknown", f"{case.facts.name} does not tell how much VRAM is free; all of it is assumed"))
    free = min(known, default=total)
    if share * total <= free:
        return Budget(int(share * total), share, False, notes)
    lowered = max(0.0, int((free - GIB // 2) / total * 100) / 100)
    return Budget(int(lowered * total), lowered, True, notes)


def fit(case: Case, support: ModelSupport, composed: Composed, room: Budget, measure: Measure, known: int | None = None) -> Fit | Notes:
    """One tensor parallel size judged; Notes when there is nothing to judge it by. `known`: the recipe's context length."""
    wanted = number(composed.flags, "--max-model-len") or support.default_max_model_len or support.max_model_len or known
    if measure.weights_bytes is None:
        return measure.notes + Notes.of(None if support.refusals else _unknown(
            case, "the size of the weights", "set weightGib, or check that the model's files can be read"))
    if wanted is None:
        return measure.notes + Notes.of(_unknown(case, "the context length", "set maxModelLen"))
    beside = gpu_lines(weights_bytes=measure.weights_bytes, kv_cache_bytes=0, activation_bytes=_activations(measure),
                       enforce_eager=bool(composed.flags.get("--enforce-eager")))
    left = room.available_bytes - required_bytes(beside)
    length, cache = _context(case, measure, left, wanted, load_toml("instinct.toml")["memory"]["smallest_context"])
    report = _report(room, measure, cache, beside, length)
    return Fit(report, length < wanted, left, room, room.notes + measure.notes + cache.notes)


def _context(case: Case, measure: Measure, left: int, wanted: int, smallest: int) -> tuple[int, Cache]:
    """The context, and what the cache makes of it: as wanted, or shortened where nobody insists, in steps of 256 tokens."""
    cache = measure.cache(max(left, 0), wanted)
    insisted = case.request.max_model_len is not None or cache.one_request_bytes is None
    if insisted or cache.one_request_bytes <= left:
        return wanted, cache
    length = max((cache.longest or 0) // CONTEXT_STEP * CONTEXT_STEP, min(smallest, wanted))
    return length, measure.cache(max(left, 0), length)


def _activations(measure: Measure) -> int:
    """The estimate of the activations, within the procedure's reserve: they are not counted twice."""
    data = load_toml("memory-budget.toml")["gpu"]
    return min(measure.activation_bytes, data["reserve_bytes"] - data["graph_bytes"])


def _report(room: Budget, measure: Measure, cache: Cache, beside: tuple[Line, ...], length: int) -> MemoryReport:
    """One request of the context must fit, and the least that the procedure wants for the KV cache."""
    one, least = cache.one_request_bytes or 0, load_toml("memory-budget.toml")["gpu"]["tight_bytes"]
    sizes = {"kv-cache": one, "headroom": max(0, least - one)}
    lines = tuple(Line(line.name, sizes.get(line.name, line.bytes)) for line in beside)
    left = max(0, room.available_bytes - required_bytes(beside))
    return MemoryReport("gpu", room.available_bytes, required_bytes(lines), lines, measure.weights_bytes, left, cache.tokens, cache.max_concurrency, length)


def _unknown(case: Case, what: str, do: str) -> Refusal:
    return Refusal("metadata-missing", f"{what} of {case.manifest.id} is not known", "nothing that tells it",
                   "config.json, and headers or an index of the weights", do)
