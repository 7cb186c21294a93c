"""Weights: bytes of all parameters that one rank holds, from the checkpoint's headers where they are known, else from the config alone.

From the config: embeddings (vocabulary padded to 64, split over the ranks), decoder layers, output head unless it is tied, and towers of
multimodal models; multi-token-prediction layers are left out, as vLLM loads them only for speculative decoding.
vllm/model_executor/layers/vocab_parallel_embedding.py, linear.py, and the model files.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planning.catalog import load_toml
from planning.errors import Warn
from planning.fit.cache import DTYPE_BYTES
from planning.fit.checkpoint import bytes_from_headers
from planning.fit.config_view import View, open_config, text_view
from planning.fit.decoder import decoder_layers, strange
from planning.fit.layer_kinds import Experts, share
from planning.fit.quantized import Parts, packed_bytes
from planning.fit.serving_defaults import model_dtype
from planning.fit.towers import tower_params

VOCAB_PADDING = 64


@dataclass(frozen=True)
class Weights:
    """`source`: where the manifest's total comes from (exact in total, split as the config says), "config" (computed layer by layer), "none"."""

    bytes_per_rank: int | None
    source: str
    warnings: tuple[Warn, ...] = ()


def weights_per_rank(config: Mapping[str, Any], *, tensor_parallel_size: int = 1, vllm_version: str = "0.25.1", device: str = "cpu",
                     quantization: str | None = None, tensors: Mapping[str, Any] | None = None, dtype: str | None = None) -> Weights:
    """Bytes of the parameters of one rank. `quantization` "none": as if the checkpoint were not quantised. `tensors`: see ModelManifest.

    None where the config does not tell the layers and no headers are known.
    """
    root = open_config(config)
    element = DTYPE_BYTES.get(model_dtype(config, dtype), 2)
    try:
        alone, rank = parts(root, 1), parts(root, tensor_parallel_size)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError):
        alone = rank = None          # values that no model has
    if tensors and quantization != "none":
        exact = bytes_from_headers(tensors, element, config)
        if exact is not None:
            return split_total(exact, alone, rank, tensor_parallel_size, str(tensors.get("source") or "headers"))
    if rank is None:
        return Weights(None, "none", (Warn("weights-unknown", "the config does not tell the layers of this model, so its weights are unknown"),))
    quant = None if quantization == "none" else config.get("quantization_config") or config.get("compression_config")
    if not isinstance(quant, Mapping):
        return Weights(rank.total * element, "config")
    packed = packed_bytes(quant, rank, element)
    if packed is None:
        return Weights(None, "none", (Warn("weights-unknown", "the config does not tell how many bits the quantised weights have"),))
    return Weights(packed, "config", (Warn(
        "weights-estimated", "the size of quantised weights was computed from the config; the checkpoint's headers would give the exact size"),))


def split_total(total: int, alone: Parts | None, rank: Parts | None, tp: int, source: str) -> Weights:
    """One rank's part of an exact total: as the config splits it, replicated parts included; evenly if the config says nothing."""
    if tp == 1:
        return Weights(total, source)
    if alone is None or rank is None:
        return Weights(share(total, tp), source, (Warn("weights-split-evenly", "replicated weights are not known; the total was split evenly"),))
    return Weights(-(-total * rank.total // alone.total), source)


def parts(root: View, tp: int) -> Parts | None:
    """Parameters of one of `tp` ranks; None where the config does not tell them."""
    text = text_view(root)
    layers = decoder_layers(text)
    hidden = text.number("hidden_size")
    unsure = text.model_type in load_toml("vllm-capacity.toml")["not_modelled"]["weights_too"]
    if not layers or not hidden or unsure or strange(text):
        return None
    mixers = sum(mixer.params(tp) for layer in layers for mixer in layer.mixers)
    experts = sum(mlp.params(tp) for layer in layers for mlp in layer.mlps if isinstance(mlp, Experts))
    others = sum(layer.params(tp) for layer in layers) - mixers - experts
    norms = (2 * len(layers) + 1) * hidden
    plain = embeddings(root, text, tp) + extra_tables(text, len(layers), tp) + norms + tower_params(root, text, tp)
    return Parts(mixers, others, experts, plain, len(layers))


def embeddings(root: View, text: View, tp: int) -> int:
    """Input table and output head of one rank; one table where they are tied."""
    hidden, vocab = text.number("hidden_size"), text.number("vocab_size")
    width = text.number("word_embed_proj_dim", default=hidden) if text.model_type == "opt" else hidden
    one = share(-(-vocab // VOCAB_PADDING) * VOCAB_PADDING, tp) * width
    return one * (1 if tied(root, text) or headless(root, text) else 2)


def headless(root: View, text: View) -> bool:
    """Models that vLLM runs without an output head: encoders, classifiers, and configs that name no architecture (it pools those)."""
    table = load_toml("vllm-capacity.toml")["family"]
    names = root.architectures
    return text.model_type in table["encoder_only"] or not names or names[0].endswith(tuple(table["headless_suffixes"]))


def tied(root: View, text: View) -> bool:
    """Whether the output head is the input table. In a model with sections the root decides (vllm/config/vllm.py, with_hf_config)."""
    table = load_toml("vllm-capacity.toml")["family"]
    if text.model_type in table["always_tied"]:
        return True
    view = root if text.raw is not root.raw and "tie_word_embeddings" in root else text
    return bool(view.get("tie_word_embeddings", False))


def extra_tables(text: View, layers: int, tp: int) -> int:
    """Tables beside the vocabulary: learned positions, token types, embeddings of each layer (Gemma 3n and 4), shared blocks (Zamba 2)."""
    hidden = text.number("hidden_size")
    positions = load_toml("vllm-capacity.toml")["positions"].get(text.model_type)
    total = 0
    if positions:
        total += (text.number(*positions["keys"]) + positions.get("extra", 0)) * hidden + text.number("type_vocab_size") * hidden
    narrow = text.number("word_embed_proj_dim", default=hidden)
    total += 2 * narrow * hidden if narrow != hidden else 0
    per_layer = text.number("hidden_size_per_layer_input")
    if per_layer:
        vocab = text.number("vocab_size_per_layer_input", default=text.number("vocab_size"))
        total += share(-(-vocab // VOCAB_PADDING) * VOCAB_PADDING, tp) * per_layer * layers + share(hidden * per_layer * layers, tp)
    if text.number("altup_num_inputs") and text.model_type == "gemma3n_text":
        total += 2 * (text.number("altup_num_inputs") - 1) * share(hidden * hidden, tp)
    if text.model_type == "zamba2":
        heads, double = text.number("num_attention_heads"), 2 * hidden
        head = text.number("attention_head_dim", default=double // heads)
        block = share(double * 3 * heads * head + heads * head * hidden, tp) + share(3 * hidden * text.number("intermediate_size"), tp)
        total += text.number("num_mem_blocks", default=1) * block
    return total
