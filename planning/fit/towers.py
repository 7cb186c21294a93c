"""Vision and audio towers and their projectors: parameters of one rank, from their section of the config.

All towers are stacks of the same block (attention, then a plain or gated MLP) between an input layer and a projector; what differs is data
(data/vllm-towers.toml), read in vllm/model_executor/models and checked against models built on the meta device.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.catalog import load_toml
from planning.fit.config_view import MOST, TEXT_SECTIONS, View
from planning.fit.layer_kinds import share
from planning.fit.projectors import PROJECTORS

TABLE = "vllm-towers.toml"
SECTIONS = ("vision_config", "audio_config", "encoder_config", "vit_config", "visual", "vision_tower_config")


def tower_params(root: View, text: View, tp: int) -> int:
    """Parameters of all towers and projectors that one of `tp` ranks holds; 0 for a text model."""
    if root.architectures[:1] and root.architectures[0] in load_toml("vllm-capacity.toml")["family"]["text_only"]:
        return 0
    view, total = root, encoder_params(root, tp) + load_toml(TABLE)["fixed_tower"].get(root.model_type, 0)
    while True:
        for name in SECTIONS:
            section = None if "thinker_config" in view.raw and name not in view.raw else view.section(name)
            if section is not None:
                total += one_tower(root, section, text, name, tp)
        nested = next((view.section(name) for name in TEXT_SECTIONS if view.section(name) is not None), None)
        if nested is None or nested.raw is text.raw:
            return total
        view = nested


def one_tower(root: View, tower: View, text: View, name: str, tp: int) -> int:
    """A tower and its projector."""
    table = load_toml(TABLE)
    known = table["same_tower"].get(tower.model_type, tower.model_type)
    kind: Mapping[str, Any] = table["tower"].get(known) or table["tower"]["audio" if "audio" in name else "vision"]
    if root.model_type in table["no_tower"].get(name, ()):
        return 0
    hidden = tower.number("embed_dim", "d_model", "hidden_size") if kind.get("embed_dim") else tower.number("d_model", "hidden_size", "embed_dim", "width")
    hidden = tower.number("hidden_dim") if kind.get("hidden_dim") else hidden
    count = tower.number("encoder_layers", "num_hidden_layers", "depth", "num_layers", "n_layer", "layers")
    count = kept_layers(root, count) if kind.get("feature_layer") else count
    out = tower.number(*kind.get("out_keys", ())) or text.number("hidden_size")
    attention, mlp = block_params(tower, kind, hidden)
    divides = tower.number("encoder_attention_heads", "num_attention_heads", "num_heads") % tp == 0
    ranks = tp if kind.get("split", True) and divides else 1
    blocks = count * (share(mlp, ranks) + share(attention, ranks if kind.get("attention_split", True) else 1))
    ends = input_params(tower, kind, hidden)
    joined, whole = PROJECTORS[table["projector"].get(root.model_type, kind.get("projector", "two_linear"))](root, tower, hidden, out, text)
    return blocks + ends + share(joined, tp) + whole


def kept_layers(root: View, count: int) -> int:
    """Layers up to the one whose features are read: vision_feature_layer -2 leaves the last one out."""
    feature = root.get("vision_feature_layer")
    if isinstance(feature, list) and feature:
        feature = max(count + f + 1 if f < 0 else f for f in feature)
    if not isinstance(feature, int):
        return count
    return count + feature + 1 if feature < 0 else min(feature, count)


def block_params(tower: View, kind: Mapping[str, Any], hidden: int) -> tuple[int, int]:
    """(attention, MLP) of one block: four matrices (with their own head size where there is one), and the MLP with what is beside it."""
    heads = tower.number("encoder_attention_heads", "num_attention_heads", "num_heads")
    head = tower.number("head_dim") if kind.get("head_dim") else 0
    kv_heads = tower.number("num_key_value_heads", default=heads) if kind.get("grouped") else heads
    inner = heads * head if head else hidden
    attention = 2 * hidden * inner + (2 * hidden * inner * kv_heads // heads if heads else 2 * hidden * inner)
    keys = kind.get("width_keys", ("encoder_ffn_dim", "intermediate_size", "mlp_hidden_size"))
    width = tower.number(*keys) or int(tower.real("mlp_ratio", 4) * hidden)
    return attention, kind.get("matrices", 2) * hidden * width + int(kind.get("more", 0) * hidden * hidden)


def input_params(tower: View, kind: Mapping[str, Any], hidden: int) -> int:
    """Patch embedding or convolutions, and learned positions."""
    if kind.get("input") == "audio":
        mel = tower.number("num_mel_bins", default=80)
        return 3 * hidden * (mel + hidden) + tower.number("max_source_positions") * hidden * kind.get("positions_loaded", 1)
    if kind.get("input") == "audio2d":
        channels = tower.number("downsample_hidden_size", default=480)
        return 18 * channels * channels + hidden * channels * 16 + kind.get("more_input", 0) * hidden * hidden
    if kind.get("input") == "none":
        return int(kind.get("more_input", 0) * hidden * hidden)
    patch, channels = _side(tower.get("patch_size"), 14), tower.number("num_channels", "in_channels", "in_chans", default=3)
    temporal = tower.number("temporal_patch_size", default=1) if kind.get("temporal") else 1
    positions = tower.number(*kind.get("position_keys", ()))
    if kind.get("positions") == "grid":
        positions = (_side(tower.get("image_size"), 224) // patch) ** 2
    return (channels * temporal * patch * patch + positions * kind.get("position_tables", 1)) * hidden


def _side(value: Any, default: int) -> int:
    """A size that configs give as a number or a pair."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return int(value) if isinstance(value, (int, float)) and 0 < value < MOST else default


def encoder_params(root: View, tp: int) -> int:
    """Encoder of an encoder-decoder speech or text model (Whisper, BART)."""
    if not root.get("is_encoder_decoder") or not root.number("encoder_layers"):
        return 0
    hidden, layers = root.number("d_model", "hidden_size"), root.number("encoder_layers")
    block = 4 * hidden * hidden + 2 * hidden * root.number("encoder_ffn_dim")
    ends = 3 * hidden * (root.number("num_mel_bins") + hidden) + root.number("max_source_positions") * hidden if root.number("num_mel_bins") else 0
    return share(layers * block, tp) + ends
