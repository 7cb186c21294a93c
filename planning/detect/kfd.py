"""Reads the KFD topology: each GPU as the driver shows it (a partition is one), and the memory of each NUMA node.

From lines 'nodes/2/properties:gfx_target_version 90402' and 'nodes/2/mem_banks/0/properties:size_in_bytes 51539607552'
(with any path before 'nodes'), giving a Listing in PCI order. What KFD gives as a device's memory is its own share.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect import tables
from planning.detect.listing import Listing, device_id, gfx_from_target, pci_from_location
from planning.detect.text import is_cut, lines

_LINE = re.compile(r"(?:.*/)?nodes/(\d{1,4})/(properties|mem_banks/(\d{1,3})/properties):(\w+)\s+(\d{1,20})\s*$")
SYSTEM_HEAP = 0
AMD = 0x1002


def parse(text: str) -> Listing:
    """GPUs by PCI address; index is that order, because KFD's node order is not the device order."""
    nodes = _nodes(text)
    gpus = {number: node for number, node in nodes.items() if node.get("vendor_id") == AMD and node.get("simd_count")}
    listing = Listing(complete=bool(nodes) and not is_cut(text) and sorted(nodes) == list(range(len(nodes))))
    ordered = sorted(gpus.items(), key=lambda item: (item[1].get("domain", 0), item[1].get("location_id", 0), item[0]))
    for index, (number, node) in enumerate(ordered):
        _put(listing, index, number, node)
    return listing


def _put(listing: Listing, index: int, number: int, node: dict[str, Any]) -> None:
    location, domain = node.get("location_id"), node.get("domain", 0)
    which = device_id(node.get("device_id"))
    listing.put(index, "device_id", which)
    listing.put(index, "gfx", gfx_from_target(node.get("gfx_target_version", 0)))
    listing.put(index, "pci", pci_from_location(location, domain) if location else None)
    listing.put(index, "kfd_node", number)
    listing.put(index, "gpu_id", node.get("gpu_id"))
    if node.get("simd_per_cu"):
        listing.put(index, "compute_units", node["simd_count"] // node["simd_per_cu"])
    minor = node.get("drm_render_minor")
    listing.put(index, "render_node", f"/dev/dri/renderD{minor}" if minor else None)
    banks = [bank["size_in_bytes"] for bank in node["banks"].values()
             if bank.get("size_in_bytes") and bank.get("heap_type") != SYSTEM_HEAP]
    listing.put(index, "vram_bytes", sum(banks) or node.get("local_mem_size") or None)
    listing.put(index, "compute_partition", _mode(tables.gpu(which).get("xcc"), node.get("num_xcc")))


def _mode(dies: int | None, own: int | None) -> str | None:
    """SPX … CPX from the dies of a whole device and those of this one; a device of one die has no partitions to tell of."""
    if not dies or dies == 1 or not own or dies % own:
        return None
    return "CPX" if own == 1 else tables.partition_names().get(dies // own)


def cpu_nodes(text: str) -> dict[int, int | None] | None:
    """Memory in bytes of each NUMA node (KFD's nodes with CPU cores come first and have the same numbers); None when cut."""
    nodes = _nodes(text)
    if not nodes or sorted(nodes) != list(range(len(nodes))):
        return None
    found = {number: node for number, node in nodes.items() if node.get("cpu_cores_count")}
    if sorted(found) != list(range(len(found))):
        return None
    return {number: sum(bank.get("size_in_bytes", 0) for bank in node["banks"].values()) or None for number, node in found.items()}


def _nodes(text: str) -> dict[int, dict[str, Any]]:
    nodes: dict[int, dict[str, Any]] = {}
    for line in lines(text):
        own_id = re.match(r"(?:.*/)?nodes/(\d{1,4})/gpu_id:(\d{1,10})\s*$", line)
        if own_id:
            nodes.setdefault(int(own_id[1]), {"banks": {}}).setdefault("gpu_id", int(own_id[2]))
        match = _LINE.match(line)
        if not match:
            continue
        node = nodes.setdefault(int(match[1]), {"banks": {}})
        where = node if match[2] == "properties" else node["banks"].setdefault(int(match[3]), {})
        where.setdefault(match[4], int(match[5]))
    return nodes
