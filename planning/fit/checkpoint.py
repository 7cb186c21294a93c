"""Checkpoint: bytes that vLLM loads of what is stored, from the headers or the index of safetensors files.

Left out: a tied head that is stored all the same, multi-token-prediction layers (loaded for speculative decoding only). 32-bit checkpoints
are loaded in 16 bit. vllm/model_executor/model_loader, and `load_weights` of the models.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planning.fit.config_view import open_config, text_view
from planning.fit.layer_pattern import layer_count

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_PREDICTORS = re.compile(r"(^|\.)(mtp|mtp_layers|mtp_block|nextn)\.")
_TOWERS = re.compile(r"vision|visual|audio|vit\.|tower|projector|perceiver|resampler")


def bytes_from_headers(tensors: Mapping[str, Any], element: int, config: Mapping[str, Any]) -> int | None:
    """Bytes of all ranks together as the engine holds them. `element`: bytes of the dtype it computes in.

    `tensors`: ModelManifest.tensors: total_bytes, loaded_bytes (no tied head, no prediction layers), dtypes {dtype: bytes}, and, where the headers are at
    hand, sizes {tensor name: bytes}. None where it holds no total.
    """
    total = tensors.get("loaded_bytes", tensors.get("total_bytes"))
    if not isinstance(total, (int, float)) or isinstance(total, bool):
        return None
    sizes = tensors.get("sizes")
    if isinstance(sizes, Mapping) and "loaded_bytes" not in tensors:
        total -= sum(size for name, size in sizes.items() if predicts(name, config))
    wide = dict(tensors.get("dtypes") or {}).get("F32", 0)
    if wide and element < 4 and not config.get("quantization_config"):
        total -= wide - wide * element // 4
    return int(total)


def predicts(name: str, config: Mapping[str, Any]) -> bool:
    """Whether a tensor belongs to a multi-token-prediction layer: by name, or a layer number beyond the model's own layers."""
    if _PREDICTORS.search(name):
        return True
    text = text_view(open_config(config))
    if not text.number("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules") or _TOWERS.search(name):
        return False
    found = _LAYER.search(name)
    return bool(found) and 0 < layer_count(text) <= int(found.group(1))
