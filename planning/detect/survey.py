"""Takes what changes by itself out of the same sources: free memory, load, ports, VRAM, disks, containers. Never compared, never in state.

From sorted sources, the facts and the merged GPU rows, giving `HostSurvey`; unknown stays unknown.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect import containers, load, mounts, numa, ports, sys_cpu
from planning.detect.amd_smi_table import parse_processes
from planning.detect.facts import HostFacts, HostSurvey, OurContainer
from planning.detect.gpu_merge import Merged
from planning.detect.listing import pci_address
from planning.detect.sources import Source
from planning.detect.text import clean, lines, number
from planning.errors import Warn


def read_survey(sources: dict[str, list[Source]], facts: HostFacts, merged: Merged) -> HostSurvey:
    """The survey of one host."""
    notes: list[Warn] = []
    names, published, ours = _containers(sources)
    free, available = _node_memory(sources)
    socket_of = {row.cpu: row.socket for row in facts.cpu.topology}
    busy: dict[int, float] = {}
    for source in sources.get("stat", []):
        busy = busy or load.by_socket(source.text, socket_of)
    vram_free, holders = _vram(sources, facts, merged)
    return HostSurvey(available_bytes=_available(sources), node_free_bytes=free, node_available_bytes=available, socket_load=busy,
                      used_ports=_used_ports(sources, published, notes), vram_free_bytes=vram_free, vram_holders=holders,
                      disk_free_bytes=_disks(sources), containers=ours, container_names=names, warnings=tuple(notes))


def _available(sources: dict[str, list[Source]]) -> int | None:
    told = [sys_cpu.parse_meminfo(source.text).get("MemAvailable") for source in sources.get("meminfo", [])]
    return next((value for value in told if value is not None), None)


def _node_memory(sources: dict[str, list[Source]]) -> tuple[dict[int, int], dict[int, int]]:
    """Free bytes by node, and free plus reclaimable ones (FilePages, SReclaimable) where sysfs tells them."""
    free: dict[int, int] = {}
    available: dict[int, int] = {}
    for source in sources.get("sys-node", []):
        report = numa.parse_sys_node(source.text)
        free.update(report.free)
        available.update({node: size + report.reclaimable[node] for node, size in report.free.items() if node in report.reclaimable})
    for source in sources.get("numactl", []):
        for node, size in numa.parse_numactl(source.text).free.items():
            free.setdefault(node, size)
    return free, available


def _used_ports(sources: dict[str, list[Source]], published: tuple[int, ...], notes: list[Warn]) -> tuple[int, ...] | None:
    """All listening ports. Without a list of listeners only containers' ports are known, and a warning says so."""
    found: set[int] = set(published)
    listed = False
    for source in sources.get("ss", []):
        listeners, readable = ports.parse_ss(source.text)
        numbers = {number(port) for _, port in listeners} - {None}
        found |= {port for port in numbers if port is not None}
        listed = listed or (readable and len(numbers) > 0 or readable and not listeners)
    for source in sources.get("proc-net-tcp", []):
        told, readable = ports.parse_proc_net(source.text)
        found |= set(told)
        listed = listed or readable
    if found and not listed:
        notes.append(Warn("ports-partial", "only the ports that containers publish are known; no list of listening sockets could be read"))
    return tuple(sorted(found)) if found or listed else None


def _disks(sources: dict[str, list[Source]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for source in sources.get("df", []):
        for key, prefix in (("images", "df-images"), ("hf_cache", "df-hf-cache")):
            free = mounts.parse_df_free(source.text) if source.name.startswith(prefix) else None
            if free is not None:
                found[key] = free
    return found


def _containers(sources: dict[str, list[Source]]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[OurContainer, ...]]:
    names: dict[str, None] = {}
    published: set[int] = set()
    ours: dict[str, OurContainer] = {}
    for source in [*sources.get("docker-ps", []), *sources.get("podman-ps", [])]:
        told = containers.parse(source.text)
        names.update(dict.fromkeys(told[0]))
        published |= set(told[1])
        for container in told[2]:
            ours.setdefault(container.name, container)
    return tuple(names), tuple(sorted(published)), tuple(ours.values())


def _vram(sources: dict[str, list[Source]], facts: HostFacts, merged: Merged) -> tuple[dict[int, int], dict[int, tuple[str, ...]]]:
    """Free VRAM by GPU index. On a partitioned card the tools' numbers are the card's, so nothing is said."""
    used: dict[int, int] = {}
    kfd_ids: dict[int, int] = {}
    for index, parts in merged.parts.items():
        for _, _, fields in parts:
            if fields.get("vram_used") is not None:
                used.setdefault(index, fields["vram_used"])
            if fields.get("gpu_id") is not None:
                kfd_ids.setdefault(fields["gpu_id"], index)
    by_pci = {device.pci: device.index for device in facts.gpus.devices if device.pci}
    holders: dict[int, list[str]] = {}
    for source in sources.get("vram", []):
        for address, total_used in _sysfs_used(source.text):
            if address in by_pci:
                used[by_pci[address]] = total_used
    for source in sources.get("vram-holders", []):
        for line in lines(source.text):
            row: dict[str, Any] = dict(word.split("=", 1) for word in line.split() if "=" in word)
            index = kfd_ids.get(number(row.get("gpu_id")) or -1)
            if index is not None and number(row.get("vram")):
                holders.setdefault(index, []).append(f"{row.get('comm', '?')} ({row.get('pid', '?')})")
    for source in sources.get("amd-smi", []):
        if "Process Name" in source.text:
            for index, found in parse_processes(clean(source.text)).items():
                holders.setdefault(index, list(found))
    free = {device.index: max(device.vram_bytes - used[device.index], 0) for device in facts.gpus.devices
            if device.vram_bytes and device.index in used and device.compute_partition in (None, "SPX")}
    return free, {index: tuple(found) for index, found in holders.items()}


def _sysfs_used(text: str) -> list[tuple[str, int]]:
    """'0000:0c:00.0 used=123' -> (address, bytes)."""
    found: list[tuple[str, int]] = []
    for line in lines(text):
        match = re.match(r"(\S+) used=(\d{1,15})\s*$", line)
        address = pci_address(match[1]) if match else None
        if match and address:
            found.append((address, int(match[2])))
    return found
