"""The longest context of a model, derived from config.json as vLLM derives it (config/model.py, _get_and_verify_max_len)."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planning.resolve import hf_config
from planning.resolve.registry import Registry

_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions",
         "max_sequence_length", "max_seq_length", "seq_len")
_LAYER_TYPES = ("full_attention", "sliding_attention", "chunked_attention", "linear_attention")
_NO_FACTOR = ("su", "longrope", "llama3")
_ASSUMED = 2048     # vLLM's own assumption when no key says a length


@dataclass(frozen=True)
class ContextLength:
    """Tokens. `limit`: the most that vLLM lets a user ask for; `default`: what it takes when nobody asks (LongRoPE: shorter)."""

    limit: int
    default: int
    assumed: bool = False


def derive(config: Mapping[str, Any], registry: Registry) -> ContextLength:
    """Limit and default for one config. `assumed` when nothing in config or config class says a length."""
    part = hf_config.text_part(config)
    base = _base(part, registry) or (_base(config, registry) if hf_config.is_nested(config) else None)
    length = float(base or _ASSUMED)
    ropes = _ropes(part)
    gemma3 = any("gemma3" in t for t in hf_config.model_types(part))
    if ropes and not gemma3:                       # Gemma 3 states the scaled length already
        length = _scaled(length, ropes, part)
    default = length
    if any(_rope_type(r) == "longrope" for r in ropes):
        default = hf_config.number(part, "original_max_position_embeddings") or length
    return ContextLength(int(length), int(default), base is None)


def _base(part: Mapping[str, Any], registry: Registry) -> float | None:
    model_type = hf_config.text(part, "model_type") or ""
    stated = {k: v for k in _KEYS if (v := hf_config.number(part, k))}
    defaults = registry.length_defaults(model_type) or registry.length_defaults(model_type + "_text")
    values = {**defaults, **stated}
    if stated and not set(defaults) & set(stated):
        values = stated                            # the config class reads the stated key under another name
    return values.get("model_max_length") or (min(values.values()) if values else None)


def _ropes(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """RoPE parameters, one per layer type where they are nested. `rope_scaling` is the older name."""
    rope = hf_config.section(part, "rope_scaling") or hf_config.section(part, "rope_parameters")
    nested = [r for k, r in rope.items() if k in _LAYER_TYPES and isinstance(r, Mapping)]
    return nested or ([rope] if rope else [])


def _rope_type(rope: Mapping[str, Any]) -> str:
    name = hf_config.text(rope, "rope_type") or hf_config.text(rope, "type") or "default"
    return {"su": "longrope", "mrope": "default"}.get(name, name)


def _scaled(length: float, ropes: list[Mapping[str, Any]], part: Mapping[str, Any]) -> float:
    factor = 1.0
    for rope in ropes:
        kind = _rope_type(rope)
        if kind in _NO_FACTOR:
            continue
        factor = hf_config.number(rope, "factor") or 1.0 if "factor" in rope else factor
        if kind == "yarn":
            length = (hf_config.number(part, "original_max_position_embeddings")
                      or hf_config.number(rope, "original_max_position_embeddings") or length)
    return length * factor
