"""Recurrent layers: parameters and state of gated delta nets, Mamba 1 and 2, short convolutions, lightning and KDA attention.

State shapes: vllm/model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator. Every builder takes the language section of a
config and gives one `Recurrent`.
"""
from __future__ import annotations

from planning.fit.config_view import View
from planning.fit.layer_kinds import Recurrent


def gated_delta_net(view: View) -> Recurrent:
    """Qwen3-Next, Qwen3.5, OLMo Hybrid: convolution over q, k, v and a state of value dim x key dim for each value head."""
    hidden, heads = view.number("hidden_size"), view.number("num_attention_heads")
    keys, values = view.number("linear_num_key_heads", default=heads), view.number("linear_num_value_heads", default=heads)
    key_dim = view.number("linear_key_head_dim", default=3 * hidden // (4 * max(heads, 1)))
    value_dim = view.number("linear_value_head_dim", default=2 * key_dim)
    channels, kernel = 2 * keys * key_dim + values * value_dim, view.number("linear_conv_kernel_dim", default=4)
    split = hidden * (channels + values * value_dim + 2 * values) + channels * kernel + 2 * values + values * value_dim * hidden
    return Recurrent("gdn", split, value_dim, (channels, kernel - 1), 0, 0, values * value_dim * key_dim,
                     str(view.get("mamba_ssm_dtype") or "model"), values)


def mamba1(view: View) -> Recurrent:
    """Mamba, FalconMamba, Jamba: a convolution and a state of d_inner x d_state."""
    hidden, state = view.number("hidden_size"), view.number("state_size", "mamba_d_state", default=16)
    inner = view.number("mamba_expand") * hidden if view.model_type == "jamba" else int(
        view.raw.get("intermediate_size") or view.raw.get("d_inner") or view.number("expand", default=2) * hidden)
    rank = view.number("time_step_rank", "mamba_dt_rank", default=-(-hidden // 16))
    kernel = view.number("conv_kernel", "mamba_d_conv", default=4)
    # A and D are kept in float32: two 16-bit parameters each
    split = hidden * 2 * inner + inner * (kernel + 1) + inner * (rank + 2 * state) + rank * inner + inner + 2 * inner * (state + 1) + inner * hidden
    return Recurrent("mamba1", split, 0, (inner, kernel - 1), 0, 0, inner * state, "model", 0)


def mamba2(view: View) -> Recurrent:
    """Mamba2, Bamba, Granite 4, Nemotron-H, Falcon-H1, Zamba2: groups of B and C beside the inner channels."""
    hidden = view.number("hidden_size")
    heads = view.number("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
    head = view.number("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim")
    expand = view.real("mamba_expand", view.real("expand", 2))
    inner = view.number("mamba_d_ssm", default=0) or (heads * head if view.model_type == "nemotron_h" else int(expand * hidden))
    head = head or inner // max(heads, 1)
    groups = view.number("mamba_n_groups", "n_groups", "mamba_ngroups", default=1)
    state = view.number("mamba_d_state", "ssm_state_size", "state_size", default=128)
    kernel = view.number("mamba_d_conv", "conv_kernel", default=4)
    channels = inner + 2 * groups * state
    split = hidden * (inner + channels + heads) + channels * (kernel + 1) + 3 * heads + inner + inner * hidden
    dtype = str(view.get("mamba_ssm_cache_dtype") or "float32") if view.model_type == "nemotron_h" else "model"
    return Recurrent("mamba2", split, 0, (channels, kernel - 1), 2 * state, groups, heads * head * state, dtype, heads,
                     group_params=2 * state * (hidden + kernel + 1))


def short_convolution(view: View) -> Recurrent:
    """LFM2: a gated convolution of few taps and no other state."""
    hidden, taps = view.number("hidden_size"), view.number("conv_L_cache", default=3)
    width = view.number("conv_dim", default=hidden)
    return Recurrent("short_conv", hidden * 3 * width + width * taps + width * hidden, 0, (width, taps - 1), 0, 0, 0, "model", 0)


def lightning(view: View) -> Recurrent:
    """MiniMax-01, Bailing 2.5: linear attention with a head dim x head dim state and an output gate, kept in float32."""
    hidden, heads = view.number("hidden_size"), view.number("num_attention_heads")
    head = view.number("head_dim", default=hidden // max(heads, 1))
    inner = heads * head
    return Recurrent("lightning", 5 * hidden * inner, inner, (0, 0), 0, 0, heads * head * head, "float32", heads)


def kimi_delta(view: View) -> Recurrent:
    """Kimi Linear: delta attention with separate convolutions of q, k and v and a float32 state."""
    linear = view.get("linear_attn_config") or {}
    hidden, heads, head = view.number("hidden_size"), int(linear.get("num_heads") or 0), int(linear.get("head_dim") or 0)
    kernel, inner = int(linear.get("short_conv_kernel_size") or 4), heads * head
    split = 3 * hidden * inner + 3 * inner * kernel + 2 * head * inner + hidden * heads + inner * hidden + 2 * inner
    return Recurrent("kda", split, 2 * hidden * head, (3 * inner, kernel - 1), 0, 0, heads * head * head, "float32", heads)


def recurrent_layer(view: View, kind: str) -> Recurrent:
    """The recurrent mixer of a layer of kind `linear`, `mamba`, `conv` or `hybrid`."""
    if kind == "conv":
        return short_convolution(view)
    if kind == "linear" and view.get("linear_attn_config"):
        return kimi_delta(view)
    if kind == "linear" and (view.number("linear_num_value_heads") or view.model_type == "olmo_hybrid"):
        return gated_delta_net(view)
    if kind == "linear" and not view.number("mamba_n_heads", "mamba_num_heads"):      # newer Transformers say "linear" of Mamba layers too
        return lightning(view)
    if view.model_type in ("mamba", "falcon_mamba", "jamba"):
        return mamba1(view)
    return mamba2(view)
