"""The rows that a person reads in preview before saying yes: what AMD's procedure asks to be confirmed."""
from __future__ import annotations

from planning.families.base import Case, Choice
from planning.families.instinct.gates import recipe_record
from planning.families.instinct.gpus import hardware_of, instincts, kind_of
from planning.families.instinct.health import weights_bytes
from planning.families.instinct.model import Wanted, served_model, wanted
from planning.families.instinct.precision import standing
from planning.families.instinct.sizes import named
from planning.plan import Engine
from planning.resolve.manifest import ModelSupport
from planning.units import gib

HOW = {"native": "native on {gfx}", "converted": "OCP checkpoint, converted to the FNUZ of {gfx} at load",
       "emulated": "computed in bf16 on {gfx}, weights stay packed", "unsupported": "does not load on {gfx}", "unlisted": "not in AMD's table for {gfx}"}


def summary(case: Case, engine: Engine | None, support: ModelSupport | None, choice: Choice | None) -> tuple[tuple[str, str], ...]:
    """Model, precision, weights, GPUs, TP, context, recipe, image; the pipeline adds the port."""
    model = wanted(case)[0]
    return (("Model", _model(case, model)), ("Precision", _precision(case, model, support)), ("Weights", _weights(choice)), ("GPUs", _gpus(case, choice)),
            ("TP", _tp(case, model, choice)), ("Context", _context(choice, support)),
            ("Recipe", _recipe(model)), ("Image", f"{engine.image} (vLLM {engine.vllm_version}, from {engine.image_from})" if engine else "none"))


def _model(case: Case, model: Wanted) -> str:
    name, commit = model.match.model, (model.manifest.revision or model.manifest.requested_revision)[:12]
    base = served_model(case)
    swapped = f", in place of {base} (variant: {case.request.variant})" if name.lower() != base.lower() else ""
    return f"{name} @ {'not read' if model.estimated else commit}{swapped}"


def _precision(case: Case, model: Wanted, support: ModelSupport | None) -> str:
    gpu = next(iter(instincts(case)), None)
    stored = f" ({support.quantization})" if support and support.quantization and not model.estimated else ""
    how = HOW[standing(gpu.gfx, model.precision)].format(gfx=gpu.gfx or "this GPU") if gpu else "no GPU known"
    why = f"variant: {case.request.variant}" if case.request.variant else "the model as published"
    return f"{model.precision}{stored}: {why}; {how}"


def _weights(choice: Choice | None) -> str:
    total = choice and weights_bytes(choice)
    return "unknown" if not total else f"{gib(total)}, {gib(choice.memory.weights_bytes_per_rank)} on each GPU"


def _gpus(case: Case, choice: Choice | None) -> str:
    found = instincts(case)
    if not found:
        return "none"
    if choice is None:
        return f"{kind_of(found)} on {case.facts.name}"
    taken = [gpu for gpu in case.facts.gpus.devices if gpu.index in choice.placement.gpus]
    return f"{kind_of(taken)}: {', '.join(map(str, choice.placement.gpus))} of {case.facts.name} ({choice.placement.reason})"


def _tp(case: Case, model: Wanted, choice: Choice | None) -> str:
    gpu = next(iter(instincts(case)), None)
    size, recipe = choice and choice.placement.tensor_parallel_size, named(model.match, gpu and hardware_of(gpu))
    return "unknown" if size is None else f"{size}" + (f" (the recipe runs with {recipe})" if recipe and recipe != size else "")


def _context(choice: Choice | None, support: ModelSupport | None) -> str:
    memory = choice and choice.memory
    if not memory or not memory.max_model_len:
        return "unknown"
    own = support.max_model_len if support else None
    limited = f", {choice.tuning['context_from']}; the model's own is {own:,}" if own and memory.max_model_len < own else ", the model's own"
    many = f"; {memory.max_concurrency:.1f} such requests at once" if memory.max_concurrency else ""
    return f"{memory.max_model_len:,} tokens{limited}{many}"


def _recipe(model: Wanted) -> str:
    record = recipe_record(model)
    variant = f", variant {record['variant']}" if record["variant"] else ""
    return f"{record['name']}{variant} ({record['match']}), {record['source']}"
