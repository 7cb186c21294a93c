"""Decides between probes: who is believed for which fact, and what is said when they disagree. The one place for that rule.

From what each probe said, giving one value, the name of the probe that said it, and a warning that shows both sides.

The rule: the kernel's own files come before tools that read them, structured output before text made for people, a
device's own number before a table's. `ORDER` is that rule, by fact; a probe that is not listed comes after those that are.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planning.errors import Warn

KERNEL_CPU = ("sys-cpu", "lscpu-p", "lscpu-json", "lscpu", "cpuinfo", "numactl", "rocminfo")
GPU_ORDER = ("kfd-topology", "pci", "amd-smi", "rocminfo", "rocm-smi", "device-id-table", "name-table")

ORDER: dict[str, tuple[str, ...]] = {
    "cpu.": ("cpuinfo", "lscpu-json", "lscpu", "rocminfo", "derived"),
    "cpu.cpus_online": KERNEL_CPU,
    "cpu.cpus": KERNEL_CPU,
    "cpu.sockets": ("lscpu-json", "lscpu", "lscpu-p", "cpuinfo", "rocminfo"),
    "cpu.cores_per_socket": ("lscpu-p", "lscpu-json", "lscpu", "cpuinfo"),
    "cpu.threads_per_core": ("arithmetic", "lscpu-p", "lscpu-json", "lscpu", "cpuinfo", "rocminfo"),
    "cpu.numa_nodes": ("lscpu-json", "lscpu", "sys-node", "numactl", "lscpu-p", "kfd-topology"),
    "cpu.node.": ("sys-node", "lscpu-p", "lscpu-json", "lscpu", "numactl", "kfd-topology", "derived"),
    "gpus.count": ("kfd-topology", "amd-smi", "rocm-smi", "rocminfo", "pci"),
    "gpus.rocm_version": ("rocm-version-file", "amd-smi-version", "amd-smi"),
    "gpus.driver_version": ("amdgpu-module", "amd-smi-version", "amd-smi", "rocm-smi"),
    "gpu.": GPU_ORDER,
    "gpu.device_id": ("kfd-topology", "pci", "amd-smi", "rocminfo", "rocm-smi", "uuid"),
    "gpu.market_name": ("amd-smi", "rocm-smi", "rocminfo", "device-id-table"),
    "gpu.compute_partition": ("pci", "amd-smi", "rocm-smi", "kfd-topology"),
    "gpu.vram_bytes": ("kfd-topology", "rocminfo", "pci", "amd-smi", "rocm-smi", "amd-smi-monitor"),
}


@dataclass(frozen=True)
class Said:
    value: Any
    probe: str      # the file or section that said it
    subject: str    # its kind, as in ORDER


@dataclass
class Ledger:
    """Collects what was said; `take` decides, remembers the witness and notes a disagreement."""

    said: dict[str, list[Said]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    warnings: list[Warn] = field(default_factory=list)

    def say(self, fact: str, value: Any, probe: str, subject: str) -> None:
        """Notes a value; None (the probe does not know) is no testimony."""
        if value is not None:
            self.said.setdefault(fact, []).append(Said(value, probe, subject))

    def warn(self, code: str, message: str) -> None:
        note = Warn(code, message)
        if note not in self.warnings:
            self.warnings.append(note)

    def take(self, fact: str, rule: str | None = None, agree: Callable[[Any, Any], bool] | None = None) -> Any:
        """The value of the best witness, or None. `rule`: the key of ORDER if it is not the fact's own name.

        `agree` tells whether two values are the same for this purpose (default: equal).
        """
        heard = self.said.get(fact, [])
        if not heard:
            return None
        order = _order_for(rule or fact)
        ranked = sorted(heard, key=lambda said: order.index(said.subject) if said.subject in order else len(order))
        best = ranked[0]
        self.chosen[fact] = best.probe
        same = agree or (lambda a, b: a == b)
        others = [said for said in ranked[1:] if not same(best.value, said.value)]
        if others:
            self.warn("witnesses-disagree", f"{fact}: {best.probe} says {best.value}, "
                      + ", ".join(f"{said.probe} says {said.value}" for said in others) + f"; taken: {best.value}")
        return best.value


def _order_for(rule: str) -> tuple[str, ...]:
    """The longest key of ORDER that is the fact or a prefix of it ending in a dot."""
    keys = [key for key in ORDER if rule == key or (key.endswith(".") and rule.startswith(key))]
    return ORDER[max(keys, key=len)] if keys else ()
