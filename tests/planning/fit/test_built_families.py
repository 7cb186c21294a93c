"""Models of every family that vLLM has a class for, built on the meta device by vLLM itself: the kind is handled, not the case."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from planning.fit import capacity
from planning.units import GIB
from tests.planning.fit.recorded import KV_BOUND, WEIGHTS_BOUND, relative

FAMILIES = json.loads((Path(__file__).parent / "built-families.json").read_text(encoding="utf-8"))["families"]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_numbers_are_those_of_vllm(name):
    for plan in FAMILIES[name]["plans"]:
        # the machine that built them has AVX512-BF16, where 0.32.0 keeps Mamba states in float32
        state = "float32" if plan["version"] == "0.32.0" else None
        found = capacity(FAMILIES[name]["config"], kv_cache_bytes=64 * GIB, max_model_len=plan["max_model_len"], tensor_parallel_size=plan["tp"],
                         block_size=None if plan["tp"] == 1 else 16, quantization="none", max_num_batched_tokens=plan["batched"],
                         vllm_version=plan["version"], state_dtype=state)
        where = f"vLLM {plan['version']}, tp {plan['tp']}"
        assert relative(found.weights_bytes_per_rank, plan["weights"]) <= WEIGHTS_BOUND, where
        if plan.get("max_concurrency"):
            assert relative(found.kv_cache_num_blocks, plan["num_blocks"]) <= KV_BOUND, where
            assert relative(found.max_concurrency, plan["max_concurrency"]) <= KV_BOUND, where


def test_many_families_are_covered():
    assert len(FAMILIES) >= 140
