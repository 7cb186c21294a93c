"""Dense or expert MLP of each layer, from the many keys that families use for the same few sizes."""
from __future__ import annotations

from planning.catalog import load_toml
from planning.fit.config_view import View
from planning.fit.layer_kinds import Experts, Mlp

COUNT_KEYS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
WIDTH_KEYS = ("moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size", "ffn_hidden_size_moe", "expert_ffn_hidden_size")


def expert_count(view: View) -> int:
    """Routed experts of a layer, 0 for a dense model (vLLM: ModelArchConfigConvertorBase.get_num_experts)."""
    if view.model_type in load_toml("vllm-capacity.toml")["mlp"]["experts_switched_by"]:
        switch = load_toml("vllm-capacity.toml")["mlp"]["experts_switched_by"][view.model_type]
        if not view.get(switch):
            return 0
    nested = view.get("ffn_config")
    if isinstance(nested, dict):
        return int(nested.get("moe_num_experts") or 0)
    return view.number(*COUNT_KEYS)


def matrices(view: View, experts: bool = False) -> int:
    """3 for gated MLPs, 2 for plain ones. A family's experts can be plain where its dense MLP is gated, and the other way round."""
    table = load_toml("vllm-capacity.toml")["mlp"]
    return 2 if view.model_type in table["plain_experts" if experts else "plain"] else 3


def dense_width(view: View, layer: int) -> int:
    """Width of the dense MLP of one layer."""
    for key in load_toml("vllm-capacity.toml")["mlp"]["dense_width_key"].get(view.model_type, ()):
        if view.number(key):
            return view.number(key)
    listed = view.get("intermediate_size")
    if isinstance(listed, list) and listed:
        return int(listed[min(layer, len(listed) - 1)])
    width = view.number("intermediate_size")
    if view.model_type in ("lfm2", "lfm2_vl_text") and view.get("block_auto_adjust_ff_dim"):
        width = int(view.number("block_ff_dim", default=width) * 2 / 3 * (view.get("block_ffn_dim_multiplier") or 1))
        multiple = view.number("block_multiple_of", default=256)
        return -(-width // multiple) * multiple
    if view.model_type in load_toml("vllm-capacity.toml")["mlp"]["halved_width"]:
        width //= 2
    if not width:
        ratio = view.number("mlp_ratio", "expansion_ratio", default=4)
        width = ratio * view.number("hidden_size")
    return width


def has_experts(view: View, layer: int, layers: int) -> bool:
    """Whether one layer has routed experts, where the model has any."""
    named = view.raw.get("mlp_layer_types")
    if isinstance(named, list) and layer < len(named):
        return named[layer] != "dense"
    for key in ("moe_layers_enum", "moe_layers"):
        value = view.raw.get(key)
        if isinstance(value, (str, list)) and value:
            indices = [int(part) for part in value.split(",")] if isinstance(value, str) else value
            return layer in indices
    if view.get("interleave_moe_layer_step") is not None:
        step = view.number("interleave_moe_layer_step")
        return step > 0 and (layer + 1) % step == 0
    if "expert_layer_period" in view:
        return layer % view.number("expert_layer_period", default=1) == view.number("expert_layer_offset")
    if layer in view.listed("mlp_only_layers"):
        return False
    dense_first = load_toml("vllm-capacity.toml")["mlp"]["dense_first"].get(view.model_type, 0)
    if layer < view.number("first_k_dense_replace", "num_dense_layers", default=dense_first):
        return False
    if "moe_layer_start_index" in view:
        last = view.number("moe_layer_end_index", default=layers - 1)
        last = layers - 1 if last < 0 else last
        return view.number("moe_layer_start_index") <= layer <= last and (layer + 1) % view.number("moe_layer_interval", default=1) == 0
    frequency = view.get("moe_layer_freq")
    if isinstance(frequency, list) and layer < len(frequency):
        return bool(frequency[layer])
    step = view.number("moe_layer_freq", "decoder_sparse_step", default=1) or 1
    return (layer + 1) % step == 0 if "decoder_sparse_step" in view else layer % step == 0


def shared_width(view: View, width: int) -> int:
    """Width of all shared experts of a layer together, 0 for none."""
    table = load_toml("vllm-capacity.toml")["mlp"]
    for key in table["shared_width_keys"]:
        if view.number(key):
            return view.number(key) * (view.number("n_shared_experts", default=1) if key == "moe_shared_expert_intermediate_size" else 1)
    if view.model_type in table["shared_is_one_expert"]:
        return width * view.number("moe_num_shared_experts", default=1)
    return width * view.number("n_shared_experts", "moe_num_shared_experts", "num_shared_experts", "num_shared_expert")


def layer_mlps(view: View, layer: int, layers: int) -> tuple[Mlp | Experts, ...]:
    """The MLPs of one layer: dense, or experts with their shared one."""
    hidden, count = view.number("hidden_size"), expert_count(view)
    table = load_toml("vllm-capacity.toml")["mlp"]
    if view.model_type in table["no_mlp"]:
        return ()
    dense = Mlp(hidden, dense_width(view, layer), matrices(view))
    if not count or not has_experts(view, layer, layers):
        return (dense,) if dense.width else ()
    width = view.number(*WIDTH_KEYS, default=view.number("intermediate_size"))
    if isinstance(view.get("ffn_config"), dict):
        width = int(view.get("ffn_config").get("ffn_hidden_size") or width)
    latent = view.number("routed_expert_hidden_size", default=hidden)
    routed = Experts(latent, width, count, matrices(view, True), bias=view.model_type in table["biased_experts"], router_width=hidden)
    down_and_up = (Mlp(hidden, latent, 2, replicated=True),) if latent != hidden else ()
    shared = shared_width(view, width)
    beside = (dense,) if view.model_type in table["dense_beside_experts"] else ()
    return (routed, *down_and_up, *((Mlp(hidden, shared, matrices(view, True)),) if shared else ()), *beside)
