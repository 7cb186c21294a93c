"""What vLLM would allocate on one GPU: the seam between the Instinct family and the capacity arithmetic (`planning.fit`)."""
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from planning.errors import Notes, Warn
from planning.families.base import Case
from planning.families.instinct.flags import Flags, number
from planning.families.instinct.layers import Composed
from planning.families.instinct.model import Wanted
from planning.fit import Capacity, Weights, capacity, weights_per_rank
from planning.fit.budget import activation_bytes
from planning.fit.serving_defaults import batch_defaults
from planning.identity import Same
from planning.plan import Engine
from planning.resolve.manifest import ModelSupport
from planning.units import GIB

NOT_MODELLED = "unknown-architecture"


@dataclass(frozen=True)
class Cache:
    """What so many bytes of KV cache hold. `one_request_bytes`, `longest` (tokens): None where the cache is not modelled."""

    one_request_bytes: int | None
    longest: int | None
    tokens: int | None
    max_concurrency: float | None
    notes: Notes = Notes()


@dataclass(frozen=True)
class Measure:
    """One tensor parallel size. `cache(kv_cache_bytes, max_model_len)` gives what vLLM would make of it."""

    weights_bytes: int | None
    cache: Callable[[int, int], Cache]
    activation_bytes: int = 0
    notes: Notes = Notes()


def measured(case: Case, model: Wanted, engine: Engine, support: ModelSupport, composed: Composed, tp: int, card_bytes: int) -> Measure:
    """The measure of `tp` ranks on cards of `card_bytes`. `weightGib` stands in where the weights cannot be found out."""
    flags, manifest, version = composed.flags, model.manifest, engine.vllm_version
    given = None if case.request.weight_gib is None else int(case.request.weight_gib * GIB / tp)
    if manifest.config is None:
        return Measure(given, lambda kv_cache_bytes, max_model_len: Cache(None, None, None, None))
    dtype = support.dtype or _text(flags, "--dtype")
    config, tensors = Same(manifest.config), Same(manifest.tensors)
    weights = _weights(config, tensors, tensor_parallel_size=tp, vllm_version=version, dtype=dtype)

    def cache(kv_cache_bytes: int, max_model_len: int) -> Cache:
        got = _capacity(
            config, tensors, kv_cache_bytes=kv_cache_bytes, max_model_len=max_model_len, tensor_parallel_size=tp, block_size=number(flags, "--block-size"),
            dtype=dtype, kv_cache_dtype=_text(flags, "--kv-cache-dtype") or "auto", max_num_batched_tokens=number(flags, "--max-num-batched-tokens"),
            max_num_seqs=number(flags, "--max-num-seqs"), vllm_version=version, card_bytes=card_bytes,
            enable_prefix_caching=_switch(flags, "--enable-prefix-caching"), async_scheduling=_switch(flags, "--async-scheduling"),
            state_dtype=_text(flags, "--mamba-ssm-cache-dtype"), speculative_tokens=_speculative(flags))
        unknown = [refusal for refusal in got.refusals if refusal.code == NOT_MODELLED]
        left_open = tuple(Warn("cache-not-modelled", f"{r.what} ({r.found}): the plan checks the weights and what is left; vLLM checks the context "
                               "when it starts") for r in unknown)
        notes = Notes(tuple(r for r in got.refusals if r not in unknown), (), got.warnings + left_open)
        return Cache(got.one_request_bytes, got.estimated_max_model_len, got.kv_cache_tokens, got.max_concurrency, notes)
    tokens, seqs = batch_defaults(version, "rocm", tp, card_bytes)
    activations = _activations(config, max_num_batched_tokens=number(flags, "--max-num-batched-tokens") or tokens,
                               max_num_seqs=number(flags, "--max-num-seqs") or seqs, tensor_parallel_size=tp, dtype=dtype)
    return Measure(given if weights.bytes_per_rank is None else weights.bytes_per_rank, cache, activations or 0, Notes(warnings=weights.warnings))


@lru_cache(maxsize=4096)
def _weights(config: Same, tensors: Same, **settings: Any) -> Weights:
    return weights_per_rank(config.value, tensors=tensors.value, device="rocm", **settings)


@lru_cache(maxsize=4096)
def _activations(config: Same, **settings: Any) -> int | None:
    return activation_bytes(config.value, **settings)


@lru_cache(maxsize=4096)
def _capacity(config: Same, tensors: Same, **settings: Any) -> Capacity:
    return capacity(config.value, tensors=tensors.value, device="rocm", **settings)


def _text(flags: Flags, name: str) -> str | None:
    value = flags.get(name)
    return value if isinstance(value, str) and value != "auto" else None


def _switch(flags: Flags, name: str) -> bool | None:
    value = flags.get(name)
    return value if isinstance(value, bool) else None


def _speculative(flags: Flags) -> int:
    """Draft tokens of --speculative-config, in either spelling."""
    found = number(flags, "--speculative-config.num_speculative_tokens")
    try:
        return found or int(json.loads(str(flags.get("--speculative-config") or "{}")).get("num_speculative_tokens") or 0)
    except (ValueError, AttributeError, TypeError):
        return 0
