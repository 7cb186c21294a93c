"""Synthetic Instinct hosts for the planning tests: facts as a healthy machine would give them, GPUs on two NUMA nodes, all VRAM free."""
from __future__ import annotations

from dataclasses import replace

from planning.detect.facts import Cpu, GpuDevice, Gpus, HostFacts, HostSurvey, Memory, Runtime, Storage

GIB = 1 << 30
KINDS = {
    "mi300x": ("AMD Instinct MI300X", "gfx942", "0x74a1", 192), "mi325x": ("AMD Instinct MI325X", "gfx942", "0x74a5", 256),
    "mi355x": ("AMD Instinct MI355X", "gfx950", "0x75a3", 288), "mi210": ("AMD Instinct MI210", "gfx90a", "0x740f", 64),
    "mi300a": ("AMD Instinct MI300A", "gfx942", "0x74a0", 128),
}


def device(kind: str, index: int, count: int, **changes) -> GpuDevice:
    name, gfx, pci_id, vram = KINDS[kind]
    facts = GpuDevice(index=index, market_name=name, gfx=gfx, device_id=pci_id, vram_bytes=vram * GIB, compute_partition="SPX", memory_partition="NPS1",
                      virtual_function=False, instinct=True, pci=f"0000:{index + 1:02x}:00.0", hip_index=index,
                      numa_node=2 * index // count if count > 1 else 0, render_node=f"/dev/dri/renderD{128 + 8 * index}")
    return replace(facts, **changes)


def host(kind: str = "mi300x", number: int = 8, devices: tuple[GpuDevice, ...] | None = None, **gpus) -> HostFacts:
    """A host with `number` GPUs of one kind; `gpus` changes fields of `Gpus`."""
    found = tuple(device(kind, i, number) for i in range(number)) if devices is None else devices
    facts = Gpus(count=len(found), state="ok", rocm_version="7.2.0", driver_version="6.16.6", devices=found, kfd_gid=109, render_gids=(109, 44),
                 numa_balancing=False)
    docker = Runtime(reachable=True, server_version="27.5.1", rootless=False, is_podman=False, cgroup_version=2)
    storage = Storage(home="/home/ops", hf_cache="/home/ops/.cache/huggingface", hf_cache_exists=True, hf_cache_writable=True, hf_cache_fstype="ext4")
    return HostFacts(name=f"{kind}-{len(found)}", cpu=Cpu(is_epyc=True, generation="Genoa", sockets=2), memory=Memory(total_bytes=1536 * GIB),
                     gpus=replace(facts, **gpus), docker=docker, storage=storage, uid=1000, user="ops", ssh_address="192.0.2.10")


def survey(facts: HostFacts, used_gib: dict[int, int] | None = None, **changes) -> HostSurvey:
    """Nothing runs; `used_gib` says how much VRAM strangers hold on a GPU."""
    free = {gpu.index: (gpu.vram_bytes or 0) - (used_gib or {}).get(gpu.index, 0) * GIB for gpu in facts.gpus.devices}
    return replace(HostSurvey(used_ports=(22,), vram_free_bytes=free), **changes)
