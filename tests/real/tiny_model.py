"""A Qwen3 of two layers with random weights: config, safetensors, byte tokenizer and chat template. Standard library only.

512 bytes of KV cache a token (2 layers, 2 KV heads of 32, bfloat16), as in the recorded runs of the real engine, so a GiB
holds 2,097,152 tokens. Each byte is a token, so the length of a prompt is known: one letter, one token.
"""
from __future__ import annotations

import json
import random
import struct
from math import prod
from pathlib import Path

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, FEED_FORWARD, POSITIONS = 2, 128, 4, 2, 32, 256, 40960
START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
SPECIAL = (PAD, START, END)
VOCABULARY = 320
TEMPLATE = ("{% for message in messages %}" + START + "{{ message.role }}\n{{ message.content }}" + END + "\n{% endfor %}"
            "{% if add_generation_prompt %}" + START + "assistant\n{% endif %}")


def write(folder: Path, seed: int = 0) -> Path:
    """The model as a directory; always the same bytes for a seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("config.json", _config()), ("generation_config.json", {"eos_token_id": 258, "pad_token_id": 256}),
                          ("tokenizer_config.json", _tokenizer_config()), ("tokenizer.json", _tokenizer())):
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(_safetensors(_shapes(), random.Random(seed)))
    return folder


def _config() -> dict[str, object]:
    return {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_act": "silu", "hidden_size": HIDDEN,
            "intermediate_size": FEED_FORWARD, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
            "head_dim": HEAD, "max_position_embeddings": POSITIONS, "rms_norm_eps": 1e-06, "rope_theta": 1000000, "attention_bias": False,
            "tie_word_embeddings": False, "vocab_size": VOCABULARY, "initializer_range": 0.02, "use_cache": True,
            "bos_token_id": 256, "eos_token_id": 258, "pad_token_id": 256}


def _shapes() -> dict[str, tuple[int, ...]]:
    """Tensor name -> shape, as Qwen3ForCausalLM stores them."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN), "lm_head.weight": (VOCABULARY, HIDDEN),
                                          "model.norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        part = {"input_layernorm.weight": (HIDDEN,), "post_attention_layernorm.weight": (HIDDEN,), "self_attn.q_norm.weight": (HEAD,),
                "self_attn.k_norm.weight": (HEAD,), "self_attn.q_proj.weight": (HEADS * HEAD, HIDDEN), "self_attn.k_proj.weight": (KV_HEADS * HEAD, HIDDEN),
                "self_attn.v_proj.weight": (KV_HEADS * HEAD, HIDDEN), "self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD),
                "mlp.gate_proj.weight": (FEED_FORWARD, HIDDEN), "mlp.up_proj.weight": (FEED_FORWARD, HIDDEN), "mlp.down_proj.weight": (HIDDEN, FEED_FORWARD)}
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in part.items()}
    return shapes


def _safetensors(shapes: dict[str, tuple[int, ...]], chance: random.Random) -> bytes:
    """The format: length of the header (8 bytes, little endian), header as JSON, the tensors one after the other."""
    header, parts, at = {}, [], 0
    for name, shape in shapes.items():
        values = [1.0] * prod(shape) if len(shape) == 1 else [chance.gauss(0.0, 0.05) for _ in range(prod(shape))]
        parts.append(b"".join(struct.pack("<f", value)[2:] for value in values))  # bfloat16 is the upper half of float32
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def _bytes_as_letters() -> list[str]:
    """The letter that a byte-level tokenizer writes for each byte (GPT-2's table)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(rest)) for byte in range(256)]


def _tokenizer() -> dict[str, object]:
    vocabulary = {letter: number for number, letter in enumerate(_bytes_as_letters())}
    added = [{"id": 256 + number, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for number, text in enumerate(SPECIAL)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": level,
            "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary, "merges": []}}


def _tokenizer_config() -> dict[str, object]:
    return {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": None, "eos_token": END, "pad_token": PAD, "model_max_length": POSITIONS,
            "clean_up_tokenization_spaces": False, "chat_template": TEMPLATE}
