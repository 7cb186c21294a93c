"""Gates: what vLLM refuses because of the model's shape and the settings, and what cannot be judged at all."""
from __future__ import annotations

from collections.abc import Sequence

from planning.catalog import load_toml
from planning.errors import Refusal, Warn
from planning.fit.cache import DTYPE_BYTES, CacheSettings
from planning.fit.config_view import View
from planning.fit.decoder import strange
from planning.fit.layer_kinds import Attention, Experts, Latent, Layer, Recurrent


def judge(root: View, text: View, layers: Sequence[Layer], settings: CacheSettings, asked_block: int | None, pp: int) -> tuple[Refusal, ...]:
    """All refusals, in a fixed order; () if vLLM would go on. `asked_block`: the user's --block-size."""
    unknown = unjudgeable(root, text, layers, settings)
    if unknown:
        return unknown
    checks = (latent_on_cpu(text, layers, settings), plain_experts_on_cpu(text, layers, settings), heads_divide(text, layers, settings),
              kv_heads_divide(layers, settings), block_fits(asked_block, layers, settings), stages_divide(layers, pp))
    return tuple(refusal for refusal in checks if refusal)


def unjudgeable(root: View, text: View, layers: Sequence[Layer], settings: CacheSettings) -> tuple[Refusal, ...]:
    """Configs that do not hold what the arithmetic needs, kinds that it does not model, dtypes that it does not know."""
    name = ", ".join(root.architectures) or root.model_type or "no architecture"
    if settings.cache_dtype != "auto" and settings.cache_dtype not in DTYPE_BYTES or settings.model_dtype not in DTYPE_BYTES:
        return (Refusal("unknown-dtype", "the size of this dtype is not known here", f"{settings.model_dtype}, cache {settings.cache_dtype}",
                        ", ".join(sorted(DTYPE_BYTES)), "choose another dtype or kvCacheDtype"),)
    table = load_toml("vllm-capacity.toml")["not_modelled"]
    reason = table["model_types"].get(text.model_type) or table["model_types"].get(root.model_type)
    if reason:
        return (Refusal("unknown-architecture", "the cache of this architecture is not modelled here", f"{name}: {reason}",
                        "an architecture whose layers are known", "measure it on the real engine, or choose another model"),)
    odd = strange(text)
    if odd:
        return (Refusal("unknown-architecture", "the layers of this architecture are not known here", f"{name}: {odd}",
                        "a family that vLLM runs and this program knows", "measure it on the real engine, or choose another model"),)
    if not layers or not all(sized(mixer) for layer in layers for mixer in layer.mixers) or not any(layer.mixers for layer in layers):
        return (Refusal("unknown-architecture", "the config does not tell the layers of this model", name,
                        "num_hidden_layers, num_attention_heads and hidden_size (or head_dim) of a known family",
                        "check config.json; a model that needs its own code cannot be judged from it"),)
    return ()


def sized(mixer: Attention | Latent | Recurrent) -> bool:
    """Whether every size that decides the cache is there."""
    if isinstance(mixer, Attention):
        return mixer.cache != "own" or (mixer.heads > 0 and mixer.kv_heads > 0 and mixer.head > 0)
    if isinstance(mixer, Latent):
        return mixer.kv_rank > 0 and mixer.heads > 0
    return mixer.state > 0 or mixer.conv[0] > 0


def latent_on_cpu(text: View, layers: Sequence[Layer], settings: CacheSettings) -> Refusal | None:
    """vllm/platforms/cpu.py, get_attn_backend_cls."""
    latent = [m for layer in layers for m in layer.mixers if isinstance(m, Latent)]
    if settings.device != "cpu" or not latent:
        return None
    sparse = any(m.index_heads for m in latent)
    if settings.rules.mla_on_cpu and not (sparse and not settings.rules.sparse_on_cpu):
        return None
    kind = "Sparse attention" if settings.rules.mla_on_cpu else "MLA (multi-head latent attention)"
    return Refusal("architecture-unsupported", f"{kind} is not supported on CPU by vLLM {settings.rules.version}",
                   f"{text.model_type} with kv_lora_rank {latent[0].kv_rank}", "a model with ordinary attention, or a GPU",
                   "use an Instinct endpoint for this model, or choose another model")


def plain_experts_on_cpu(text: View, layers: Sequence[Layer], settings: CacheSettings) -> Refusal | None:
    """vllm/model_executor/layers/fused_moe: "is_act_and_mul=False is supported only for CUDA, XPU and ROCm"."""
    if settings.device != "cpu" or not any(isinstance(mlp, Experts) and mlp.matrices == 2 for layer in layers for mlp in layer.mlps):
        return None
    return Refusal("architecture-unsupported", f"experts without a gate are not supported on CPU by vLLM {settings.rules.version}",
                   f"{text.model_type} with plain experts", "experts with a gate, or a GPU", "use an Instinct endpoint for this model, or choose another model")


def block_warning(asked: int | None, settings: CacheSettings) -> tuple[Warn, ...]:
    """A block that the planner takes and the CPU kernel of this version does not."""
    kernel = settings.rules.cpu_kernel_block
    if settings.device != "cpu" or asked is None or asked % kernel == 0:
        return ()
    return (Warn("block-size", f"the CPU kernel of vLLM {settings.rules.version} takes blocks of multiples of {kernel}: it does not start with {asked}"),)


def heads_divide(text: View, layers: Sequence[Layer], settings: CacheSettings) -> Refusal | None:
    """vllm/config/model.py, verify_with_parallel_config: heads must divide by the tensor parallel size."""
    heads = {m.heads for layer in layers for m in layer.mixers if isinstance(m, (Attention, Latent)) and m.heads}
    heads |= {m.heads for layer in layers for m in layer.mixers if isinstance(m, Recurrent) and m.heads}
    bad = sorted(h for h in heads if h % settings.tp)
    return Refusal("tensor-parallel-heads", "the attention heads do not divide by the tensor parallel size", f"{bad[0]} heads, {settings.tp} ranks",
                   f"a tensor parallel size that divides {bad[0]}", "change tensorParallelSize") if bad else None


def kv_heads_divide(layers: Sequence[Layer], settings: CacheSettings) -> Refusal | None:
    """vLLM's attention layers: key/value heads divide by the ranks, or the ranks by them."""
    for attention in (m for layer in layers for m in layer.mixers if isinstance(m, Attention) and m.kv_heads):
        if max(attention.kv_heads, settings.tp) % min(attention.kv_heads, settings.tp):
            return Refusal("tensor-parallel-heads", "the key/value heads neither divide by the tensor parallel size nor it by them",
                           f"{attention.kv_heads} key/value heads, {settings.tp} ranks", "one that divides the other", "change tensorParallelSize")
    return None


def block_fits(asked: int | None, layers: Sequence[Layer], settings: CacheSettings) -> Refusal | None:
    """A block that the attention kernel cannot be cut into: "No common block size". The smallest kernel block is the version's."""
    table = load_toml("vllm-capacity.toml")["block"]
    kernel = table["cpu_smallest"] if settings.device == "cpu" else 1
    latent = any(isinstance(m, Latent) for layer in layers for m in layer.mixers)
    if asked is None or latent or (asked > 0 and asked % kernel == 0):
        return None
    return Refusal("block-size", "no attention kernel takes this block size", f"blockSize {asked}", f"a multiple of {kernel}",
                   "change blockSize, or leave it out")


def stages_divide(layers: Sequence[Layer], pp: int) -> Refusal | None:
    """Capacity is worked out for one pipeline stage only."""
    return Refusal("pipeline-parallel", "capacity with pipeline stages is not modelled here", f"{pp} stages, {len(layers)} layers", "1 stage",
                   "use tensorParallelSize instead") if pp != 1 else None
