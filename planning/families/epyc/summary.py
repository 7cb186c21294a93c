"""The rows that a person reads in preview before saying yes: what AMD's procedure asks to be confirmed."""
from __future__ import annotations

from planning.families.base import Case, Choice
from planning.families.epyc.gates import validated
from planning.launch import runtime_of
from planning.plan import Engine
from planning.resolve.manifest import ModelSupport
from planning.units import gib


def summary(case: Case, engine: Engine | None, support: ModelSupport | None, choice: Choice | None) -> tuple[tuple[str, str], ...]:
    """Model, backend, path, precision, fit, CPU, hardware; the pipeline adds the port."""
    return (("Model / kind", _model(case, support)), ("Backend", _backend(case, engine)), ("Path", _path(case, engine)),
            ("Precision", (support and support.dtype) or "unknown"), ("Fit", _fit(choice)), ("CPU", _cpu(choice)), ("Hardware", _hardware(case)))


def _model(case: Case, support: ModelSupport | None) -> str:
    kind = "unknown" if support is None or support.multimodal is None else "multimodal" if support.multimodal else "text"
    return f"{case.request.model or case.manifest.id} @ {(case.manifest.revision or case.request.revision)[:12]} -- {kind}"


def _backend(case: Case, engine: Engine | None) -> str:
    if engine is None:
        return "none"
    generation = case.facts.cpu.generation or "an unknown generation"
    if engine.backend == "zentorch":
        path = f"zentorch accelerated ({generation} is validated)" if validated(case) else f"zentorch, unverified (nobody validated {generation})"
    else:
        why = "asked for" if case.request.backend == "stock" else f"{generation} is not validated" if case.facts.cpu.avx512_bf16 else "no avx512_bf16"
        path = f"stock vLLM on CPU, no zentorch ({why})"
    return f"{path}, vLLM {engine.vllm_version}"


def _path(case: Case, engine: Engine | None) -> str:
    runtime = runtime_of(case)[0]
    what = "Python environment on the host" if runtime == "host" else f"container ({runtime or 'no runtime'})"
    return f"{what}, {engine.image if engine else 'no image'}"


def _fit(choice: Choice | None) -> str:
    memory = choice and choice.memory
    return "unknown" if not memory else f"needs {gib(memory.required_bytes)} of {gib(memory.available_bytes)} per rank"


def _cpu(choice: Choice | None) -> str:
    if choice is None:
        return "none"
    place, memory = choice.placement, choice.memory
    socket = "several sockets" if place.socket is None else f"socket {place.socket}"
    space = gib(memory.kv_cache_bytes) if memory else "unknown"
    return f"{socket} ({place.reason}), bind {place.omp_threads_bind}, KV {space}, memory nodes {place.cpuset_mems}"


def _hardware(case: Case) -> str:
    cpu = case.facts.cpu
    cores = len({(row.socket, row.core) for row in cpu.topology}) or (cpu.sockets or 0) * (cpu.cores_per_socket or 0) or "unknown"
    flag = {True: "yes", False: "no", None: "unknown"}[cpu.avx512_bf16]
    return f"EPYC {cpu.generation or 'unknown'} (Zen {cpu.zen or '?'}), {cores} cores, AVX-512 BF16 {flag}"
