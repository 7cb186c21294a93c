"""What vLLM would allocate on one GPU: the seam between the Instinct family and the capacity arithmetic (`planning.fit`)."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planning.errors import Notes
from planning.families.instinct.flags import number
from planning.families.instinct.layers import Composed
from planning.families.instinct.model import Wanted
from planning.plan import Engine
from planning.resolve.manifest import ModelSupport


@dataclass(frozen=True)
class Measure:
    """Bytes of one rank; what `kv_cache_bytes` would hold."""

    weights_bytes: int | None
    kv_cache_tokens: int | None
    max_concurrency: float | None
    notes: Notes = Notes()


Take = Callable[[int, int], Measure]     # (KV bytes, max_model_len) -> Measure


def measured(model: Wanted, engine: Engine, support: ModelSupport, composed: Composed, tp: int, card_bytes: int) -> Take:
    """The measure of one tensor parallel size on cards of `card_bytes`."""
    flags, manifest = composed.flags, model.manifest
    from planning.fit import capacity

    def take(kv_cache_bytes: int, max_model_len: int) -> Measure:
        got = capacity(
            manifest.config, kv_cache_bytes=kv_cache_bytes, max_model_len=max_model_len, tensor_parallel_size=tp,
            block_size=number(flags, "--block-size"), dtype=support.dtype or flags.get("--dtype"), kv_cache_dtype=flags.get("--kv-cache-dtype"),
            quantization=flags.get("--quantization"), max_num_batched_tokens=number(flags, "--max-num-batched-tokens"),
            max_num_seqs=number(flags, "--max-num-seqs"), vllm_version=engine.vllm_version, device="rocm", card_bytes=card_bytes, tensors=manifest.tensors)
        return Measure(got.weights_bytes_per_rank, got.kv_cache_tokens, got.max_concurrency, Notes(got.refusals, (), got.warnings))
    return take
