"""The recorded table: what vLLM's own planner computed for real configs (tests/models), and how far `capacity` is from it."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planning.fit import Capacity, capacity
from planning.units import GIB

MODELS = Path(__file__).resolve().parents[2] / "models"
KV_BOUND, WEIGHTS_BOUND = 0.001, 0.02


@dataclass(frozen=True)
class Row:
    """One plan that vLLM made: model folder, vLLM version, name of the setting, its numbers."""

    model: str
    version: str
    setting: str
    numbers: Mapping[str, Any]


@cache
def config_of(model: str) -> Mapping[str, Any]:
    """The model's config.json."""
    return json.loads((MODELS / model / "config.json").read_text(encoding="utf-8"))


def rows() -> Iterator[Row]:
    """Every plan of every model, in a fixed order."""
    for path in sorted(MODELS.glob("*/vllm.json")):
        for version, plans in json.loads(path.read_text(encoding="utf-8")).items():
            for setting, numbers in plans.items():
                yield Row(path.parent.name, version, setting, numbers)


def computed(row: Row) -> Capacity:
    """`capacity` with the settings of a row."""
    numbers = row.numbers
    return capacity(config_of(row.model), kv_cache_bytes=int(numbers["kv_gib"] * GIB), max_model_len=numbers["max_model_len"],
                    tensor_parallel_size=numbers["tp"], block_size=numbers["block_size_asked"] or None, quantization="none",
                    max_num_batched_tokens=numbers["max_num_batched_tokens"], vllm_version=row.version)


def relative(found: float | None, expected: float) -> float:
    """Relative error; infinite where nothing was found."""
    return float("inf") if found is None else abs(found - expected) / expected


def errors(row: Row) -> dict[str, float]:
    """Relative errors of blocks, concurrency and weights."""
    found, numbers = computed(row), row.numbers
    return {"blocks": relative(found.kv_cache_num_blocks, numbers["num_blocks"]),
            "concurrency": relative(found.max_concurrency, numbers["max_concurrency"]),
            "weights": relative(found.weights_bytes_per_rank, numbers["weights_param_bytes_rank0"])}
