"""Budget lines, the worker's view of its node, and the table that people read."""
from __future__ import annotations

import pytest

from planning.fit import capacity
from planning.fit.budget import activation_bytes, cpu_lines, gpu_available_bytes, gpu_lines, left_for_kv, required_bytes
from planning.fit.cpu_budget import automatic_kv_bytes, default_kv_bytes, explicit_kv_fits, node_memory, server_bytes, worker_base_bytes
from planning.fit.table import bar, budget_text, buys
from planning.units import GIB
from tests.planning.fit.recorded import config_of

QWEN = config_of("Qwen__Qwen3-8B")


@pytest.mark.parametrize(("ram_gib", "kv_gib"), [(8, 4), (32, 16), (33, 13), (64, 25), (128, 51), (768, 307), (1, 1), (0, 1)])
def test_default_kv_space(ram_gib, kv_gib):
    assert default_kv_bytes(ram_gib * GIB) == kv_gib * GIB


def test_the_worker_honours_a_cgroup_limit():
    node = {"total_bytes": 64 * GIB, "free_bytes": 40 * GIB, "active_file_bytes": 4 * GIB, "inactive_file_bytes": 2 * GIB, "reclaimable_bytes": GIB}
    assert node_memory(**node).available_bytes == 47 * GIB
    limited = node_memory(**node, cgroup_limit_bytes=16 * GIB, cgroup_usage_bytes=3 * GIB)
    assert (limited.total_bytes, limited.available_bytes) == (16 * GIB, 13 * GIB)
    assert node_memory(**node, cgroup_limit_bytes=128 * GIB).total_bytes == 64 * GIB
    assert explicit_kv_fits(13 * GIB, limited.available_bytes) and not explicit_kv_fits(14 * GIB, limited.available_bytes)


def test_the_real_engines_too_small_containers_are_refused():
    """oom.log: 2200 MiB limit, 4 GiB of KV, "0.66/2.15 GiB" available. kv-too-big.log: 100 GiB with 11.66 available."""
    assert not explicit_kv_fits(4 * GIB, int(0.66 * GIB))
    assert not explicit_kv_fits(100 * GIB, int(11.66 * GIB))


def test_automatic_kv_space_is_what_utilisation_leaves():
    assert automatic_kv_bytes(0.3396, int(32.72 * GIB), int(5.74 * GIB)) == pytest.approx(5.37 * GIB, rel=0.002)      # row C8


def test_a_measured_container_fits_its_lines():
    """container-ok.stats: 1 GiB of KV, weights of a few MB: 2.584 GiB in use."""
    lines = cpu_lines(weights_bytes=4 << 20, kv_cache_bytes=GIB, headroom=0)
    assert 2.584 * GIB <= required_bytes(lines) <= 1.2 * 2.584 * GIB
    assert [line.name for line in lines] == ["weights", "kv-cache", "activations", "runtime", "servers", "headroom"]
    assert server_bytes() + worker_base_bytes() == 2_068_000_000


def test_gpu_lines_keep_the_procedures_reserve():
    reserve = [line for line in gpu_lines(weights_bytes=0, kv_cache_bytes=0, activation_bytes=GIB) if line.name in ("activations", "graphs", "runtime")]
    assert required_bytes(reserve) == 4 * GIB
    eager = gpu_lines(weights_bytes=0, kv_cache_bytes=0, activation_bytes=GIB, enforce_eager=True)
    assert required_bytes(eager) == 4 * GIB - 1_610_612_736
    large = gpu_lines(weights_bytes=0, kv_cache_bytes=0, activation_bytes=9 * GIB)
    assert required_bytes(large) > 9 * GIB


def test_gpu_budget_is_bounded_by_what_is_free():
    assert gpu_available_bytes(192 * GIB) == int(0.92 * 192 * GIB)
    assert gpu_available_bytes(192 * GIB, free_bytes=10 * GIB) == 10 * GIB
    assert [left_for_kv(gib * GIB) for gib in (7, 6, 3, 2, 1)] == ["comfortable", "comfortable", "tight", "tight", "too-little"]


def test_activations_grow_with_the_batch_and_are_unknown_without_sizes():
    small, large = (activation_bytes(QWEN, max_num_batched_tokens=tokens, max_num_seqs=1) for tokens in (2048, 16384))
    assert 0 < small < large == 8 * small
    assert activation_bytes({}, max_num_batched_tokens=1, max_num_seqs=1) is None


def test_the_table_is_read_by_people():
    found = capacity(QWEN, kv_cache_bytes=40 * GIB, max_model_len=4096)
    lines = cpu_lines(weights_bytes=found.weights_bytes_per_rank, kv_cache_bytes=40 * GIB)
    text = budget_text(lines, 96 * GIB, found, "node 0 of genoa-01")
    assert "Memory of node 0 of genoa-01" in text and "weights          15.26 GiB" in text
    assert text.endswith("The KV cache holds 291,200 tokens, 71 requests of 4,096.")
    assert buys(found) == "291,200 tokens, 71 requests of 4,096"


@pytest.mark.parametrize(("used", "available", "shown"), [(5, 10, "[#####-----] 50 %"), (0, 10, "[----------] 0 %"), (10, 10, "[##########] 100 %"),
                                                         (15, 10, "[#########!] 150 %"), (1, 0, "[!!!!!!!!!!] nothing available")])
def test_bar(used, available, shown):
    assert bar(used, available, 10) == shown
