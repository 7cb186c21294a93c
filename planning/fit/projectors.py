"""Projectors: what joins a tower to the language model. Each gives (parameters that are split over the ranks, replicated ones)."""
from __future__ import annotations

from collections.abc import Callable

from planning.fit.config_view import View

Shape = tuple[int, int]


def two_linear(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """LLaVA: tower -> text, text -> text."""
    features = root.get("vision_feature_layer")
    stacked = len(features) if isinstance(features, list) and features else 1
    return stacked * hidden * out + out * out, 0


def two_replicated(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """LLaVA-NeXT-Video: the same two matrices, replicated."""
    return 0, hidden * out + out * out


def one_linear(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Gemma, PaliGemma, Qwen2-Audio: one matrix."""
    return 0, hidden * out


def patch_merger(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Qwen-VL: neighbouring patches joined, then two matrices; Qwen3-VL has one more merger for each deepstack layer."""
    merged = hidden * tower.number("spatial_merge_size", default=2) ** 2
    stacks = tower.raw.get("deepstack_visual_indexes")
    stacks = tower.get("deepstack_visual_indexes") if stacks is None else stacks
    return (1 + (len(stacks) if isinstance(stacks, list) else 0)) * (merged * merged + merged * out), 0


def mistral3(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Mistral 3: a patch merger, then LLaVA's two matrices."""
    merge = root.number("spatial_merge_size", default=2)
    return 0, hidden * hidden * merge * merge + hidden * out + out * out


def llama4(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Llama 4: pixel shuffle, an adapter of two matrices, one projection."""
    ratio = tower.real("pixel_shuffle_ratio", 0.5)
    shuffled, inner = int(hidden / ratio / ratio), tower.number("projector_input_dim", default=4096)
    return shuffled * inner + inner * inner + tower.number("vision_output_dim", default=inner) * out, 0


def internvl(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """InternVL: pixel shuffle, two matrices."""
    ratio = root.real("downsample_ratio", 0.5)
    return 0, int(hidden / ratio / ratio) * out + out * out


def pixel_shuffle(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Idefics 3, SmolVLM: pixel shuffle, one matrix."""
    return 0, hidden * root.number("scale_factor", default=2) ** 2 * out


def glm4v(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """GLM-4V: a strided convolution, a square matrix and a gated MLP."""
    merge = tower.number("spatial_merge_size", default=2)
    return 3 * out * tower.number("intermediate_size"), out * hidden * merge * merge + out * out


def gemma_audio(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Gemma 4 audio: tower -> text, text -> text, all replicated."""
    return 0, hidden * out + out * out


def audio_two(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Qwen3-ASR and -Omni: tower -> tower, tower -> text."""
    return 0, hidden * hidden + hidden * (tower.number("output_dim") or out)


def audio_stack(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Voxtral, GLM-ASR: neighbouring frames joined, two matrices."""
    inner = tower.number("intermediate_size", "encoder_ffn_dim", default=4 * hidden)
    middle = 2 * out if root.model_type == "glmasr" else out
    return inner * middle + middle * out, 0


def qformer(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """Granite Speech, BLIP-2: a querying transformer with cross-attention every second layer, one matrix."""
    config = root.section("projector_config", "qformer_config")
    if config is None:
        return 0, hidden * out
    inner, layers = config.number("hidden_size"), config.number("num_hidden_layers")
    source, every = config.number("encoder_hidden_size", default=hidden), config.number("cross_attention_frequency", default=2)
    block = 4 * inner * inner + 2 * inner * config.number("intermediate_size")
    return 0, layers * block + -(-layers // every) * 2 * (inner + source) * inner + inner * out


def none(root: View, tower: View, hidden: int, out: int, text: View) -> Shape:
    """A tower whose features go straight into the decoder."""
    return 0, 0


PROJECTORS: dict[str, Callable[[View, View, int, int, View], Shape]] = {
    "two_linear": two_linear, "two_replicated": two_replicated, "one_linear": one_linear, "patch_merger": patch_merger, "mistral3": mistral3,
    "llama4": llama4, "internvl": internvl,
    "pixel_shuffle": pixel_shuffle, "glm4v": glm4v, "gemma_audio": gemma_audio,
    "audio_two": audio_two, "audio_stack": audio_stack, "qformer": qformer, "none": none,
}
