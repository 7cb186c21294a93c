"""Which kind each decoder layer is: full, sliding, chunked, linear, mamba, conv, hybrid, experts, mlp.

From the config's own list where it has one, else from the period, letters or indices that its family uses (data/vllm-capacity.toml).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planning.catalog import load_toml
from planning.fit.config_view import View

MOST_LAYERS = 4096


def layer_count(view: View) -> int:
    """Decoder layers; 0 where the config does not say, or says more than any model has."""
    listed = _listed(view) if "num_hidden_layers" not in view else None
    count = view.number("decoder_layers", "num_hidden_layers") if view.get("is_encoder_decoder") else view.number(
        "num_hidden_layers", default=len(listed or ()))
    return count if 0 <= count <= MOST_LAYERS else 0


def layer_kinds(view: View) -> tuple[str, ...]:
    """One kind for each layer, "full" where nothing says otherwise."""
    table = load_toml("vllm-capacity.toml")
    count = layer_count(view)
    listed = _listed(view)
    if listed:
        return tuple(_named(kind, table) for kind in listed)[:count] or ("full",) * count
    indexed = _indexed(view, count)
    if indexed:
        return indexed
    pattern = table["layer_pattern"].get(view.model_type)
    if pattern:
        return _repeat(view, pattern, count, table)
    return ("full",) * count


def _listed(view: View) -> list[Any] | None:
    """An explicit list or string with one entry for each layer."""
    for key in ("layer_types", "layers_block_type", "hybrid_override_pattern"):
        value = view.raw.get(key)
        if isinstance(value, (list, str)) and value:
            return list(value)
    return None


def _named(kind: Any, table: Mapping[str, Any]) -> str:
    name = str(kind)
    return table["layer_names"].get(name) or table["layer_letters"].get(name) or name


def _repeat(view: View, pattern: Mapping[str, Any], count: int, table: Mapping[str, Any]) -> tuple[str, ...]:
    kinds: Sequence[str] = pattern["kinds"]
    period = view.get(pattern["period_key"], pattern["period"]) if "period_key" in pattern else pattern.get("period")
    if isinstance(period, str):
        kinds, period = [table["layer_letters"][letter] for letter in period], None
    if period:
        kinds = (*[kinds[0]] * (int(period) - 1), kinds[-1])
    out = [kinds[i % len(kinds)] for i in range(count)]
    return tuple(out[:-1] + [pattern["last"]] if out and "last" in pattern else out)


def _indexed(view: View, count: int) -> tuple[str, ...]:
    """Lists of layer numbers, offsets and flag lists that families use instead of names; () where there is none."""
    linear = view.get("linear_attn_config")
    if isinstance(linear, Mapping) and linear.get("full_attn_layers"):
        return tuple("full" if i + 1 in linear["full_attn_layers"] else "linear" for i in range(count))
    if view.get("attn_layer_indices") is not None:
        return tuple("full" if i in view.get("attn_layer_indices") else "mamba" for i in range(count))
    if view.model_type in ("lfm2", "lfm2_moe") and view.get("full_attn_idxs") is not None:
        return tuple("full" if i in view.get("full_attn_idxs") else "conv" for i in range(count))
    if "attn_layer_period" in view and "attn_layer_offset" in view:
        period, offset = view.number("attn_layer_period"), view.number("attn_layer_offset")
        return tuple("full" if i % period == offset else "mamba" for i in range(count))
    if isinstance(view.get("hybrid_layer_ids"), list):
        return tuple("hybrid" if i in view.get("hybrid_layer_ids") else "mamba" for i in range(count))
    flags = view.get("attn_type_list")
    if isinstance(flags, list) and flags:
        return tuple("full" if flag else "linear" for flag in flags[:count])
    flags = view.get("hybrid_layer_pattern")
    if isinstance(flags, list) and flags:
        return tuple("sliding" if flag else "full" for flag in flags[:count])
    if view.model_type == "bailing_hybrid" and view.get("layer_group_size"):
        group = view.number("layer_group_size")
        return tuple("full" if (i + 1) % group == 0 or i >= count // group * group else "linear" for i in range(count))
    return ()
