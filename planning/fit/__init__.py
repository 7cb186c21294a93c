"""Fit: what vLLM will allocate for a model, and whether that is there. From configs and settings to integers of bytes; no I/O."""
from __future__ import annotations

from planning.fit.capacity import Capacity, capacity
from planning.fit.weights import Weights, weights_per_rank

__all__ = ["Capacity", "Weights", "capacity", "weights_per_rank"]
