"""Step fit of the Instinct family: does one rank fit a GPU, and which context does the rest hold?

AMD's procedure: of what vLLM may use, the weights and 4 GB for the start (activations, graphs, buffers) come off; at least 6 GB
left for the KV cache is safe, 2 to 6 is worth a try (enforceEager frees a bit more), below 2 it is not tried. The KV cache
must also hold one request of `max_model_len`; where nobody set that, the context is shortened to what fits.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planning.catalog import load_toml
from planning.detect.facts import GpuDevice
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.flags import number
from planning.families.instinct.gpus import free_bytes
from planning.families.instinct.layers import Composed
from planning.families.instinct.measure import Measure, Take
from planning.families.instinct.settings import utilization
from planning.plan import Line, MemoryReport
from planning.resolve.manifest import ModelSupport
from planning.units import GIB, gib


@dataclass(frozen=True)
class Budget:
    """Of one GPU: what vLLM may use, and the share that it is told. `lowered`: less than configured, as others use the GPU."""

    available_bytes: int
    gpu_memory_utilization: float
    lowered: bool
    notes: Notes = Notes()


@dataclass(frozen=True)
class Fit:
    """`context_from`: who limits the context. `left_bytes`: for the KV cache, after weights and reserve."""

    report: MemoryReport
    context_from: str
    left_bytes: int
    budget: Budget
    measure: Measure
    refusals: tuple[Refusal, ...] = ()


def budget(case: Case, gpus: Sequence[GpuDevice], composed: Composed) -> Budget | Refusal:
    """The tightest GPU of a set decides, as every rank is told the same share."""
    share, total = utilization(composed), min(gpu.vram_bytes or 0 for gpu in gpus)
    if not total:
        return Refusal("unknown-fact", f"{case.facts.name} does not tell the VRAM of GPU {gpus[0].index}", "nothing", "bytes of VRAM",
                       "run `amd-smi static --vram --json` on the host")
    known = [free for gpu in gpus if (free := free_bytes(case, gpu)) is not None]
    notes = Notes() if len(known) == len(gpus) else Notes.of(Warn("vram-unknown", f"{case.facts.name} does not tell how much VRAM is free; all of it is assumed"))
    free = min(known, default=total)
    if share * total <= free:
        return Budget(int(share * total), share, False, notes)
    lowered = max(0.0, int((free - GIB // 2) / total * 100) / 100)
    return Budget(int(lowered * total), lowered, True, notes)


def fit(case: Case, support: ModelSupport, composed: Composed, room: Budget, take: Take) -> Fit | Notes:
    """One tensor parallel size judged. Notes when the model's bytes are not known."""
    data = load_toml("instinct.toml")["memory"]
    reserve = data["reserve_gib"] * GIB
    own = support.default_max_model_len or support.max_model_len
    configured = number(composed.flags, "--max-model-len")
    wanted = configured or own
    if wanted is None:
        return Notes.of(Refusal("unknown-fact", f"the context length of {case.manifest.id} is not known", "nothing in config.json", "a number of tokens", "set maxModelLen"))
    first = take(GIB, wanted)
    if first.weights_bytes is None:
        return first.notes + Notes.of(None if first.notes.refusals else Refusal(
            "metadata-missing", f"the size of the weights of {case.manifest.id} is not known", "no safetensors headers, no index", "bytes", "set weightGib"))
    left = room.available_bytes - first.weights_bytes - reserve
    free_choice = case.request.max_model_len is None and "--max-model-len" not in case.request.extra_args
    length = _longest(take, left, wanted, data["smallest_context"]) if free_choice and left > 0 else wanted
    measure = take(max(left, 0), length) if left > 0 else first
    one = _one_request(take, left, length)
    spare = max(0, data["tight_gib"] * GIB - one)
    lines = (Line("weights", first.weights_bytes), Line("kv-cache", one), Line("activations-graphs-runtime", reserve), Line("headroom", spare))
    report = MemoryReport("gpu", room.available_bytes, sum(line.bytes for line in lines), lines, first.weights_bytes, max(left, 0),
                          measure.kv_cache_tokens if left > 0 else 0, measure.max_concurrency if left > 0 else 0.0, length)
    source = "maxModelLen" if case.request.max_model_len else composed.source.get("--max-model-len", "the model") if configured == length else "the model"
    return Fit(report, "what fits the KV cache" if length < wanted else source, left, room, replace(measure, notes=first.notes))


def _one_request(take: Take, left: int, length: int) -> int:
    """Bytes of the KV cache that one request of `length` tokens takes."""
    probe = max(left, 8 * GIB)
    held = take(probe, length).max_concurrency
    while not held and probe < 1 << 50:
        probe *= 8
        held = take(probe, length).max_concurrency
    return -(-int(probe / held) // 1) if held else probe


def _longest(take: Take, left: int, wanted: int, smallest: int) -> int:
    """The longest context up to `wanted` of which one request fits, in steps of 256 tokens; at least `smallest`."""
    if (take(left, wanted).max_concurrency or 0) >= 1:
        return wanted
    low, high, step = min(smallest, wanted), wanted, 256
    while high - low > step:
        middle = (low + high) // 2 // step * step
        low, high = (middle, high) if (take(left, middle).max_concurrency or 0) >= 1 else (low, middle)
    return max(low // step * step, min(smallest, wanted))


def fits(found: Fit) -> bool:
    return found.report.required_bytes <= found.report.available_bytes and not found.measure.notes.refusals


def words(found: Fit) -> str:
    """The lines of the report, for a refusal."""
    return ", ".join(f"{line.name} {gib(line.bytes)}" for line in found.report.lines)
