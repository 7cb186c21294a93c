"""What vLLM's CPU worker compares with what, as arithmetic on numbers that a host tells. Nothing is read here.

vllm/v1/worker/cpu_worker.py and vllm/utils/cpu_resource_utils.py of vLLM 0.25.1; the start-up errors are in the real engine's logs.
"""
from __future__ import annotations

from dataclasses import dataclass

from planning.catalog import load_toml
from planning.units import GIB

TABLE = "memory-budget.toml"


@dataclass(frozen=True)
class NodeMemory:
    """Bytes of the NUMA node of a worker's first CPU, as the worker sees them."""

    total_bytes: int
    available_bytes: int


def node_memory(*, total_bytes: int, free_bytes: int, active_file_bytes: int, inactive_file_bytes: int, reclaimable_bytes: int,
                cgroup_limit_bytes: int | None = None, cgroup_usage_bytes: int = 0) -> NodeMemory:
    """get_memory_node_info: free + page cache + reclaimable slab of the node; a smaller cgroup limit replaces the total and caps what is available.

    A host without NUMA nodes gives its whole memory here, and the worker then ignores the cgroup limit.
    """
    available = free_bytes + active_file_bytes + inactive_file_bytes + reclaimable_bytes
    if cgroup_limit_bytes is not None and cgroup_limit_bytes < total_bytes:
        return NodeMemory(cgroup_limit_bytes, max(0, min(available, cgroup_limit_bytes - cgroup_usage_bytes)))
    return NodeMemory(total_bytes, available)


def explicit_kv_fits(kv_cache_bytes: int, available_after_loading_bytes: int) -> bool:
    """determine_available_memory with VLLM_CPU_KVCACHE_SPACE: the KV space is compared, for each rank on its own, with what its node has
    left once the weights are loaded and the model is warmed up. More is refused: "less than requested memory for kv"."""
    return kv_cache_bytes <= available_after_loading_bytes


def automatic_kv_bytes(utilization: float, total_bytes: int, worker_resident_bytes: int) -> int:
    """The KV space without an explicit one: utilisation x node total (or cgroup limit), less what the worker holds itself; 0 or less is refused."""
    return -int(-total_bytes * utilization // 1) - worker_resident_bytes


def server_bytes() -> int:
    """Resident memory outside the workers: API server and engine core."""
    data = load_toml(TABLE)["cpu"]
    return data["api_server_bytes"] + data["engine_core_bytes"]


def worker_base_bytes() -> int:
    """Resident memory of a worker before weights and KV cache."""
    return load_toml(TABLE)["cpu"]["worker_base_bytes"]


def headroom_bytes() -> int:
    """What is left to the system on a node."""
    return load_toml(TABLE)["cpu"]["headroom"]["os_bytes"]


def default_kv_bytes(ram_bytes: int) -> int:
    """AMD's KV space for a socket (or the node that is bound) with so much RAM, in whole GiB:
    min(0.4 x RAM, RAM - 16 GiB), half of the RAM up to 32 GiB, at least 1 GiB."""
    data = load_toml(TABLE)["cpu"]["headroom"]
    if ram_bytes <= data["small_socket_bytes"]:
        wanted = ram_bytes * data["small_socket_share"]
    else:
        wanted = min(ram_bytes * data["kv_share"], ram_bytes - data["kv_keep_free_bytes"])
    return max(data["smallest_kv_bytes"], int(wanted) // GIB * GIB)
