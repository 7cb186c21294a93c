"""What a decoder layer is made of: attention or a recurrent state, and a dense or an expert MLP. Sizes only, no arithmetic of memory.

`params(tp)` is the number of parameters that one of `tp` ranks holds: column- and row-parallel matrices are split, replicated ones are not,
and key/value heads that are fewer than the ranks are replicated (vLLM: model_executor/layers/linear.py, QKVParallelLinear).
"""
from __future__ import annotations

from dataclasses import dataclass


def share(total: int, tp: int) -> int:
    """One rank's part of `total`, rounded up."""
    return -(-total // tp)


def kv_heads_per_rank(kv_heads: int, tp: int) -> int:
    """vLLM: ModelConfig.get_num_kv_heads. Fewer heads than ranks are replicated, so never less than one."""
    return max(1, kv_heads // tp) if kv_heads else 0


@dataclass(frozen=True)
class Attention:
    """Softmax attention. `window`/`chunk`: tokens a layer looks back at. `cache`: own, shared (with an earlier layer), cross, none."""

    hidden: int
    heads: int
    kv_heads: int
    head: int
    head_v: int
    window: int | None = None
    chunk: int | None = None
    cache: str = "own"
    gated: bool = False              # a second query, as output gate
    bias: bool = False
    cache_head: int | None = None    # where the cache is wider than the projection (padded value heads)
    cache_head_v: int | None = None
    projected_kv: int = 2            # 0: a layer that shares its cache and has no key/value projection; 1: keys are the values

    def params(self, tp: int) -> int:
        heads, kv_heads = share(self.heads, tp), kv_heads_per_rank(self.kv_heads, tp)
        columns = heads * self.head * (2 if self.gated else 1)
        columns += kv_heads * (self.head + (self.head_v if self.projected_kv == 2 else 0)) if self.projected_kv else 0
        total = columns * self.hidden + heads * self.head_v * self.hidden
        return total + (columns + self.hidden if self.bias else 0)


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: one latent vector a token instead of keys and values, the same on every rank.

    `index_*`: the lightning indexer of sparse variants, 0 where there is none; it is replicated too.
    """

    hidden: int
    heads: int
    q_rank: int                      # 0: queries are projected directly
    kv_rank: int
    nope: int
    rope: int
    head_v: int
    index_heads: int = 0
    index_head: int = 0

    def params(self, tp: int) -> int:
        heads = share(self.heads, tp)
        query = self.nope + self.rope
        total = self.hidden * (self.kv_rank + self.rope) + self.kv_rank * heads * (self.nope + self.head_v)
        total += self.hidden * self.q_rank + self.q_rank * heads * query if self.q_rank else self.hidden * heads * query
        index = self.index_heads * self.index_head * (self.q_rank or self.hidden) + self.hidden * (self.index_head + self.index_heads)
        return total + heads * self.head_v * self.hidden + (index if self.index_heads else 0)


@dataclass(frozen=True)
class Recurrent:
    """A layer whose cache is one state for a sequence, not for a token.

    `split`/`whole`: parameters split over the ranks and replicated ones. `heads` must divide by the number of ranks.
    """

    kind: str
    split: int
    whole: int
    conv: tuple[int, int]            # channels over all ranks, kernel - 1
    conv_extra: int                  # channels of one more group
    groups: int
    state: int                       # elements of the recurrent state, split over the ranks
    state_dtype: str                 # "model", "float32" …
    heads: int = 0
    group_params: int = 0            # parameters of one more group

    def params(self, tp: int) -> int:
        return share(self.split + self.extra_groups(tp) * self.group_params, tp) + self.whole

    def extra_groups(self, tp: int) -> int:
        """Groups that are replicated so that every rank has those of its heads."""
        return 0 if self.groups == 0 or self.groups % tp == 0 else tp - self.groups

    def state_elements(self, tp: int) -> tuple[int, int]:
        """(convolution, recurrent) elements that one rank holds for one sequence (vLLM: mamba_utils.py)."""
        channels, length = self.conv
        return share(channels + self.extra_groups(tp) * self.conv_extra, tp) * length, share(self.state, tp)


@dataclass(frozen=True)
class Mlp:
    """Dense MLP: `matrices` is 3 for a gated one (gate, up, down), 2 for a plain one. `copies`: MLPs of the same shape in the layer."""

    hidden: int
    width: int
    matrices: int = 3
    replicated: bool = False

    def params(self, tp: int) -> int:
        return self.matrices * self.hidden * (self.width if self.replicated else share(self.width, tp))


@dataclass(frozen=True)
class Experts:
    """Routed experts, each split over the ranks (tensor parallel, the default), and their replicated router."""

    hidden: int
    width: int
    count: int
    matrices: int = 3
    bias: bool = False
    router_width: int | None = None

    def params(self, tp: int) -> int:
        width = share(self.width, tp)
        bias = self.count * ((self.matrices - 1) * width + self.hidden) if self.bias else 0
        return self.count * self.matrices * self.hidden * width + self.count * (self.router_width or self.hidden) + bias


@dataclass(frozen=True)
class Layer:
    """One decoder layer: everything it holds. `extra`: further parameters that every rank holds, norms left out."""

    mixers: tuple[Attention | Latent | Recurrent, ...] = ()
    mlps: tuple[Mlp | Experts, ...] = ()
    extra: int = 0
    extra_split: int = 0

    def params(self, tp: int) -> int:
        parts = sum(part.params(tp) for part in (*self.mixers, *self.mlps))
        return parts + self.extra + share(self.extra_split, tp)
