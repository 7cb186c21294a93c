"""Tensor parallel sizes that a model allows on so many GPUs: powers of two that divide its heads and its quantised blocks."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.errors import Refusal
from planning.families.base import Case
from planning.families.instinct.flags import number
from planning.families.instinct.layers import Composed
from planning.families.instinct.model import Wanted
from planning.families.instinct.recipe import Match
from planning.resolve import hf_config

HEADS = ("num_attention_heads", "n_head", "num_heads", "linear_num_value_heads", "linear_num_key_heads")


def allowed(model: Wanted, composed: Composed, most: int) -> tuple[int, ...]:
    """1, 2, 4 … up to `most` GPUs, ascending, from AMD's `min_tp` on."""
    config, least = model.manifest.config or {}, model.match.record.get("min_tp", 1)
    powers = [1 << i for i in range(most.bit_length()) if 1 << i <= most]
    return tuple(tp for tp in powers if tp >= least and why_not(config, composed, tp) is None)


def why_not(config: Mapping[str, Any], composed: Composed, tp: int) -> str | None:
    """Why vLLM would refuse this size, None when it would not."""
    part = hf_config.text_part(config)
    for key in HEADS:
        heads = hf_config.number(part, key)
        if heads and heads % tp:
            return f"{int(heads)} {key} cannot be split over {tp} GPUs"
    block = _block(config)
    for key in () if block is None else ("moe_intermediate_size", "intermediate_size"):
        size = hf_config.number(part, key)
        split = key == "intermediate_size" or not composed.flags.get("--enable-expert-parallel")
        if size and split and _used(part, key) and size / tp % block:
            return f"{key} {int(size)} over {tp} GPUs is no multiple of the quantised blocks of {block}"
    return None


def _used(part: Mapping[str, Any], key: str) -> bool:
    """A mixture without dense layers declares an intermediate_size that no layer has."""
    return key != "intermediate_size" or not hf_config.experts(part) or bool(hf_config.number(part, "first_k_dense_replace"))


def _block(config: Mapping[str, Any]) -> int | None:
    """Rows of a quantised block (DeepSeek's and Qwen's FP8), None where there are none."""
    shape = hf_config.section(config, "quantization_config").get("weight_block_size")
    first = shape[0] if isinstance(shape, (list, tuple)) and shape else None
    return int(first) if isinstance(first, (int, float)) and first > 0 else None


def named(match: Match, hardware: str | None) -> int | None:
    """The size that the recipe runs with: of its variant, on AMD, in its arguments, of its strategy. It is shown, not taken."""
    record = match.record
    variant = record.get("variants", {}).get(match.variant, {})
    places = (variant, record.get("hardware", {}).get("amd", {}), record)
    sizes = [_of(variant.get("tp"), hardware), *(number(part.get("flags", {}), "--tensor-parallel-size") for part in places), _of(record.get("tp"), hardware)]
    return next((size for size in sizes if size), None)


def _of(size: Any, hardware: str | None) -> int | None:
    return size.get(hardware) if isinstance(size, Mapping) else size


def asked(case: Case, model: Wanted, composed: Composed, count: int) -> tuple[tuple[int, ...], Refusal | None]:
    """Sizes to try: the one configured, that of the configured GPUs, else all that are allowed."""
    request, gpus = case.request, case.request.gpus
    size = request.tensor_parallel_size or (len(gpus) if gpus else None)
    if size is None:
        sizes = allowed(model, composed, count)
        return sizes, None if sizes or not count else _bad(
            case, f"{count} GPUs", f"{model.match.record.get('min_tp', 1)} or more that suit the model's heads", "choose a larger host or another model")
    if gpus and size != len(gpus):
        return (), _bad(case, f"tensorParallelSize {size}, {len(gpus)} gpus", "as many gpus as ranks",
                        f"name {size} gpus, or set tensorParallelSize: {len(gpus)}")
    reason = why_not(model.manifest.config or {}, composed, size)
    least = model.match.record.get("min_tp", 1)
    if size & (size - 1) or reason or size < least or size > count:
        good = list(allowed(model, composed, count))
        found = reason or (f"{count} GPUs" if size > count else f"{size}")
        return (), _bad(case, found, f"one of {good}" if good else "a size that the model allows",
                        f"set tensorParallelSize: {good[-1]}" if good else "choose another model or host")
    return (size,), None


def _bad(case: Case, found: str, needed: str, do: str) -> Refusal:
    return Refusal("bad-value", f"endpoint {case.name}: tensorParallelSize", found, needed, do)
