"""KV cache specs: what one layer keeps for a block of tokens (or for a sequence), and how many blocks one request takes.

A `Spec` is vLLM's KVCacheSpec without what the arithmetic does not need: vllm/v1/kv_cache_interface.py.
"""
from __future__ import annotations

from dataclasses import dataclass

FULL, SLIDING, CHUNKED, LATENT, STATE, CROSS = "full", "sliding", "chunked", "latent", "state", "cross"


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


@dataclass(frozen=True)
class Request:
    """What a request of the longest kind asks of every layer. `in_flight`: tokens scheduled but not settled."""

    max_model_len: int
    in_flight: int
    encoder_len: int = 0


@dataclass(frozen=True)
class Spec:
    """One layer's cache. `token_bytes` for each token of a block of `block` tokens; a state has its whole size in `state_bytes`.

    `window`: tokens that a sliding or chunked layer looks back at. `slots`: states a sequence keeps. `per_block_state`: a state for every
    `block` tokens (prefix caching in mode "all"). `padded`: the page's size where it was enlarged to that of another layer.
    """

    kind: str
    block: int
    token_bytes: int = 0
    state_bytes: int = 0
    window: int = 0
    slots: int = 1
    per_block_state: bool = False
    padded: int | None = None

    @property
    def page_bytes(self) -> int:
        """Bytes of one block of this layer."""
        return self.padded or (self.state_bytes if self.kind == STATE else self.block * self.token_bytes)

    @property
    def base(self) -> tuple[str, int]:
        """What layers must have in common to share block tables: full attention of all sizes, windows of the same length, equal slots."""
        family = FULL if self.kind in (FULL, LATENT) else self.kind
        return family, self.window if self.kind in (SLIDING, CHUNKED) else (self.slots if self.kind == STATE else 0)

    def blocks(self, request: Request) -> int:
        """Blocks that one request takes in this layer (max_memory_usage_bytes / page size)."""
        length = request.max_model_len
        if self.kind == STATE:
            return ceil_div(length, self.block) if self.per_block_state else self.slots
        if self.kind == SLIDING:
            return ceil_div(min(self.window - 1 + request.in_flight, length), self.block) + 1
        if self.kind == CHUNKED:
            return ceil_div(min(self.window + request.in_flight, length), self.block)
        return ceil_div(request.encoder_len if self.kind == CROSS else length, self.block)
