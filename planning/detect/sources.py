"""Tells what a recorded file is from its name, and sorts all of them by kind; the names are those of hosts/README.md and of our probes.

From file names, giving a subject ("lscpu", "amd-smi", …) that the rest of detection works with. Unknown files are kept apart.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PREFIXES: tuple[tuple[str, str], ...] = (   # the first that fits decides, so longer ones stand before shorter ones
    ("lscpu-p", "lscpu-p"), ("lscpu", "lscpu"), ("cpuinfo", "cpuinfo"), ("sys-cpu", "sys-cpu"), ("sys-node", "sys-node"),
    ("self-status", "self-status"), ("cgroup", "cgroup"),
    ("memory.max", "cgroup"), ("memory.limit_in_bytes", "cgroup"), ("cpuset.cpus", "cgroup"), ("meminfo", "meminfo"), ("numactl-hardware", "numactl"),
    ("numactl-h", "numactl"), ("kfd-topology", "kfd-topology"), ("pci-display", "pci"), ("dev-access", "dev-access"),
    ("amd-smi-version", "amd-smi-version"), ("amd-smi-monitor", "amd-smi-monitor"), ("amd-smi", "amd-smi"),
    ("rocm-smi", "rocm-smi"), ("rocminfo", "rocminfo"), ("amdgpu-module", "amdgpu-module"), ("rocm-version", "rocm-version-file"),
    ("numa-balancing", "numa-balancing"), ("docker-ps", "docker-ps"), ("docker-images", "docker-images"),
    ("docker-version", "docker-version"), ("docker-info", "docker-info"), ("docker-tail", "docker-info"),
    ("podman-ps", "podman-ps"), ("podman-images", "podman-images"), ("podman-version", "podman-version"),
    ("podman-info", "podman-info"), ("hf-cache", "hf-cache"), ("findmnt", "findmnt"), ("mount", "mount"), ("df-", "df"),
    ("session", "session"), ("tools", "tools"), ("python-envs", "python-envs"), ("libraries", "libraries"),
    ("survey-stat", "stat"), ("survey-vram", "vram"), ("survey-holders", "vram-holders"), ("ss-", "ss"), ("ss.", "ss"),
    ("proc-net-tcp", "proc-net-tcp"), ("probe-errors", "probe-errors"), ("user-instance", "user-instance"),
)


@dataclass(frozen=True)
class Source:
    name: str       # file or section name
    subject: str
    text: str


def sort(outputs: Mapping[str, str]) -> dict[str, list[Source]]:
    """Sources by subject, those of one subject in order of their names; empty ones count too (a probe that said nothing)."""
    sorted_sources: dict[str, list[Source]] = {}
    for name in sorted(outputs):
        subject, text = subject_of(name), outputs[name]
        if subject == "cgroup" and not name.lower().startswith("cgroup"):       # one file of a cgroup by its own name, as `cat` prints it
            text = f"{name.removesuffix('.txt')}:{text}"
        sorted_sources.setdefault(subject, []).append(Source(name, subject, text))
    return sorted_sources


def subject_of(name: str) -> str:
    lowered = name.lower()
    return next((subject for prefix, subject in PREFIXES if lowered.startswith(prefix)), "unknown")
