"""Changes of the configuration that may make a refused endpoint fit; the pipeline tries each one before it is offered."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planning.catalog import load_toml
from planning.errors import Notes
from planning.families.base import Case
from planning.families.instinct.gpus import instincts
from planning.families.instinct.model import wanted
from planning.families.instinct.precision import bits, usable_variants

HOPELESS = {"blacklisted", "metadata-missing", "unknown-fact", "no-access", "no-runtime"}    # no key of the configuration helps
CONTEXTS = (131072, 65536, 32768, 16384, 8192, 4096, 2048)
Candidate = tuple[Mapping[str, Any], str]


def suggestions(case: Case, notes: Notes) -> Iterable[Candidate]:
    """Candidates, the least intrusive first; consents that the plan asks for go with each of them."""
    codes = {refusal.code for refusal in notes.refusals}
    if codes & HOPELESS:
        return
    consents = {consent.key: True for consent in notes.consents if not consent.given}
    if consents:
        yield consents, "give the consents that the plan asks for"
    for keys, why in _candidates(case, codes):
        yield {**keys, **consents}, f"{why}; with the consents that the plan asks for" if consents else why


def _candidates(case: Case, codes: set[str]) -> Iterable[Candidate]:
    request = case.request
    if codes & {"no-gpu", "bad-value", "memory"} and (request.gpus or request.tensor_parallel_size):
        yield {"gpus": None, "tensorParallelSize": None}, "let the plan choose the GPUs and how many of them"
    if codes & {"vllm-too-old", "bad-value"} and request.image:
        yield {"image": None, "imageDigest": None}, "serve with the default image"
    if "memory" in codes:
        yield from _memory(case)
    if codes & {"memory", "precision-unsupported", "vllm-too-old"}:
        yield from _variants(case)


def _memory(case: Case) -> Iterable[Candidate]:
    request, highest = case.request, load_toml("instinct.toml")["memory"]["highest_utilization"]
    if request.gpu_memory_utilization is not None:
        yield {"gpuMemoryUtilization": None}, "let vLLM use its usual share of the VRAM"
    if request.kv_cache_dtype is None:
        yield {"kvCacheDtype": "fp8"}, "store the KV cache in fp8: half the bytes for each token"
    shorter = [length for length in CONTEXTS if length < (request.max_model_len or 0)]
    for length in shorter:
        yield {"maxModelLen": length}, f"a shorter context of {length:,} tokens"
    if not request.enforce_eager:
        yield {"enforceEager": True}, "capture no graphs: 1 to 2 GB less, slightly slower decoding"
    if request.gpu_memory_utilization is None:
        yield {"gpuMemoryUtilization": highest}, "let vLLM use more of the VRAM"
        yield {"gpuMemoryUtilization": highest, "enforceEager": True}, "let vLLM use more of the VRAM, and capture no graphs"
    for length in shorter:
        yield {"maxModelLen": length, "kvCacheDtype": "fp8"}, f"a shorter context of {length:,} tokens, KV cache in fp8"


def _variants(case: Case) -> Iterable[Candidate]:
    """The recipe's other variants that suit the GPU, the smallest change of precision first."""
    model, gpu = wanted(case)[0], next(iter(instincts(case)), None)
    for name in usable_variants(model.match, gpu and gpu.gfx):
        precision = model.match.record["variants"][name]["precision"]
        if name != model.match.variant and bits(precision) <= bits(model.precision):
            yield {"variant": name}, f"the variant {name} of the recipe ({precision}): {model.match.variant_model(name)}"
