"""Writes the synthetic Instinct hosts below tests/hosts: what our own probes print on a healthy machine with eight (or one) GPUs.

`python -m tests.hosts.synthetic_instinct` writes them all again; a test compares. The CPU part is that of tests/hosts/synthetic.py.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from tests.hosts.synthetic import HOSTS as CPU_HOSTS
from tests.hosts.synthetic import Machine
from tests.hosts.synthetic import files as cpu_files

HERE = Path(__file__).resolve().parent
MIB = 1 << 20


@dataclass(frozen=True)
class Rack:
    """GPUs of one product beside the CPUs of `machine`. `used_mib`: VRAM in use, by GPU."""

    machine: Machine
    product: str
    device_id: str
    gfx: str
    vram_mib: int
    count: int = 8
    used_mib: int = 285
    rocm: str = "7.2.0"
    driver: str = "6.16.6"

    def bus(self, index: int) -> str:
        return f"0000:{0x0c + 0x20 * index:02x}:00.0"

    def render(self, index: int) -> int:
        return 128 + 8 * index

    def node(self, index: int) -> int:
        return index * len(self.machine.node_gib) // self.count


def cpu(name: str, what: str) -> Machine:
    return replace(CPU_HOSTS[name], what=what)


RACKS = {
    "mi300x-x8": Rack(cpu("genoa-dual", "eight MI300X, SPX/NPS1, four on each socket, all free"), "AMD Instinct MI300X", "0x74a1", "gfx942", 196592),
    "mi325x-x8": Rack(cpu("turin-dense", "eight MI325X, SPX/NPS1, four on each socket, all free"), "AMD Instinct MI325X", "0x74a5", "gfx942", 262128),
    "mi355x-x8": Rack(cpu("turin-dense", "eight MI355X, SPX/NPS1, four on each socket, all free"), "AMD Instinct MI355X", "0x75a3", "gfx950", 294896),
    "mi300x-x1": Rack(cpu("genoa-single", "one MI300X"), "AMD Instinct MI300X", "0x74a1", "gfx942", 196592, count=1),
    "mi210-x8": Rack(cpu("milan-dual", "eight MI210: a gfx that AMD's data does not cover"), "AMD Instinct MI210", "0x740f", "gfx90a", 65520),
}


def files(rack: Rack) -> dict[str, str]:
    """All files of one host, by name."""
    gpus = range(rack.count)
    static = [{"gpu": i, "asic": {"market_name": rack.product, "vendor_id": "0x1002", "device_id": rack.device_id, "target_graphics_version": rack.gfx},
               "bus": {"bdf": rack.bus(i)}, "vram": {"type": "HBM3", "vendor": "N/A", "size": {"value": rack.vram_mib, "unit": "MB"}},
               "driver": {"name": "amdgpu", "version": rack.driver}, "partition": {"compute_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
               "numa": {"node": rack.node(i), "affinity": rack.node(i)}} for i in gpus]
    listing = [{"gpu": i, "bdf": rack.bus(i), "uuid": f"00000000-0000-1000-8000-{i:012d}", "kfd_id": 1000 + i, "node_id": 2 + i, "partition_id": 0,
                "render": f"renderD{rack.render(i)}", "hip_id": i} for i in gpus]
    usage = [{"gpu": i, "mem_usage": {name: {"value": value, "unit": "MB"} for name, value in (
        ("total_vram", rack.vram_mib), ("used_vram", rack.used_mib), ("free_vram", rack.vram_mib - rack.used_mib))}} for i in gpus]
    version = [{"tool": "AMDSMI Tool", "version": "26.2.0", "amdsmi_library_version": "26.2.0", "rocm_version": rack.rocm, "amdgpu_version": rack.driver}]
    nodes = "".join(f"renderD{rack.render(i)} uid=0 gid=109 usable=1\n" for i in gpus)
    return {**cpu_files("", rack.machine), "amd-smi-static.json": document(static), "amd-smi-list.json": document(listing),
            "amd-smi-metric.json": document(usage), "amd-smi-version.json": document(version), "pci-display.txt": pci(rack),
            "dev-access.txt": f"kfd uid=0 gid=109 usable=1\n{nodes}scanned:1\n", "numa-balancing.txt": "0\n", "rocm-version.txt": f"{rack.rocm}\n",
            "amdgpu-module.txt": f"{rack.driver}\n", "case.json": case(rack)}


def pci(rack: Rack) -> str:
    rows = [f"{rack.bus(i)} device={rack.device_id} class=0x120000 numa_node={rack.node(i)} driver=amdgpu render=renderD{rack.render(i)} "
            f"vram_total={rack.vram_mib * MIB} compute=SPX memory=NPS1 vf=0\n" for i in range(rack.count)]
    return "".join(rows) + "scanned:1\n"


def case(rack: Rack) -> str:
    expect = {"gpu_count": rack.count, "gfx": rack.gfx, "device_id": rack.device_id, "market_name": rack.product, "vram_mb": rack.vram_mib,
              "rocm_version": rack.rocm, "driver_version": rack.driver, "compute_partition": "SPX", "memory_partition": "NPS1"}
    return document({"synthetic": True, "source": "tests/hosts/synthetic_instinct.py", "what": rack.machine.what, "confidence": "synthetic", "expect": expect})


def document(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"


def write_all() -> None:
    for name, rack in RACKS.items():
        folder = HERE / f"synthetic-{name}"
        folder.mkdir(exist_ok=True)
        for file, text in files(rack).items():
            (folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_all()
