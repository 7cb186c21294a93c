"""Memory of a container, from real memory.stat texts of both cgroup versions."""
from __future__ import annotations

import pytest

from planning.health.memory import held_bytes, planned_bytes

V1 = "cache 318238720\nrss 2783780864\nrss_huge 0\ntotal_cache 318238720\ntotal_rss 2783780864\ntotal_shmem 98304\ntotal_mapped_file 22298624\n"
V2 = "anon 2783780864\nfile 318238720\nkernel 12582912\nshmem 98304\nfile_mapped 22298624\n"
LINES = [{"name": "weights", "bytes": 10}, {"name": "kv-cache", "bytes": 5}, {"name": "headroom", "bytes": 100}]


@pytest.mark.parametrize("text", [V1, V2])
def test_page_cache_is_not_counted(text):
    assert held_bytes(text) == 2783780864 + 98304


@pytest.mark.parametrize("text", ["", "anon\n", "anon x\nshmem 3\n", "total_rss 4\n", "\0"])
def test_unknown(text):
    assert held_bytes(text) is None


def test_all_ranks_without_the_headroom():
    assert planned_bytes({"scope": "socket", "lines": LINES}, 2) == 30


@pytest.mark.parametrize("memory", [None, {}, {"scope": "gpu", "lines": LINES}, {"scope": "socket", "lines": []}])
def test_no_plan_of_this_memory(memory):
    assert planned_bytes(memory, 1) is None
