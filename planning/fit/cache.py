"""From layers to KV cache specs: block size, bytes a token, states, and the alignment of hybrid models.

vllm/model_executor/layers/attention (get_kv_cache_spec), vllm/platforms/cpu.py and interface.py (_align_hybrid_block_size).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planning.catalog import load_toml
from planning.fit.layer_kinds import Attention, Latent, Layer, Recurrent, kv_heads_per_rank
from planning.fit.rules import Rules
from planning.fit.specs import CHUNKED, CROSS, FULL, LATENT, SLIDING, STATE, Spec, ceil_div

DTYPE_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1, "int8": 1}


@dataclass(frozen=True)
class CacheSettings:
    """What decides the pages: the rank count, the block size that was asked for (None: the platform's), dtypes, and prefix caching.

    `state_dtype`: where the platform or the user fixes the recurrent state's dtype; None leaves it to the model.
    """

    rules: Rules
    device: str
    tp: int
    block_size: int | None
    model_dtype: str
    cache_dtype: str                 # "auto" is the model's
    prefix_caching: bool
    all_mode: bool = False
    align_hybrid: bool = True
    state_dtype: str | None = None
    speculative_tokens: int = 0
    state_chunk: int = 256           # tokens that the recurrent kernels take at once, decides blocks in "all" mode

    @property
    def element_bytes(self) -> int:
        """Bytes of one key or value element."""
        return DTYPE_BYTES[self.model_dtype if self.cache_dtype == "auto" else self.cache_dtype]


def primary_block(settings: CacheSettings, layers: Sequence[Layer]) -> int:
    """Tokens in a block before hybrids are aligned: as asked, else the platform's; latent attention on CPU takes its own."""
    table = load_toml("vllm-capacity.toml")["block"]
    latent = [m for layer in layers for m in layer.mixers if isinstance(m, Latent)]
    if settings.device == "cpu":
        return table["cpu_mla"] if latent else settings.block_size or table["cpu"]
    if latent and any(m.index_heads for m in latent):
        return settings.block_size or table["rocm_sparse"]
    return settings.block_size or table["rocm"]


def cache_specs(layers: Sequence[Layer], settings: CacheSettings) -> tuple[list[Spec], int]:
    """(specs of all layers that keep something, block size after alignment)."""
    mixers = [mixer for layer in layers for mixer in layer.mixers]
    block = primary_block(settings, layers)
    states = [state_bytes(m, settings) for m in mixers if isinstance(m, Recurrent)]
    attention = [m for m in mixers if isinstance(m, (Attention, Latent))]
    padded = None
    if states and attention and settings.align_hybrid:
        block, padded = aligned_block(block, max(states), attention[0], settings)
    specs: list[Spec] = []
    for mixer in mixers:
        specs.extend(mixer_specs(mixer, block, padded, settings))
    return specs, block


def mixer_specs(mixer: Attention | Latent | Recurrent, block: int, padded: int | None, settings: CacheSettings) -> list[Spec]:
    """The caches of one mixer: none (encoder, or shared with an earlier layer), one, or two (latent cache and indexer)."""
    if isinstance(mixer, Recurrent):
        return [state_spec(mixer, block, padded, settings)]
    if isinstance(mixer, Latent):
        return latent_specs(mixer, block, settings)
    if mixer.cache in ("none", "shared"):
        return []
    token = token_bytes(mixer, settings)
    if mixer.cache == "cross":
        return [Spec(CROSS, block, token)]
    if mixer.window:
        return [Spec(SLIDING, sliding_block(block, settings), token, window=mixer.window)]
    if mixer.chunk:
        return [Spec(CHUNKED, block, token, window=mixer.chunk)]
    return [Spec(FULL, block, token)]


def token_bytes(attention: Attention, settings: CacheSettings) -> int:
    """Bytes that one token takes in one layer on one rank: heads a rank x (key + value elements) x bytes."""
    return kv_heads_per_rank(attention.kv_heads, settings.tp) * (attention.head + attention.head_v) * settings.element_bytes


def latent_specs(latent: Latent, block: int, settings: CacheSettings) -> list[Spec]:
    """One latent vector a token on every rank; fp8 of the sparse kind has its own layout, and the indexer keeps its keys beside it."""
    table = load_toml("vllm-capacity.toml")["latent_bytes"]
    sparse = latent.index_heads > 0
    token = (latent.kv_rank + latent.rope) * settings.element_bytes
    if sparse and settings.element_bytes == 1:
        token = table["fp8_sparse"]
    specs = [Spec(LATENT, block, token)]
    if sparse:
        specs.append(Spec(LATENT, block, latent.index_head + latent.index_head // 128 * 4))
    return specs


def sliding_block(block: int, settings: CacheSettings) -> int:
    """Sliding layers choose their own block: the primary one, the kernel's smallest, or the largest multiple of it within the primary one."""
    if settings.rules.sliding_block == "block":
        return block
    kernel = settings.rules.cpu_kernel_block if settings.device == "cpu" else load_toml("vllm-capacity.toml")["block"]["rocm"]
    return kernel if settings.rules.sliding_block == "kernel" else max(kernel, block // kernel * kernel)


def state_bytes(recurrent: Recurrent, settings: CacheSettings) -> int:
    """Bytes of one sequence's state in one layer on one rank."""
    conv, state = recurrent.state_elements(settings.tp)
    model = DTYPE_BYTES[settings.model_dtype]
    fixed = settings.state_dtype or recurrent.state_dtype
    return conv * model + state * DTYPE_BYTES.get(fixed, model)


def state_spec(recurrent: Recurrent, block: int, padded: int | None, settings: CacheSettings) -> Spec:
    """One state a sequence; with prefix caching one more (and a checkpoint where the kernel exports one), or one for every block."""
    size, slots = state_bytes(recurrent, settings), 1 + settings.speculative_tokens
    if settings.prefix_caching and not settings.all_mode:
        slots += 1 + (settings.rules.mamba2_checkpoint_slots if recurrent.kind == "mamba2" else 0)
    return Spec(STATE, block, state_bytes=size, slots=slots, per_block_state=settings.prefix_caching and settings.all_mode,
                padded=padded if padded and padded > size else None)


def aligned_block(block: int, state: int, attention: Attention | Latent, settings: CacheSettings) -> tuple[int, int]:
    """(block size, page) of a hybrid: the block grows until an attention page holds a state; the state's page is padded up to it."""
    table = load_toml("vllm-capacity.toml")["block"]
    token = latent_specs(attention, 1, settings)[0].token_bytes if isinstance(attention, Latent) else token_bytes(attention, settings)
    step = max(block, table["mla_hybrid"]) if isinstance(attention, Latent) else block
    if settings.all_mode and settings.prefix_caching:
        step = math.lcm(step, settings.state_chunk)
    block = max(block, step * ceil_div(state, step * token))
    return block, block * token

