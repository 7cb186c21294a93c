"""Decides the facts of each GPU device from what all probes say about it; the device id decides before any name.

From merged rows, giving `GpuDevice` in index order. Witnesses are remembered once for all devices.
"""
from __future__ import annotations

from typing import Any

from planning.detect import tables
from planning.detect.facts import GpuDevice
from planning.detect.gpu_merge import Merged
from planning.detect.listing import Listing
from planning.detect.vram import GIB, share
from planning.detect.witnesses import Ledger

FIELDS = ("device_id", "pci", "gfx", "market_name", "compute_partition", "memory_partition", "numa_node", "hip_index", "render_node",
          "compute_units")


def device_facts(merged: Merged, listings: list[tuple[str, str, Listing]], ledger: Ledger) -> tuple[GpuDevice, ...]:
    """All devices. Modes that a tool calls N/A are taken from the devices that have one."""
    taken = {index: _plain(index, parts, ledger) for index, parts in sorted(merged.parts.items())}
    kinds = {fields["device_id"] for fields in taken.values() if fields["device_id"]}
    for probe, subject, listing in listings:
        if listing.unplaced and len(kinds) == 1:        # all GPUs whose kind is known are alike, so it does not matter which was meant
            for index, fields in taken.items():
                merged.parts[index] += [(probe, subject, listing.unplaced)] if fields["device_id"] else []
    unknown = {index for _, _, listing in listings for index in listing.partition_unknown}
    for key in ("compute_partition", "memory_partition"):
        modes = {fields[key] for fields in taken.values() if fields[key]}
        for index, fields in taken.items():
            if fields[key] is None and index in unknown and len(modes) == 1:
                fields[key] = next(iter(modes))
    return tuple(_device(index, taken[index], merged.parts[index], ledger) for index in taken)


def _plain(index: int, parts: list[tuple[str, str, dict[str, Any]]], ledger: Ledger) -> dict[str, Any]:
    for probe, subject, fields in parts:
        for key in FIELDS:
            ledger.say(f"gpu.{index}.{key}", fields.get(key), probe, subject)
        if tables.gpu(fields.get("uuid_device_id")):
            ledger.say(f"gpu.{index}.device_id", fields["uuid_device_id"], probe, "uuid")
    taken: dict[str, Any] = {}
    for key in FIELDS:
        agree = _same_name if key == "market_name" else None
        taken[key] = _take(ledger, index, key, agree)
    row = tables.gpu(taken["device_id"])
    if row:
        if taken["gfx"] and taken["gfx"] != row["gfx"]:
            ledger.warn("witnesses-disagree", f"gpu.{index}.gfx: {ledger.chosen.get('gpu.gfx')} says {taken['gfx']}, "
                        f"device id {taken['device_id']} is {row['gfx']}; taken: {taken['gfx']}")
        if not taken["gfx"]:
            taken["gfx"] = row["gfx"]
            ledger.chosen["gpu.gfx"] = f"data/{tables.GPU} ({taken['device_id']})"
    elif not taken["gfx"] and taken["market_name"]:
        taken["gfx"] = tables.gfx_of_name(taken["market_name"])
        if taken["gfx"]:
            ledger.chosen["gpu.gfx"] = f"data/{tables.GPU} (name '{taken['market_name']}')"
    return taken


def _take(ledger: Ledger, index: int, key: str, agree: Any = None) -> Any:
    """Takes one fact of one device; its witness is noted without the index."""
    fact = f"gpu.{index}.{key}"
    value = ledger.take(fact, f"gpu.{key}", agree)
    probe = ledger.chosen.pop(fact, None)
    if probe:
        ledger.chosen.setdefault(f"gpu.{key}", probe)
    return value


def _same_name(one: str, other: str) -> bool:
    """Tools abbreviate product names; only names that tell of different products disagree."""
    gfx = tables.gfx_of_name(one), tables.gfx_of_name(other)
    return None in gfx or gfx[0] == gfx[1]


def _device(index: int, taken: dict[str, Any], parts: list[tuple[str, str, dict[str, Any]]], ledger: Ledger) -> GpuDevice:
    row = tables.gpu(taken["device_id"])
    largest = 0
    for probe, subject, fields in parts:
        reported = fields.get("vram_bytes")
        if reported:
            largest = max(largest, reported)
            own = share(reported, subject, taken["device_id"], taken["compute_partition"], taken["memory_partition"])
            ledger.say(f"gpu.{index}.vram_bytes", own, probe, subject)
    vram = _take(ledger, index, "vram_bytes", lambda one, other: abs(one - other) <= max(one, other) * 0.06)
    name, instinct = taken["market_name"], _instinct(row, taken, largest)
    if row and instinct and name and any(generic.lower() in name.lower() for generic in tables.gpu_rules()["generic_names"]):
        ledger.warn("gpu-name-generic", f"gpu.{index}: '{name}' is the driver's name for what it does not know; "
                    f"device id {taken['device_id']} is an {row['product']}")
        name = f"AMD Instinct {row['product']}"
    told = any(fields.get("virtual_function") for _, _, fields in parts)
    virtual = True if told or row.get("vf") or (name or "").endswith(" VF") else False if row else None
    integrated = True if row.get("integrated") or any(fields.get("integrated") for _, _, fields in parts) else False if row else None
    if integrated is None and 0 < largest <= tables.gpu_rules()["largest_integrated_vram_gib"] * GIB and not taken["gfx"]:
        integrated = True
    return GpuDevice(index=index, market_name=name, gfx=taken["gfx"], device_id=taken["device_id"], vram_bytes=vram,
                     compute_partition=taken["compute_partition"], memory_partition=taken["memory_partition"],
                     virtual_function=virtual, instinct=instinct, pci=taken["pci"], hip_index=taken["hip_index"],
                     numa_node=taken["numa_node"], render_node=taken["render_node"], product=row.get("product"), integrated=integrated,
                     compute_units=taken["compute_units"])


def _instinct(row: dict[str, Any], taken: dict[str, Any], largest: int) -> bool | None:
    """By device id; else by name; else a certain no for cards too small to be one."""
    if row:
        return bool(row["instinct"])
    name = (taken["market_name"] or "").upper()
    if "INSTINCT" in name or tables.gfx_of_name(name):
        return True
    if "RADEON" in name:
        return False
    if 0 < largest < tables.gpu_rules()["smallest_instinct_vram_gib"] * GIB * 0.9 and taken["compute_partition"] in (None, "SPX"):
        return False
    return True if taken["gfx"] in {"gfx942", "gfx950", "gfx90a", "gfx908"} else None
