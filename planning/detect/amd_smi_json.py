"""Reads amd-smi's JSON of list, static, metric, monitor and partition. Text in, one Listing out.

A GPU is an object with a number under "gpu" (or "gpu_id"); the rest of it is looked up by path, so that order, wrapping
("gpu_data") and missing sections do not matter.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planning.detect.jsonstream import decode
from planning.detect.listing import Listing, compute_partition, device_id, device_id_in_uuid, gfx_name, memory_partition, pci_address, size_bytes, version
from planning.detect.text import known, number

PATHS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("market_name", "asic.market_name", known), ("device_id", "asic.device_id", device_id),
    ("gfx", "asic.target_graphics_version", gfx_name), ("pci", "bus.bdf", pci_address), ("pci", "bdf", pci_address),
    ("uuid_device_id", "uuid", device_id_in_uuid), ("compute_units", "asic.num_compute_units", number),
    ("vram_bytes", "vram.size", size_bytes), ("vram_bytes", "mem_usage.total_vram", size_bytes),
    ("vram_used", "mem_usage.used_vram", size_bytes), ("vram_used", "vram_used", size_bytes), ("vram_bytes", "vram_total", size_bytes),
    ("compute_partition", "partition.compute_partition", compute_partition),
    ("compute_partition", "partition.accelerator_partition", compute_partition),
    ("memory_partition", "partition.memory_partition", memory_partition),
    ("compute_partition", "accelerator_type", compute_partition), ("memory_partition", "memory", memory_partition),
    ("numa_node", "numa.node", number), ("hip_index", "hip_id", number), ("kfd_node", "node_id", number),
)


def parse_json(text: str) -> Listing:
    """Devices of all JSON values in the text; incomplete if any of it was cut."""
    found, whole = objects(text)
    listing = Listing(complete=whole)
    for item in found:
        index = number(item.get("gpu", item.get("gpu_id")))
        if index is None:
            if {"type", "vendor", "size"} <= set(item):             # a VRAM section by itself (`… | jq '.[0].vram'`)
                listing.unplaced.setdefault("vram_bytes", size_bytes(item["size"]))
            continue
        listing.devices.setdefault(index, {})
        for field, path, convert in PATHS:
            told = _at(item, path)
            if told is not None:
                listing.put(index, field, convert(told))
                if "partition" in field and known(told) is None and not isinstance(told, (dict, list)):
                    listing.partition_unknown.add(index)
        listing.driver_version = listing.driver_version or version(_at(item, "driver.version"))
    return listing


def objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """All objects at the top, in lists, and in lists under any key of a top object ("gpu_data", "current_partition"); and whether whole."""
    values, whole = decode(text)
    found: list[dict[str, Any]] = []
    for value in values:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                found.append(item)
                if "gpu" not in item:
                    parts = [part if isinstance(part, list) else [part] for part in item.values() if isinstance(part, (list, dict))]
                    found.extend(inner for part in parts for inner in part if isinstance(inner, dict))
    return found, whole


def _at(item: dict[str, Any], path: str) -> Any:
    value: Any = item
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
