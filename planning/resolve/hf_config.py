"""Reading a config.json as vLLM reads it: which part describes the language model, and values that may be absent or null."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planning.resolve.json_object import MAX_NUMBER

# Where the language model's part hides, in the order in which Transformers and vLLM look.
_TEXT_KEYS = ("text_config", "llm_config", "language_config", "decoder", "generator")


def section(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A nested mapping, empty when absent, null or something else."""
    value = config.get(key)
    return value if isinstance(value, Mapping) else {}


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The language model's part: `text_config` (also of a `thinker_config`), else the whole config."""
    for outer in (config, section(config, "thinker_config")):
        for key in _TEXT_KEYS:
            inner = section(outer, key)
            if inner:
                return inner
    return section(config, "thinker_config") or config


def is_nested(config: Mapping[str, Any]) -> bool:
    return text_part(config) is not config


def text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) and value else None


def number(config: Mapping[str, Any], key: str) -> float | None:
    """A number, as config.json or a JSON round trip gives it (4096, 4096.0); None for null, text, booleans, NaN and what is out of range."""
    value = config.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MAX_NUMBER else None


def model_types(config: Mapping[str, Any]) -> tuple[str, ...]:
    """`model_type` of the whole and of the language part, those that are there."""
    found = [text(config, "model_type"), text(text_part(config), "model_type")]
    return tuple(dict.fromkeys(t for t in found if t))


def architectures(config: Mapping[str, Any]) -> tuple[str, ...]:
    value = config.get("architectures")
    items: Iterable[Any] = value if isinstance(value, (list, tuple)) else [value]
    return tuple(a for a in items if isinstance(a, str) and a)


def experts(config: Mapping[str, Any]) -> int:
    """Number of routed experts, 0 for a dense model. Names as vLLM's model_arch_config_convertor.py tries them."""
    part = text_part(config)
    values = (number(part, k) for k in ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts"))
    return int(next((v for v in values if v), 0))


def remote_code(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """`auto_map`: classes that come as code in the repository."""
    return section(config, "auto_map")
