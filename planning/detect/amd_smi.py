"""Reads amd-smi 6.2 to 7.14 in any of its shapes: JSON (list, {"gpu_data": …}, several values), text of list, static and partition,
the default table, monitor. Text in, one Listing out; every sub-command may come in every shape, whatever the version.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect.amd_smi_json import parse_json
from planning.detect.amd_smi_table import parse_monitor, parse_table
from planning.detect.listing import Listing, compute_partition, device_id, device_id_in_uuid, gfx_name, memory_partition, pci_address, size_bytes, version
from planning.detect.text import clean, is_cut, known, lines, number


def parse(text: str) -> Listing:
    """What one amd-smi call said; an empty, incomplete Listing for help texts and errors."""
    body = clean(text)
    if '"' in body and any(line.lstrip().startswith(("{", "[")) for line in body.split("\n")):
        found = parse_json(body)
        if found.devices or found.unplaced:
            return found
    if "AMD-SMI " in body and "|====" in body:
        return parse_table(body)
    if re.search(r"^GPU(_ID)?[ \t]+\S", body, re.M) and not re.search(r"^GPU: ", body, re.M):
        return parse_monitor(body)
    return _parse_blocks(body)


_TEXT_FIELDS = {
    ("", "UUID"): ("uuid_device_id", device_id_in_uuid), ("", "BDF"): ("pci", pci_address), ("BUS", "BDF"): ("pci", pci_address),
    ("ASIC", "MARKET_NAME"): ("market_name", known), ("ASIC", "DEVICE_ID"): ("device_id", device_id),
    ("ASIC", "TARGET_GRAPHICS_VERSION"): ("gfx", gfx_name), ("VRAM", "SIZE"): ("vram_bytes", size_bytes),
    ("PARTITION", "COMPUTE_PARTITION"): ("compute_partition", compute_partition),
    ("PARTITION", "ACCELERATOR_PARTITION"): ("compute_partition", compute_partition),
    ("PARTITION", "MEMORY_PARTITION"): ("memory_partition", memory_partition),
    ("MEMORY_PARTITION", "CURRENT"): ("memory_partition", memory_partition),
    ("ACCELERATOR_PARTITION", "TYPE"): ("compute_partition", compute_partition),
    ("ASIC", "NUM_COMPUTE_UNITS"): ("compute_units", number),
    ("NUMA", "NODE"): ("numa_node", number), ("", "NODE_ID"): ("kfd_node", number), ("", "HIP_ID"): ("hip_index", number),
    ("MEM_USAGE", "TOTAL_VRAM"): ("vram_bytes", size_bytes), ("MEM_USAGE", "USED_VRAM"): ("vram_used", size_bytes),
}


def _parse_blocks(body: str) -> Listing:
    """'GPU: 0' blocks; blocks of other things (CPU, AI_NIC, NIC, SWITCH) in between are passed over."""
    listing = Listing(complete=not is_cut(body))
    gpu: int | None = None
    section = ""
    for line in lines(body):
        match = re.match(r"( *)([A-Za-z][\w /-]*?):\s*(.*?)\s*$", line)
        if not match:
            continue
        indent, key, value = len(match[1]), match[2].upper(), match[3]
        if indent == 0:
            gpu = number(value) if key == "GPU" else None
            section = ""
            if gpu is not None:
                listing.devices.setdefault(gpu, {})
        elif gpu is not None:
            section = _text_field(listing, gpu, section, indent, key, value)
    if not listing.devices:
        listing.complete = False
    return listing


def _text_field(listing: Listing, gpu: int, section: str, indent: int, key: str, value: str) -> str:
    """Notes one line; returns the section that the next line is in."""
    if indent <= 4 and not value:
        return key
    inside = section if indent > 4 else ""
    found = _TEXT_FIELDS.get((inside, key))
    if found:
        listing.put(gpu, found[0], found[1](value))
        if "partition" in found[0] and known(value) is None:
            listing.partition_unknown.add(gpu)
    if (inside, key) == ("DRIVER", "VERSION"):
        listing.driver_version = listing.driver_version or version(value)
    return section if indent > 4 else ""


def parse_versions(text: str) -> list[dict[str, str | None]]:
    """`amd-smi version`, text or JSON: one dict per line or object with tool, amdsmi_version, rocm_version, driver_version, hsmp."""
    found: list[dict[str, str | None]] = []
    body = clean(text)
    if '"' in body:
        from planning.detect.amd_smi_json import objects
        for item in objects(body)[0]:
            if "rocm_version" in item or "amdsmi_library_version" in item:
                found.append(_version_record({key.lower(): value for key, value in item.items()}))
        if found:
            return found
    for line in lines(body):
        if "AMDSMI Tool:" in line:
            cells = (cell.partition(":") for cell in line.split("|"))
            named: dict[str, Any] = {key.strip().lower().replace(" ", "_"): value.strip() for key, _, value in cells}
            named["version"] = named.get("amdsmi_tool")
            found.append(_version_record(named))
    return found


def _version_record(named: dict[str, Any]) -> dict[str, str | None]:
    hsmp = next((named[key] for key in ("amd_hsmp_driver_version", "amd_hsmp_version", "hsmp_version") if key in named), None)
    return {"tool": known(named.get("version")), "amdsmi_version": version(named.get("amdsmi_library_version")),
            "rocm_version": version(named.get("rocm_version")), "driver_version": version(named.get("amdgpu_version")),
            "hsmp": known(hsmp)}
