"""The decoder of a language model as a list of layers, from its config alone: structure decides, families only name what differs.

Which keys hold what is data (data/vllm-capacity.toml, data/config-defaults.json); what a family's layers look like was read in
vllm/model_executor/models of vLLM 0.25.1 and 0.32.0.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.catalog import load_toml
from planning.fit.config_view import View, class_entry
from planning.fit.experts import layer_mlps
from planning.fit.layer_kinds import Attention, Latent, Layer
from planning.fit.layer_pattern import layer_count, layer_kinds
from planning.fit.recurrent import recurrent_layer


def family() -> Mapping[str, Any]:
    """The table of what families do differently."""
    return load_toml("vllm-capacity.toml")["family"]


def is_latent(view: View) -> bool:
    """vLLM: ModelArchConfigConvertorBase.is_deepseek_mla. A listed model type with a latent rank (or compressed layers and a head size)."""
    if view.model_type not in family()["latent"]:
        return False
    return view.get("head_dim" if "compress_ratios" in view else "kv_lora_rank") is not None


def head_counts(view: View) -> tuple[int, int, int]:
    """(query heads, key/value heads, head size), as ModelArchConfigConvertorBase reads them."""
    heads = view.number("decoder_attention_heads", "num_attention_heads") if view.get("is_encoder_decoder") else view.number("num_attention_heads")
    kv_heads = view.number("num_key_value_heads", default=heads)
    if view.model_type in family()["falcon"]:
        new = bool(view.get("new_decoder_architecture"))
        kv_heads = 1 if view.get("multi_query") and not new else (view.number("num_kv_heads", default=heads) if new else heads)
    if view.model_type == "gpt_bigcode":
        kv_heads = 1 if view.get("multi_query", True) else heads
    nested = view.get("attn_config")
    if isinstance(nested, Mapping) and (nested.get("kv_n_heads") or nested.get("n_kv_heads")):
        kv_heads = int(nested.get("kv_n_heads") or nested.get("n_kv_heads"))
    head = view.number("head_dim") or (view.number("hidden_size") // heads if heads else 0)
    return heads, kv_heads, head


def plain_attention(view: View, kind: str) -> Attention:
    """Softmax attention of one layer, before what its family changes."""
    heads, kv_heads, head = head_counts(view)
    window = view.number("sliding_window", "sliding_window_size") or None
    chunk = view.number("attention_chunk_size") or None
    types = family()
    gated = view.model_type in types["gated_attention"]
    head_v = view.number("v_head_dim", default=head) if view.model_type in types["own_value_head"] else head
    return Attention(view.number("hidden_size"), heads, kv_heads, head, head_v,
                     window=window if kind == "sliding" else None, chunk=chunk if kind == "chunked" else None, gated=gated,
                     cache="none" if view.model_type in types["encoder_only"] or view.get("is_causal") is False else "own")


def latent_attention(view: View) -> Latent:
    """Multi-head latent attention; the indexer where the config has one."""
    return Latent(view.number("hidden_size"), view.number("num_attention_heads"), view.number("q_lora_rank"), view.number("kv_lora_rank"),
                  view.number("qk_nope_head_dim"), view.number("qk_rope_head_dim"), view.number("v_head_dim"),
                  view.number("index_n_heads") if view.get("index_topk") else 0, view.number("index_head_dim"))


def strange(view: View) -> str | None:
    """What makes the layers of a model unknown here: its model type, or a kind of layer without a meaning. None if all is known."""
    if not class_entry(view.model_type) and view.model_type not in family()["own_code"]:
        return f"model type {view.model_type or 'missing'}"
    kinds = sorted(set(layer_kinds(view)) - set(family()["kinds"]))
    return f"layers of kind {', '.join(kinds)}" if kinds else None


def decoder_layers(view: View) -> tuple[Layer, ...]:
    """All layers of the language model in order. Empty where the config does not say how many there are."""
    from planning.fit.families import VARIANTS

    kinds, count = effective_kinds(view), layer_count(view)
    variant = VARIANTS.get(view.model_type)
    if variant:
        return tuple(variant(view, i, kind) for i, kind in enumerate(kinds))
    mixers = {kind: plain_mixers(view, kind) for kind in set(kinds)}
    return tuple(Layer(mixers[kind], layer_mlps(view, i, count)) for i, kind in enumerate(kinds))


def effective_kinds(view: View) -> tuple[str, ...]:
    """Layer kinds as vLLM runs them: a model without mixed layers slides everywhere if it has a window; families whose code takes no
    window for each layer run mixed ones as full attention (vllm/engine/arg_utils.py, is_interleaved; layers/attention/attention.py)."""
    kinds = layer_kinds(view)
    window = view.number("sliding_window") if uses_window(view) else 0
    if "sliding" in kinds and set(kinds) - {"sliding"} and view.model_type not in family()["window_per_layer"]:
        return tuple("full" if kind == "sliding" else kind for kind in kinds)
    if window and "sliding" not in kinds and len(set(map(str, view.listed("layer_types")))) < 2 and view.model_type not in family()["no_window"]:
        return tuple("sliding" if kind == "full" else kind for kind in kinds)
    return kinds


def uses_window(view: View) -> bool:
    """Transformers drops the window of families with a switch for it."""
    return bool(view.get("use_sliding_window")) if "use_sliding_window" in view else True


def plain_mixers(view: View, kind: str) -> tuple[Any, ...]:
    """What a layer of a family that does nothing special mixes tokens with; its MLP follows."""
    if kind in ("full", "sliding", "chunked"):
        return (latent_attention(view) if is_latent(view) else plain_attention(view, kind),)
    if kind == "hybrid":
        return (plain_attention(view, "full"), recurrent_layer(view, "mamba"))
    return (recurrent_layer(view, kind),)
