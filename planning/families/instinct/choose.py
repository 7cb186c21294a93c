"""Steps fit and place together: the smallest tensor parallel size that fits, on the best set of GPUs for it.

From the case, the engine and the judged model, giving a `Choice`. An endpoint keeps its GPUs while they are valid: a set that
it had comes first among equals. Sizes go up; the first one that fits is taken.
"""
from __future__ import annotations

from dataclasses import dataclass

from planning.catalog import load_toml
from planning.detect.facts import GpuDevice
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case, Choice
from planning.families.instinct.fit import Fit, budget, fit
from planning.families.instinct.gpus import before, instincts, is_free, same_model, sets
from planning.families.instinct.layers import Composed
from planning.families.instinct.measure import measured
from planning.families.instinct.model import Wanted, wanted
from planning.families.instinct.precision import alternatives, bits
from planning.families.instinct.settings import settings
from planning.families.instinct.sizes import asked
from planning.fit.budget import left_for_kv
from planning.plan import Engine, Placement
from planning.resolve.manifest import ModelSupport
from planning.units import cpu_list, gib


@dataclass(frozen=True)
class Attempt:
    """One size on one set of GPUs."""

    gpus: tuple[GpuDevice, ...]
    fit: Fit


def choose(case: Case, engine: Engine, support: ModelSupport) -> tuple[Choice | None, Notes]:
    """The choice, or why there is none. A choice that does not fit is returned with its report and a refusal."""
    gpus, model = instincts(case), wanted(case)[0]
    if not gpus or gpus[0].gfx is None or len(gpus) < len(case.request.gpus or ()):
        return None, Notes()                        # the gates have said so
    if model.manifest.config is None and case.request.weight_gib is None:
        return None, Notes.of(None if case.manifest.refusals else Refusal(
            "metadata-missing", f"the config.json of {model.manifest.id} was not read", "nothing", "its config.json",
            "check the model's name and access to the Hub"))
    composed = settings(case, model, engine, gpus[0])
    sizes, problem = asked(case, model, composed, len(gpus))
    too_long = _too_long(case, support, composed)
    if problem or too_long:
        return None, Notes.of(problem, too_long)
    had = len(before(case))
    if had in sizes and same_model(case, model.match.model):
        sizes = (had, *(size for size in sizes if size != had))
    best, notes = _try(case, engine, support, model, composed, gpus, sizes)
    if best is None:
        return None, notes
    if best.fit.fits:
        return _choice(case, best, composed), notes + Notes.of(*_remarks(case, best))
    return _choice(case, best, composed), notes + Notes.of(None if best.fit.notes.refusals else _too_much(case, model, best, gpus))


def _try(case: Case, engine: Engine, support: ModelSupport, model: Wanted, composed: Composed, gpus: tuple[GpuDevice, ...],
         sizes: tuple[int, ...]) -> tuple[Attempt | None, Notes]:
    """The first attempt that fits, else the largest one; without any the GPUs are taken."""
    last = None
    for chosen in (chosen for size in sizes for chosen in _worth_trying(case, sets(case, gpus, size))):
        room = budget(case, chosen, composed)
        if isinstance(room, Refusal):
            return None, Notes.of(room)
        measure = measured(case, model, engine, support, composed, len(chosen), chosen[0].vram_bytes or 0)
        result = fit(case, support, composed, room, measure, model.match.record.get("context_length"))
        if isinstance(result, Notes):
            return None, result
        last = Attempt(chosen, result)
        if result.fits:
            break
    return (last, last.fit.notes) if last else (None, Notes.of(_taken(case, gpus, sizes)))


def _worth_trying(case: Case, found: list[tuple[GpuDevice, ...]]) -> list[tuple[GpuDevice, ...]]:
    """The best set; behind the set that the endpoint has, the best other one."""
    kept = bool(found) and {gpu.index for gpu in found[0]} == before(case)
    return found[:2] if kept else found[:1]


def _too_long(case: Case, support: ModelSupport, composed: Composed) -> Refusal | None:
    """vLLM refuses a context beyond the model's own, unless a variable allows it."""
    asked_for, own = case.request.max_model_len, support.max_model_len
    if asked_for is None or own is None or asked_for <= own or composed.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1":
        return None
    return Refusal("bad-value", f"endpoint {case.name}: maxModelLen", f"{asked_for:,}", f"at most {own:,}, the model's own limit",
                   f"set maxModelLen: {own}, or leave it out")


def _choice(case: Case, attempt: Attempt, composed: Composed) -> Choice:
    indexes = tuple(gpu.index for gpu in attempt.gpus)
    nodes = tuple(sorted({gpu.numa_node for gpu in attempt.gpus if gpu.numa_node is not None}))
    place = Placement(numa_nodes=nodes, gpus=indexes, tensor_parallel_size=len(indexes), reason=_reason(case, attempt))
    found = attempt.fit
    source = "limited to what the KV cache holds" if found.limited else f"by {composed.source.get('--max-model-len', 'the model')}"
    return Choice(place, found.report, {"max_model_len": found.report.max_model_len, "context_from": source,
                                        "gpu_memory_utilization": found.budget.gpu_memory_utilization, "lowered": found.budget.lowered})


def _reason(case: Case, attempt: Attempt) -> str:
    size = len(attempt.gpus)
    if case.request.gpus:
        return "gpus: as configured"
    if {gpu.index for gpu in attempt.gpus} == before(case):
        return "kept"
    nodes = {gpu.numa_node for gpu in attempt.gpus}
    near = f" on NUMA node {next(iter(nodes))}" if len(nodes) == 1 and None not in nodes else ""
    how = "as configured" if case.request.tensor_parallel_size else "the smallest number that fits"
    return f"{size}{near}, {how}" + ("" if all(is_free(case, gpu) for gpu in attempt.gpus) else ", partly used by others")


def _remarks(case: Case, best: Attempt) -> tuple[Warn | None, ...]:
    """What is worth knowing about a plan that fits."""
    found = best.fit
    tight = left_for_kv(found.left_bytes) == "tight" and not case.request.enforce_eager
    return (
        Warn("tight", f"{gib(found.left_bytes)} are left for the KV cache on each GPU, which is little: should the start end with "
             "\"out of memory\" while graphs are captured, set enforceEager: true (1 to 2 GB less, slightly slower decoding)") if tight else None,
        Warn("context-limited", f"the KV cache holds one request of {found.report.max_model_len:,} tokens, less than the model's own limit; "
             "kvCacheDtype: fp8 about doubles it, a higher tensorParallelSize does too, maxModelLen sets another") if found.limited else None,
        Warn("vram-shared", f"others use VRAM of GPU {cpu_list(g.index for g in best.gpus)}: vLLM gets the share {found.budget.gpu_memory_utilization:g}")
        if found.budget.lowered else None)


def _too_much(case: Case, model: Wanted, best: Attempt, gpus: tuple[GpuDevice, ...]) -> Refusal:
    found, size = best.fit, len(best.gpus)
    return Refusal("memory", f"{model.match.model} does not fit {size} of the {len(gpus)} GPUs of {case.facts.name}",
                   f"{gib(found.report.available_bytes)} on each ({found.report.available_bytes} bytes)",
                   f"{gib(found.report.required_bytes)} ({found.report.required_bytes} bytes): {found.words}",
                   _advice(case, model, best))


def _advice(case: Case, model: Wanted, best: Attempt) -> str:
    """Quantised alternatives that would fit by their estimated size, and the configuration line that takes each."""
    report, data = best.fit.report, load_toml("memory-budget.toml")["gpu"]
    room = report.available_bytes - data["reserve_bytes"] - data["tight_bytes"]

    def would_fit(precision: str) -> bool:
        return bits(precision) < bits(model.precision) and (report.weights_bytes_per_rank or 0) * bits(precision) / bits(model.precision) <= room
    lines = [line for line, precision in alternatives(model.match, best.gpus[0].gfx) if would_fit(precision)]
    lines += ["a lower maxModelLen"] if case.request.max_model_len else []
    return "set " + " or ".join(lines) if lines else "choose a smaller or quantised model (model: …), or a host with more or larger GPUs"


def _taken(case: Case, gpus: tuple[GpuDevice, ...], sizes: tuple[int, ...]) -> Refusal:
    held = [gpu.index for gpu in gpus if gpu.index in case.claims.gpus]
    return Refusal("no-gpu", f"{case.facts.name} has not enough free GPUs for {case.name}",
                   f"GPU {cpu_list(held) or 'none'} held by other endpoints, {len(gpus) - len(held)} left",
                   f"{sizes[0]} of one kind (gfx, VRAM, partition mode)", "use other gpus, a smaller tensorParallelSize, or another host")
