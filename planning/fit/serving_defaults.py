"""Defaults that `vllm serve` fills in: batched tokens, sequences, the model's own length, prefix caching, dtypes.

vllm/engine/arg_utils.py (get_batch_defaults), vllm/config/model.py (_get_and_verify_max_len, is_prefix_caching_supported).
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.catalog import load_toml
from planning.fit.config_view import View
from planning.fit.rules import version_key
from planning.units import GIB

LENGTH_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions",
               "max_sequence_length", "max_seq_length", "seq_len")
UNSCALED = ("su", "longrope", "llama3", "default", "mrope", "proportional")


def batch_defaults(version: str, device: str, ranks: int, card_bytes: int | None) -> tuple[int, int]:
    """(max_num_batched_tokens, max_num_seqs) of a server, before the model's length and floor are looked at."""
    entries = sorted(load_toml("vllm-capacity.toml")["batch_defaults"], key=lambda entry: version_key(entry["from"]))
    entry = ([e for e in entries if version_key(e["from"]) <= version_key(version)] or entries[:1])[-1]
    if device == "cpu":
        return entry["cpu"]["max_num_batched_tokens"] * ranks, entry["cpu"]["max_num_seqs"] * ranks
    row = next(row for row in entry["cards"] if (card_bytes or 0) >= row["card_gib"] * GIB)
    return row["max_num_batched_tokens"], row["max_num_seqs"]


def batched_tokens(root: View, text: View, *, asked: int | None, seqs: int, default: int, max_model_len: int) -> int:
    """max_num_batched_tokens as the engine ends up with."""
    if asked is not None:
        return asked
    floor = load_toml("vllm-capacity.toml")["multimodal_batch_floor"].get(root.model_type, 0)
    if text.get("use_bidirectional_attention") != "vision":
        floor = 0
    return min(max(default, floor), seqs * max_model_len)


def own_max_model_len(root: View, text: View) -> int | None:
    """The length a model gives itself, rope scaling included; None where its config names none (vLLM then takes 2048)."""
    lengths = [value for key in LENGTH_KEYS if (value := text.number(key)) > 0]
    if isinstance(text.get("model_max_length"), int):
        lengths = [text.get("model_max_length")]
    if not lengths:
        return None
    length: float = min(lengths)
    rope = text.get("rope_scaling") or text.get("rope_parameters") or {}
    for entry in _rope_entries(rope):
        kind = str(entry.get("rope_type") or entry.get("type") or "default")
        if kind in UNSCALED or "gemma3" in root.model_type:
            continue
        if kind == "yarn" and entry.get("original_max_position_embeddings"):
            length = entry["original_max_position_embeddings"]
        factor = entry.get("factor")
        return int(length * (factor if isinstance(factor, (int, float)) and 0 < factor < 1e6 else 1.0))
    return int(length)


def _rope_entries(rope: Any) -> list[Mapping[str, Any]]:
    if not isinstance(rope, Mapping):
        return []
    nested = [value for value in rope.values() if isinstance(value, Mapping)]
    return nested or [rope]


def model_dtype(config: Mapping[str, Any], asked: str | None) -> str:
    """What the engine computes in: as asked, else the checkpoint's, with float32 loaded as bfloat16."""
    if asked and asked != "auto":
        return {"half": "float16", "float": "float32"}.get(asked, asked)
    sections: list[Any] = [config, *(config.get(key) for key in ("text_config", "thinker_config", "llm_config", "vision_config"))]
    found = next((str(s.get("dtype") or s.get("torch_dtype")) for s in sections
                  if isinstance(s, Mapping) and (s.get("dtype") or s.get("torch_dtype"))), "float32").removeprefix("torch.")
    if found == "float16" and str(config.get("model_type")) in load_toml("vllm-capacity.toml")["dtype"]["no_float16"]:
        return "bfloat16"
    return found if found in ("bfloat16", "float16") else "bfloat16"


def cache_dtype(config: Mapping[str, Any], asked: str, quantization: str | None) -> str:
    """The cache's dtype: "auto" follows a ModelOpt checkpoint that says so (vllm/utils/torch_utils.py, get_kv_cache_quant_algo_string)."""
    quant = config.get("quantization_config")
    if asked != "auto" or quantization == "none" or not isinstance(quant, Mapping):
        return asked
    if not str(quant.get("quant_method", "")).startswith("modelopt"):
        return asked
    inner = quant.get("quantization") if isinstance(quant.get("quantization"), Mapping) else quant
    scheme = inner.get("kv_cache_scheme") or quant.get("kv_cache_scheme") or inner.get("kv_cache_quant_algo") or quant.get("kv_cache_quant_algo")
    if isinstance(scheme, Mapping):
        static8 = scheme.get("dynamic") is False and scheme.get("num_bits") == 8 and scheme.get("type") == "float"
        return "fp8_e4m3" if static8 else asked
    return "fp8_e4m3" if str(scheme).lower() == "fp8" else asked
