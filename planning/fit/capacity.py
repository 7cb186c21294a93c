"""Capacity: the blocks, tokens and concurrency that vLLM computes for a model and an amount of KV memory, for each rank.

From config.json, the KV memory and the settings that decide pages; giving the numbers that the engine logs at start-up. What vLLM refuses
is refused with its reason, and a config that cannot be judged gives None in every field and says so: never a guess.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planning.catalog import load_toml
from planning.errors import Refusal, Warn
from planning.fit.cache import DTYPE_BYTES, CacheSettings, cache_specs
from planning.fit.config_view import View, open_config, text_view
from planning.fit.decoder import decoder_layers
from planning.fit.gates import block_warning, judge
from planning.fit.grouping import Groups, PagesDoNotUnify, group_layers
from planning.fit.layer_kinds import Latent, Layer, Recurrent
from planning.fit.rules import Rules, rules_for
from planning.fit.serving_defaults import batch_defaults, batched_tokens, cache_dtype, model_dtype, own_max_model_len
from planning.fit.specs import STATE, Request, Spec
from planning.fit.weights import weights_per_rank

UNREADABLE = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Capacity:
    """What one rank allocates. `one_request_bytes`: KV memory that one request of `max_model_len` needs, null block included where the
    version reserves one: it fits if that is not more than the KV memory. `estimated_max_model_len`: the longest request that fits."""

    weights_bytes_per_rank: int | None
    kv_cache_num_blocks: int | None
    kv_cache_tokens: int | None
    max_concurrency: float | None
    block_size: int | None
    kv_bytes_per_token_per_rank: int | None
    max_model_len: int | None
    max_num_batched_tokens: int | None
    vllm_version: str
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[Warn, ...] = ()
    one_request_bytes: int | None = None
    estimated_max_model_len: int | None = None
    max_num_seqs: int | None = None
    weights_source: str | None = None

    DOCUMENT = ("weights_bytes_per_rank", "kv_cache_num_blocks", "kv_cache_tokens", "max_concurrency", "block_size",
                "kv_bytes_per_token_per_rank", "max_model_len", "max_num_batched_tokens", "vllm_version")

    def document(self) -> dict[str, Any]:
        """The JSON document of the contract."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.DOCUMENT}
        values["refusals"] = [vars(refusal) for refusal in self.refusals]
        values["warnings"] = [vars(warning) for warning in self.warnings]
        return values


@dataclass(frozen=True)
class Plan:
    """Everything between the config and the numbers: groups of layers, the request they are measured with, what they were built from."""

    groups: Groups | None
    request: Request
    layers: tuple[Layer, ...]
    specs: tuple[Spec, ...]
    block: int
    settings: CacheSettings

    def request_bytes(self, max_model_len: int) -> int:
        """KV bytes that vLLM compares with the available memory for a request of this length."""
        if self.groups is None:
            return 0
        blocks = self.groups.blocks_per_request(replace(self.request, max_model_len=max_model_len))
        return self.groups.block_bytes * (blocks + (1 if self.settings.rules.null_block_reserved else 0))

    def longest(self, kv_cache_bytes: int, upper: int) -> int:
        """The longest request, up to `upper` tokens, that fits into the KV memory; 0 for none (vLLM: _estimate_max_model_len_from_groups)."""
        low, high = 0, upper
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.request_bytes(middle) <= kv_cache_bytes else (low, middle - 1)
        return low


def capacity(config: Mapping[str, Any], *, kv_cache_bytes: int, max_model_len: int | None = None, tensor_parallel_size: int = 1,
             block_size: int | None = None, dtype: str | None = None, kv_cache_dtype: str = "auto", quantization: str | None = None,
             max_num_batched_tokens: int | None = None, max_num_seqs: int | None = None, vllm_version: str = "0.25.1", device: str = "cpu",
             card_bytes: int | None = None, tensors: Mapping[str, Any] | None = None, pipeline_parallel_size: int = 1,
             enable_prefix_caching: bool | None = None, async_scheduling: bool | None = None, align_hybrid: bool | None = None,
             state_dtype: str | None = None, speculative_tokens: int = 0) -> Capacity:
    """What vLLM would allocate on one rank for `kv_cache_bytes` of KV memory.

    `device`: cpu or rocm. `card_bytes`: total memory of a GPU, decides defaults. `align_hybrid`, `state_dtype`: None for what the version
    does. Never raises for a model: what cannot be judged is a refusal. Source of every formula: the module that computes it.
    """
    root = open_config(config)
    rules = rules_for(vllm_version)
    try:
        text = text_view(root)
        layers = decoder_layers(text)
    except UNREADABLE as error:
        return unreadable(vllm_version, rules, error)
    known = serving(root, text, layers, rules, vllm_version, device, tensor_parallel_size * pipeline_parallel_size, card_bytes,
                    max_model_len, max_num_batched_tokens, max_num_seqs)
    weights = weights_per_rank(config, tensor_parallel_size=tensor_parallel_size, vllm_version=vllm_version, device=device,
                               quantization=quantization, tensors=tensors, dtype=dtype)
    known = replace(known, weights_bytes_per_rank=weights.bytes_per_rank, weights_source=weights.source, warnings=rules.warnings + weights.warnings)
    settings = cache_settings(config, text, layers, rules, device=device, tp=tensor_parallel_size, block_size=block_size, dtype=dtype,
                              kv_cache_dtype=cache_dtype(config, kv_cache_dtype, quantization), prefix=enable_prefix_caching,
                              align=align_hybrid, state_dtype=state_dtype, speculative=speculative_tokens)
    refusals = judge(root, text, layers, settings, block_size, pipeline_parallel_size)
    if refusals:
        return replace(known, refusals=refusals)
    known = replace(known, warnings=known.warnings + block_warning(block_size, settings))
    batched = known.max_num_batched_tokens or 0
    in_flight = batched * in_flight_batches(rules, device, pipeline_parallel_size, async_scheduling)
    request = Request(known.max_model_len or 0, in_flight, max(batched, text.number("max_source_positions")))
    return measured(known, layers, settings, kv_cache_bytes, request)


def unreadable(version: str, rules: Rules, error: Exception) -> Capacity:
    """A config whose values are not of the kind that their keys promise: nothing is known, and it says so."""
    return Capacity(None, None, None, None, None, None, None, None, version, warnings=rules.warnings, refusals=(Refusal(
        "unknown-architecture", "config.json has values that no model has", str(error) or type(error).__name__, "the sizes of a model",
        "check config.json"),))


def serving(root: View, text: View, layers: Sequence[Layer], rules: Rules, version: str, device: str, ranks: int, card_bytes: int | None,
            length: int | None, batched: int | None, seqs: int | None) -> Capacity:
    """A capacity that knows only what `vllm serve` settles before it looks at memory: length, batched tokens, sequences."""
    default_tokens, default_seqs = batch_defaults(version, device, ranks, card_bytes)
    length, seqs = length or own_max_model_len(root, text) or 2048, seqs or default_seqs
    batched = batched_tokens(root, text, asked=batched, seqs=seqs, default=default_tokens, max_model_len=length)
    batched = latent_batch(batched, layers, length, rules, device)
    return Capacity(None, None, None, None, None, None, length, batched, version, max_num_seqs=min(seqs, batched))


def latent_batch(batched: int, layers: Sequence[Layer], length: int, rules: Rules, device: str) -> int:
    """The CPU's latent attention cannot chunk a prefill, so a batch holds at least one whole request (vllm/platforms/cpu.py)."""
    latent = any(isinstance(mixer, Latent) for layer in layers for mixer in layer.mixers)
    return max(length, 2048) if latent and device == "cpu" and rules.mla_on_cpu else batched


def in_flight_batches(rules: Rules, device: str, pp: int, async_scheduling: bool | None) -> int:
    """Batches whose tokens hold windows open: two with async scheduling (the default on GPUs), pp with pipeline stages."""
    if not rules.in_flight_batches:
        return 1
    overlap = (device != "cpu") if async_scheduling is None else async_scheduling and device != "cpu"
    return pp + 1 if overlap else pp


def cache_settings(config: Mapping[str, Any], text: View, layers: Sequence[Layer], rules: Rules, *, device: str, tp: int, block_size: int | None,
                   dtype: str | None, kv_cache_dtype: str, prefix: bool | None, align: bool | None, state_dtype: str | None,
                   speculative: int) -> CacheSettings:
    """Settings of the cache with the version's defaults filled in."""
    recurrent = any(isinstance(mixer, Recurrent) for layer in layers for mixer in layer.mixers)
    attention = any(not isinstance(mixer, Recurrent) for layer in layers for mixer in layer.mixers)
    caching = prefix if prefix is not None else (not recurrent or (attention and rules.hybrid_prefix_caching))
    aligned = align if align is not None else (device != "cpu" or rules.align_hybrid_on_cpu)
    all_mode = rules.mamba_all_mode and text.model_type in load_toml("vllm-capacity.toml")["family"]["state_for_every_block"]
    return CacheSettings(rules, device, tp, block_size, model_dtype(config, dtype), kv_cache_dtype, caching, all_mode, aligned, state_dtype, speculative,
                         text.number("mamba_chunk_size", "chunk_size", default=256))


def measured(known: Capacity, layers: tuple[Layer, ...], settings: CacheSettings, kv_cache_bytes: int, request: Request) -> Capacity:
    """The numbers of a model that passed the gates."""
    specs, block = cache_specs(layers, settings)
    try:
        groups = group_layers(specs, settings.rules)
    except PagesDoNotUnify as error:
        return replace(known, refusals=known.refusals + (Refusal(
            "pages-do-not-unify", f"vLLM {settings.rules.version} cannot give the layers of this model one page size", str(error),
            "pages that divide the largest one", "use another tensor parallel size, or a newer vLLM"),))
    plan = Plan(groups, request, layers, tuple(specs), block, settings)
    if groups is None:
        return replace(known, kv_cache_num_blocks=1, block_size=block, kv_bytes_per_token_per_rank=0, one_request_bytes=0)
    blocks = kv_cache_bytes // groups.block_bytes
    concurrency = blocks / groups.blocks_per_request(request)
    longest = plan.longest(kv_cache_bytes, max(request.max_model_len, 1))
    warnings = known.warnings + unaligned_warning(plan, kv_cache_bytes)
    return replace(known, kv_cache_num_blocks=blocks, max_concurrency=concurrency, kv_cache_tokens=int(concurrency * request.max_model_len),
                   block_size=block, kv_bytes_per_token_per_rank=token_bytes(specs), one_request_bytes=plan.request_bytes(request.max_model_len),
                   estimated_max_model_len=longest, warnings=warnings)


def token_bytes(specs: Sequence[Spec]) -> int:
    """Bytes that one more token adds over all layers of a rank while it is in every window; states add nothing."""
    return sum(spec.token_bytes for spec in specs if spec.kind != STATE)


def unaligned_warning(plan: Plan, kv_cache_bytes: int) -> tuple[Warn, ...]:
    """A hybrid planned before the worker aligns its block: say what the running engine will have instead."""
    settings = plan.settings
    if settings.align_hybrid or settings.device != "cpu" or not any(s.kind == STATE for s in plan.specs) or all(s.kind == STATE for s in plan.specs):
        return ()
    specs, block = cache_specs(plan.layers, replace(settings, align_hybrid=True))
    groups = group_layers(specs, settings.rules)
    if groups is None:
        return ()
    blocks = kv_cache_bytes // groups.block_bytes
    each = groups.blocks_per_request(plan.request)
    return (Warn("hybrid-block-aligned-later", f"vLLM's CPU worker enlarges the block of a model with recurrent layers when it starts: {block:,} tokens, "
                 f"{blocks:,} blocks, {blocks / each:.2f} requests of {plan.request.max_model_len:,} tokens"),)


__all__ = ["Capacity", "Plan", "capacity", "DTYPE_BYTES"]
