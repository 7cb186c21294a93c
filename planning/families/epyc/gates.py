"""Step one of the EPYC family: may this host serve, with which backend and image, and whose consent does that need?

From the CPU's facts and the request's `backend`, `image` and consents, giving the `Engine`. Consents permit a path, they
never select one; `backend: stock` is the exception, as asking for it is the consent.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.catalog import load_toml
from planning.errors import Consent, Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.epyc.image import image_of
from planning.plan import Engine


def engine(case: Case) -> tuple[Engine | None, Mapping[str, Any] | None, Notes]:
    """All gates in order; the engine is named even when one refuses, so that the later steps are judged too."""
    backend, path = _path(case)
    image, version, origin, images = image_of(case, backend)
    notes = _is_epyc(case) + path + _stock_runs(case, backend) + images + _stack(case, backend, version) + _kv_precision(case, backend)
    return Engine(version, backend, image, origin), None, notes


def _is_epyc(case: Case) -> Notes:
    cpu = case.facts.cpu
    if cpu.is_epyc:
        return Notes()
    if cpu.is_epyc is None:
        return Notes.of(_unknown(case, "which CPU", "vendor, family and model of an AMD EPYC", "record `LC_ALL=C lscpu` and /proc/cpuinfo of the host"))
    return Notes.of(Refusal("not-epyc", f"the CPU of {case.facts.name} is not an AMD EPYC", cpu.model_name or f"{cpu.vendor or 'an unknown vendor'}",
                            "an AMD EPYC CPU", "choose an EPYC host for this endpoint, or kind: instinct on a host with Instinct GPUs"))


def _path(case: Case) -> tuple[str, Notes]:
    """zentorch or stock, and what has to be agreed to for it."""
    asked, capable = case.request.backend, case.facts.cpu.avx512_bf16
    if asked == "stock":
        return "stock", Notes.of(_slower(case) if capable else None)
    if asked == "zentorch":
        return "zentorch", _must_be_capable(case) + (_unverified(case, False) if capable else Notes())
    if not capable:
        return "stock", _no_zentorch(case)
    if validated(case):
        return "zentorch", Notes()
    if case.request.accept_stock_vllm and not case.request.accept_unverified:
        return "stock", Notes.of(Consent("acceptStockVllm", _why_unverified(case), True), _path_warning(case, "stock vLLM", _why_unverified(case)))
    return "zentorch", _unverified(case, True)


def pinned_vllm(case: Case, backend: str) -> str | None:
    """The only vLLM with which zentorch was validated on this generation; None where that is not one version."""
    data = load_toml("epyc.toml")["zentorch"]
    return data["vllm_version"] if backend == "zentorch" and _counted(case) in data["pinned_only"] else None


def validated(case: Case) -> bool:
    """Whether zentorch was validated on this generation, or on the one whose cores and instructions it shares."""
    return _counted(case) in load_toml("epyc.toml")["zentorch"]["validated"]


def _counted(case: Case) -> str | None:
    generation = case.facts.cpu.generation
    return load_toml("epyc.toml")["counts_as"].get(generation, generation)


def _must_be_capable(case: Case) -> Notes:
    capable, host = case.facts.cpu.avx512_bf16, case.facts.name
    if capable is None:
        return Notes.of(_unknown(case, "whether the CPU has avx512_bf16", "the CPU's flags", "record /proc/cpuinfo of the host, or set backend: stock"))
    return Notes() if capable else Notes.of(Refusal(
        "zentorch-unsupported", f"backend: zentorch cannot run on {host}", f"{_named(case)} without avx512_bf16"
        f"{' (avx512f alone is not enough)' if case.facts.cpu.avx512f else ''}", "the CPU flag avx512_bf16 (Zen 4 and later)",
        "set backend: stock (slower), or choose a Genoa, Turin or Venice host"))


def _no_zentorch(case: Case) -> Notes:
    """No AVX-512 BF16, or nobody knows: the stock path, by consent. An unknown flag is not a yes."""
    unknown, given = case.facts.cpu.avx512_bf16 is None, case.request.accept_stock_vllm
    why = (f"{case.facts.name} does not say whether its {_named(case)} has avx512_bf16" if unknown else
           f"{_named(case)} of {case.facts.name} has no avx512_bf16, which zentorch needs")
    consent = Consent("acceptStockVllm", f"{why}: stock vLLM works there, without zentorch's speed", given)
    if given:
        return Notes.of(consent, _path_warning(case, "stock vLLM", why))
    missing = _unknown(case, "whether the CPU has avx512_bf16", "the CPU's flags", "record /proc/cpuinfo of the host") if unknown else None
    return Notes.of(missing, consent, Refusal("needs-consent", f"zentorch cannot be used on {case.facts.name}", why, "acceptStockVllm",
                                              "set acceptStockVllm: true to serve with stock vLLM (slower), or choose a Genoa, Turin or Venice host"))


def _unverified(case: Case, or_stock: bool) -> Notes:
    """Zentorch on a generation that nobody validated."""
    if validated(case):
        return Notes()
    why, given = _why_unverified(case), case.request.accept_unverified
    consents = (Consent("acceptUnverified", why, given),) + ((Consent("acceptStockVllm", why, False),) if or_stock and not given else ())
    if given:
        return Notes.of(*consents, _path_warning(case, "zentorch, unverified", why))
    keys = "acceptUnverified or acceptStockVllm" if or_stock else "acceptUnverified"
    do = "set acceptUnverified: true to try zentorch" + (", or acceptStockVllm: true for stock vLLM (slower)" if or_stock else ", or backend: stock")
    return Notes.of(*consents, Refusal("needs-consent", f"zentorch is not validated on {case.facts.name}", why, keys, do))


def _why_unverified(case: Case) -> str:
    return f"the generation of {case.facts.name} ({case.facts.cpu.generation or 'unknown'}) has AVX-512 BF16 but zentorch was not validated on it"


def _path_warning(case: Case, path: str, why: str) -> Warn:
    return Warn("path", f"{case.name} takes the path {path}: {why}")


def _slower(case: Case) -> Warn:
    return Warn("path", f"{case.name} takes the path stock vLLM as backend: stock asks for it; {case.facts.name} could run zentorch, which is faster")


def _stock_runs(case: Case, backend: str) -> Notes:
    """Stock builds need AVX2 at least. Every EPYC has it; a virtual machine may hide it."""
    cpu = case.facts.cpu
    if backend != "stock" or cpu.avx2 or cpu.avx512f or (cpu.avx2 is None and cpu.hypervisor is None):
        return Notes()
    if cpu.avx2 is None:
        return Notes.of(_unknown(case, "whether the virtual CPU has AVX2", "the CPU's flags", "record /proc/cpuinfo of the host"))
    return Notes.of(Refusal("cpu-unsupported", f"stock vLLM cannot run on {case.facts.name}", f"{_named(case)} without avx2 and avx512f",
                            "the CPU flag avx2", "let the hypervisor pass the host's CPU flags through, or choose another host"))


def _stack(case: Case, backend: str, version: str) -> Notes:
    """Generations that were validated with the pinned vLLM only."""
    pinned = pinned_vllm(case, backend)
    if pinned is None or version == pinned:
        return Notes()
    why = f"{case.facts.cpu.generation} was validated with vLLM {pinned} only; the image has {version}"
    given = case.request.accept_unverified
    return Notes.of(Consent("acceptUnverified", why, given), None if given else Refusal(
        "needs-consent", f"this stack is not validated on {case.facts.name}", why, "acceptUnverified",
        "leave image out to use the pinned one, or set acceptUnverified: true"))


def _kv_precision(case: Case, backend: str) -> Notes:
    """The KV cache's dtype against what the backend keeps; the model's dtype is judged where the model is."""
    known, kv = load_toml("epyc.toml")[backend]["kv_cache_dtypes"], case.request.kv_cache_dtype or "auto"
    return Notes.of(None if kv in known else Refusal(
        "precision-unsupported", f"kvCacheDtype {kv} on {case.facts.name} with {backend}", kv, ", ".join(known),
        "leave kvCacheDtype out: the KV cache is kept in bfloat16"))


def _named(case: Case) -> str:
    return f"EPYC {case.facts.cpu.generation}" if case.facts.cpu.generation else case.facts.cpu.model_name or "the CPU"


def _unknown(case: Case, what: str, needed: str, do: str) -> Refusal:
    return Refusal("unknown-fact", f"{case.facts.name} does not tell {what}", "nothing", needed, do)
