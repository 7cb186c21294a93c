"""Quantised weights from the config alone: how many bytes a packed matrix takes, and which matrices are packed at all.

An estimate by design (scales are counted, the exact list of packed modules only roughly), and unknown where the config does not tell the
bits. Formats: vllm/model_executor/layers/quantization of vLLM 0.25.1.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planning.catalog import load_toml


@dataclass(frozen=True)
class Parts:
    """Parameters of one rank, by what quantisation does to them: attention and state mixers, dense MLPs, experts, and what stays as it is."""

    mixers: int
    mlps: int
    experts: int
    plain: int
    layers: int

    @property
    def total(self) -> int:
        return self.mixers + self.mlps + self.experts + self.plain


def packed_bytes(quant: Mapping[str, Any], parts: Parts, element: int) -> int | None:
    """Bytes of one rank with a `quantization_config`; None where it does not tell how many bits a weight has."""
    each = bytes_per_weight(quant)
    if each is None:
        return None
    method = str(quant.get("quant_method") or "").lower()
    experts_only = method in load_toml("vllm-capacity.toml")["quantized"]["experts_only"]
    left_out = [str(name) for key in ("modules_to_not_convert", "ignore", "exclude_modules") for name in _list(quant.get(key))]
    mixers = 1.0 if experts_only else share_left_out(left_out, ("attn", "attention", "mixer"), parts.layers)
    mlps = 1.0 if experts_only else share_left_out(left_out, (".mlp",), parts.layers)
    total = parts.plain * element
    for params, kept in ((parts.mixers, mixers), (parts.mlps, mlps), (parts.experts, 0.0)):
        total += int(params * (kept * element + (1 - kept) * each))
    return total


def share_left_out(names: Iterable[str], words: tuple[str, ...], layers: int) -> float:
    """The share of layers whose modules of this kind stay in 16 bit: all of them where a name without a layer number says so."""
    numbers: set[str] = set()
    for name in names:
        if any(word in name for word in words) and not name.endswith(".gate") and "vision" not in name and "visual" not in name and "mtp" not in name:
            found = re.search(r"\.(\d+)(\.|$)", name)
            if not found:
                return 1.0
            numbers.add(found.group(1))
    return min(1.0, len(numbers) / layers) if layers else 0.0


def bytes_per_weight(quant: Mapping[str, Any]) -> float | None:
    """Bytes of one packed weight with its share of the scales."""
    table = load_toml("vllm-capacity.toml")["quantized"]
    method = str(quant.get("quant_method") or quant.get("quant_algo") or "").lower().replace("_", "-")
    block = quant.get("weight_block_size")
    if method in table["one_byte"]:
        return 1 + (4 / (block[0] * block[1]) if isinstance(block, list) and len(block) == 2 else 0)
    if method == "bitsandbytes":
        return 0.5 + 4 / 64 if quant.get("load_in_4bit") else 1.0
    for nested in _groups(quant):
        if isinstance(nested.get("num_bits"), int):
            return _grouped(nested["num_bits"], nested.get("group_size"), table["scale_bytes"].get(str(nested.get("type")), 2))
    bits = quant.get("bits") or quant.get("w_bit") or quant.get("num_bits")
    if isinstance(bits, int):
        return _grouped(bits, quant.get("group_size") or quant.get("q_group_size"), 2)
    algorithm = str(quant.get("quant_algo") or method).lower().replace("_", "-")
    return table["algorithms"].get(algorithm)


def _groups(quant: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Weight settings of compressed-tensors and ModelOpt configs."""
    groups = quant.get("config_groups")
    values = [group.get("weights") for group in groups.values() if isinstance(group, Mapping)] if isinstance(groups, Mapping) else []
    return [value for value in values if isinstance(value, Mapping)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _grouped(bits: int, group: Any, scale: float) -> float:
    """Packed bits plus one scale (and, below 8 bits, a packed zero point) for each group."""
    extra = scale / group if isinstance(group, int) and group > 0 else 0
    return bits / 8 + extra
