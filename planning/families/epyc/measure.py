"""What the engine would allocate for one KV space: the seam between the EPYC family and the capacity arithmetic."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planning.catalog import load_toml
from planning.errors import Notes
from planning.families.base import Case
from planning.plan import Engine, Line
from planning.resolve.manifest import ModelSupport
from planning.units import GIB


@dataclass(frozen=True)
class Measure:
    """Bytes of one rank, line by line, and what the KV space holds."""

    lines: tuple[Line, ...]
    weights_bytes: int | None
    kv_cache_tokens: int | None
    max_concurrency: float | None
    notes: Notes = Notes()


def measured(case: Case, engine: Engine, support: ModelSupport, ranks: int, max_model_len: int) -> Callable[[int], Measure] | Notes:
    config = case.manifest.config or {}
    weights = (case.manifest.weights_bytes or 2 * GIB) // ranks
    token = 2 * 2 * config.get("num_hidden_layers", 32) * config.get("num_key_value_heads", 8) * config.get("head_dim", 128) // ranks or 1

    def take(kv_gib: int) -> Measure:
        tokens = kv_gib * GIB // token
        lines = (Line("weights", weights), Line("kv-cache", kv_gib * GIB), Line("activations", GIB), Line("runtime", 2 * GIB),
                 Line("headroom", load_toml("epyc.toml")["memory"]["os_headroom_gib"] * GIB))
        return Measure(lines, weights, tokens, tokens / max_model_len)
    return take
