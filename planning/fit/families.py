"""Layers of families that vary from layer to layer in their own way: one small function each, read in vLLM's model file of that name.

`VARIANTS`: model type -> (language section, layer index, kind) -> Layer. Everything else goes through `decoder.plain_mixers`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from planning.fit.config_view import View
from planning.fit.decoder import latent_attention, plain_attention
from planning.fit.experts import layer_mlps
from planning.fit.layer_kinds import Attention, Experts, Latent, Layer, Mlp
from planning.fit.layer_pattern import layer_count
from planning.fit.recurrent import recurrent_layer


def gemma4(view: View, index: int, kind: str) -> Layer:
    """Two head sizes, values that are the keys in full layers, layers that reuse a cache and have a wider MLP, per-layer embeddings."""
    count, hidden = layer_count(view), view.number("hidden_size")
    attention = plain_attention(view, kind)
    if kind == "full":
        head = view.number("global_head_dim", default=attention.head)
        kv_heads = view.number("num_global_key_value_heads", default=attention.kv_heads) if view.get("attention_k_eq_v") else attention.kv_heads
        attention = replace(attention, head=head, head_v=head, kv_heads=kv_heads)
    first_shared = count - view.number("num_kv_shared_layers")
    shared = 0 < first_shared <= index
    if shared:
        attention = replace(attention, cache="shared")
    mlps = layer_mlps(view, index, count)
    if shared and view.get("use_double_wide_mlp"):
        mlps = tuple(replace(mlp, width=2 * mlp.width) if isinstance(mlp, Mlp) else mlp for mlp in mlps)
    return Layer((attention,), mlps, extra=2 * hidden * view.number("hidden_size_per_layer_input"))


def gemma3n(view: View, index: int, kind: str) -> Layer:
    """Layers that reuse a cache, low-rank (LAuReL) and alternating-update parts, per-layer embeddings."""
    count, hidden = layer_count(view), view.number("hidden_size")
    attention = plain_attention(view, kind)
    if index >= count - view.number("num_kv_shared_layers") > 0:
        attention = replace(attention, cache="shared")
    inputs = view.number("altup_num_inputs", default=4)
    extra = 2 * hidden * view.number("laurel_rank") + inputs * (inputs + inputs * inputs + hidden)
    return Layer((attention,), layer_mlps(view, index, count), extra=extra + 2 * hidden * view.number("hidden_size_per_layer_input"))


def nemotron_h(view: View, index: int, kind: str) -> Layer:
    """Every layer is one thing: a Mamba mixer, attention, an MLP or latent experts (Nemotron 3)."""
    hidden = view.number("hidden_size")
    if kind == "mamba":
        return Layer((recurrent_layer(view, kind),))
    if kind in ("full", "sliding"):
        return Layer((plain_attention(view, kind),))
    if kind == "mlp":
        return Layer(mlps=(Mlp(hidden, view.number("intermediate_size"), 2),))
    latent = view.number("moe_latent_size", default=hidden)
    routed = Experts(latent, view.number("moe_intermediate_size"), view.number("n_routed_experts"), 2, router_width=hidden)
    shared = view.number("n_shared_experts") * view.number("moe_shared_expert_intermediate_size")
    return Layer(mlps=(routed, Mlp(hidden, shared, 2)), extra=2 * latent * hidden if latent != hidden else 0)


def nemotron_nas(view: View, index: int, kind: str) -> Layer:
    """Pruned Llama: every block has its own attention and MLP, or none."""
    blocks = view.listed("block_configs")
    block = blocks[index] if index < len(blocks) else {}
    attention, ffn = block.get("attention") or {}, block.get("ffn") or {}
    hidden, heads = view.number("hidden_size"), view.number("num_attention_heads")
    head = view.number("head_dim") or hidden // heads
    mixers = () if attention.get("no_op") or attention.get("replace_with_linear") else (
        Attention(hidden, heads, heads // int(attention.get("n_heads_in_group") or 1), head, head),)
    if ffn.get("no_op") or ffn.get("replace_with_linear"):
        return Layer(mixers)
    width = int(2 * float(ffn.get("ffn_mult") or 1) * hidden / 3)
    return Layer(mixers, (Mlp(hidden, -(-width // 256) * 256),))


def step3p5(view: View, index: int, kind: str) -> Layer:
    """Sliding layers have their own head counts; a gate for each head; experts beside one shared expert."""
    attention = plain_attention(view, kind)
    other = view.get("attention_other_setting")
    listed = view.listed("layer_types")
    if isinstance(other, Mapping) and index < len(listed) and listed[index] == other.get("attention_type"):
        head = int(other.get("head_dim") or attention.head)
        attention = replace(attention, heads=int(other["num_attention_heads"]), kv_heads=int(other["num_attention_groups"]), head=head, head_v=head)
    return Layer((attention,), layer_mlps(view, index, layer_count(view)), extra_split=attention.heads * attention.hidden)


def mimo_v2(view: View, index: int, kind: str) -> Layer:
    """Sliding layers have their own head counts and sizes; values are narrower than keys."""
    attention = plain_attention(view, kind)
    if kind == "sliding":
        attention = replace(
            attention, heads=view.number("swa_num_attention_heads", default=attention.heads),
            kv_heads=view.number("swa_num_key_value_heads", default=attention.kv_heads), head=view.number("swa_head_dim", default=attention.head),
            head_v=view.number("swa_v_head_dim", default=attention.head_v))
    return Layer((attention,), layer_mlps(view, index, layer_count(view)))


def minicpm3(view: View, index: int, kind: str) -> Layer:
    """Latent projections, but an ordinary cache: values are padded to the size of the keys."""
    hidden, heads = view.number("hidden_size"), view.number("num_attention_heads")
    latent = latent_attention(view)
    query = latent.nope + latent.rope
    value = latent.head_v or hidden // heads
    attention = Attention(hidden, heads, heads, query, query)
    whole = hidden * (latent.q_rank + latent.kv_rank + latent.rope)
    split = heads * (latent.q_rank * query + latent.kv_rank * (latent.nope + value) + value * hidden)
    return Layer((CacheOnly(attention),), layer_mlps(view, index, layer_count(view)), extra=whole, extra_split=split)


def CacheOnly(attention: Attention) -> Attention:
    """The cache of an attention whose parameters are counted elsewhere."""
    return replace(attention, hidden=0)


def zamba2(view: View, index: int, kind: str) -> Layer:
    """Mamba layers; some run a shared transformer block (kept once, see `shared_blocks`) with a cache and a linear of their own."""
    mamba = recurrent_layer(view, "mamba")
    if kind != "hybrid":
        return Layer((mamba,))
    hidden, heads = view.number("hidden_size"), view.number("num_attention_heads")
    head = view.number("attention_head_dim", default=2 * hidden // heads)
    attention = Attention(0, heads, view.number("num_key_value_heads", default=heads), head, head)
    rank = view.number("adapter_rank") if view.get("use_shared_mlp_adapter", True) else 0
    return Layer((attention, mamba), extra=hidden * hidden, extra_split=rank * (hidden + 2 * view.number("intermediate_size")))


def longcat_flash(view: View, index: int, kind: str) -> Layer:
    """Two latent attentions and two dense MLPs in each layer, with experts beside them; some experts are the identity."""
    hidden, attention = view.number("hidden_size"), latent_attention(view)
    width = view.number("expert_ffn_hidden_size", "moe_intermediate_size")
    routed = Experts(hidden, width, view.number("n_routed_experts"))
    dense = Mlp(hidden, view.number("ffn_hidden_size", "intermediate_size"))
    return Layer((attention, attention), (dense, dense, routed), extra=hidden * view.number("zero_expert_num"))


def kimi_linear(view: View, index: int, kind: str) -> Layer:
    """Latent attention without rotary part in some layers, delta attention in the others."""
    mixer: Latent | object = latent_attention(view) if kind == "full" else recurrent_layer(view, "linear")
    return Layer((mixer,), layer_mlps(view, index, layer_count(view)))  # type: ignore[arg-type]


def encoder_decoder(view: View, index: int, kind: str) -> Layer:
    """Decoders with cross-attention (Whisper, BART): a second cache, of the encoder's states."""
    hidden, heads = view.number("d_model", "hidden_size"), view.number("decoder_attention_heads", "num_attention_heads")
    own = Attention(hidden, heads, heads, hidden // heads, hidden // heads)
    mlp = Mlp(hidden, view.number("decoder_ffn_dim", "intermediate_size"), 2)
    return Layer((own, replace(own, cache="cross")), (mlp,))


VARIANTS: dict[str, Callable[[View, int, str], Layer]] = {
    "gemma4_text": gemma4, "gemma4_unified_text": gemma4, "gemma3n_text": gemma3n, "nemotron_h": nemotron_h, "nemotron-nas": nemotron_nas,
    "step3p5": step3p5, "mimo_v2_flash": mimo_v2, "mimo_v2": mimo_v2, "minicpm3": minicpm3, "zamba2": zamba2,
    "whisper": encoder_decoder, "bart": encoder_decoder, "mbart": encoder_decoder, "longcat_flash": longcat_flash, "kimi_linear": kimi_linear,
}
