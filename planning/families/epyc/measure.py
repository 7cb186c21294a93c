"""What the engine would allocate for one KV space: the seam between the EPYC family and the capacity arithmetic.

From the model's config and the request, giving one rank's budget line by line and what its KV cache holds.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from planning.catalog import load_toml
from planning.errors import Notes, Refusal
from planning.families.base import Case
from planning.fit.budget import activation_bytes, cpu_lines
from planning.fit.capacity import Capacity, capacity
from planning.identity import Same
from planning.plan import Engine, Line
from planning.resolve.manifest import ModelSupport
from planning.units import GIB


@dataclass(frozen=True)
class Measure:
    """Bytes of one rank, line by line, and what the KV space holds."""

    lines: tuple[Line, ...]
    capacity: Capacity


def measured(case: Case, engine: Engine, support: ModelSupport, ranks: int, max_model_len: int) -> Callable[[int], Measure] | Notes:
    """A function from KV space (GiB) to its measure; or why nothing can be measured. A block size that is refused anyway is left out."""
    if case.manifest.config is None:
        return Notes.of(None if case.manifest.refusals else _unknown(case))
    one = _capacity(case, engine, support, ranks, max_model_len, GIB)
    known = {refusal.code for refusal in support.refusals}                # what was said of the model is not said again of its cache
    said = Notes(tuple(refusal for refusal in one.refusals if refusal.code not in known), (), one.warnings)
    if one.refusals:
        return said
    if one.weights_bytes_per_rank is None or one.one_request_bytes is None:
        return said + Notes.of(_unknown(case))
    return lambda kv_gib: _measure(_capacity(case, engine, support, ranks, max_model_len, kv_gib * GIB), kv_gib, case, support, ranks)


def _unknown(case: Case) -> Refusal:
    return Refusal("metadata-missing", f"the size of {case.request.model or case.manifest.id} is not known", "no config.json or no layers in it",
                   "sizes of weights and KV cache", "set weightGib, or choose a model whose config.json is published")


def _capacity(case: Case, engine: Engine, support: ModelSupport, ranks: int, max_model_len: int, kv_bytes: int) -> Capacity:
    request, manifest = case.request, case.manifest
    aligned = request.block_size if request.block_size and request.block_size % load_toml("epyc.toml")["defaults"]["block_size_multiple"] == 0 else None
    found = _computed(Same(manifest.config), Same(manifest.tensors), kv_cache_bytes=kv_bytes, max_model_len=max_model_len, tensor_parallel_size=ranks,
                      block_size=aligned, dtype=support.dtype, kv_cache_dtype=request.kv_cache_dtype or "auto", quantization=request.quantization,
                      max_num_batched_tokens=request.max_num_batched_tokens, max_num_seqs=request.max_num_seqs, vllm_version=engine.vllm_version)
    return found if request.weight_gib is None else replace(found, weights_bytes_per_rank=int(request.weight_gib * GIB) // ranks)


@lru_cache(maxsize=512)
def _computed(config: Same, tensors: Same, **settings: Any) -> Capacity:
    """Suggestions and neighbours ask for the same numbers again and again."""
    return capacity(config.value, device="cpu", tensors=tensors.value, **settings)


@lru_cache(maxsize=64)
def _activations(config: Same, **settings: Any) -> int:
    return activation_bytes(config.value, **settings) or 0


def _measure(found: Capacity, kv_gib: int, case: Case, support: ModelSupport, ranks: int) -> Measure:
    active = _activations(Same(case.manifest.config), max_num_batched_tokens=found.max_num_batched_tokens, max_num_seqs=found.max_num_seqs,
                          tensor_parallel_size=ranks, dtype=support.dtype)
    return Measure(cpu_lines(weights_bytes=found.weights_bytes_per_rank, kv_cache_bytes=kv_gib * GIB, activation_bytes=active, ranks=ranks), found)
