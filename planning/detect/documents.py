"""Writes facts and survey as the JSON document of `python -m planning detect`: names of the contract, unknown is null, lists of CPUs as text."""
from __future__ import annotations

from typing import Any

from planning.detect import cpulist
from planning.detect.facts import Cpu, GpuDevice, HostFacts, HostSurvey, Runtime

CPU_KEYS = ("vendor", "model_name", "cpu_family", "cpu_model", "is_epyc", "generation", "zen", "sockets", "cores_per_socket", "threads_per_core",
            "cpus", "cpus_online", "numa_nodes", "avx2", "avx512f", "avx512_bf16", "avx512_vnni", "hypervisor")
GPU_KEYS = ("index", "market_name", "gfx", "device_id", "vram_bytes", "compute_partition", "memory_partition", "virtual_function", "instinct",
            "product", "integrated", "compute_units", "pci", "hip_index", "numa_node", "render_node")
RUNTIME_KEYS = ("reachable", "reason", "is_podman", "rootless", "server_version", "cgroup_version", "cgroup_driver", "limits_enforced",
                "desktop", "root_dir", "architecture")


def document(facts: HostFacts, survey: HostSurvey) -> dict[str, Any]:
    """The contract's document, with what we know beyond it added."""
    warnings = list(dict.fromkeys((*facts.warnings, *survey.warnings)))
    return {
        "name": facts.name,
        "cpu": _cpu(facts.cpu),
        "memory": {"total_bytes": facts.memory.total_bytes, "available_bytes": survey.available_bytes, "limit_bytes": facts.memory.limit_bytes},
        "gpus": {"count": facts.gpus.count, "state": facts.gpus.state, "rocm_version": facts.gpus.rocm_version,
                 "driver_version": facts.gpus.driver_version, "amdsmi_version": facts.gpus.amdsmi_version,
                 "devices": [_gpu(device, survey) for device in facts.gpus.devices]},
        "runtimes": {"docker": _runtime(facts.docker), "podman": _runtime(facts.podman)},
        "session": {"uid": facts.uid, "tools": list(facts.tools), "used_ports": None if survey.used_ports is None else list(survey.used_ports),
                    "hf_cache": facts.storage.hf_cache, "hf_cache_fstype": facts.storage.hf_cache_fstype},
        "witnesses": dict(sorted(facts.witnesses.items())),
        "warnings": [{"code": note.code, "message": note.message} for note in warnings],
    }


def _cpu(cpu: Cpu) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(cpu, key) for key in CPU_KEYS}
    plain["nodes"] = [{"node": node.node, "socket": node.socket, "cpus": cpulist.show(node.cpus), "memory_bytes": node.memory_bytes}
                      for node in cpu.nodes]
    plain["allowed"] = None if cpu.allowed is None else cpulist.show(cpu.allowed)
    plain["isolated"] = cpulist.show(cpu.isolated)
    return plain


def _gpu(device: GpuDevice, survey: HostSurvey) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(device, key) for key in GPU_KEYS}
    plain["vram_free_bytes"] = survey.vram_free_bytes.get(device.index)
    return plain


def _runtime(runtime: Runtime) -> dict[str, Any]:
    plain: dict[str, Any] = {key: getattr(runtime, key) for key in RUNTIME_KEYS}
    plain["controllers"] = None if runtime.controllers is None else list(runtime.controllers)
    return plain
