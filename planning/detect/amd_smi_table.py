"""Reads amd-smi's tables: the default view of ROCm 7 (two rows a GPU, processes below) and `amd-smi monitor`. Text in, Listing out."""
from __future__ import annotations

import re

from planning.detect.listing import Listing, compute_partition, memory_partition, pci_address, version
from planning.detect.text import is_cut, known, lines, number

_FIRST = re.compile(r"\|\s*([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+(.*?)\s*\|", re.I)
_SECOND = re.compile(r"\|\s*(\d{1,4})\s+(\d{1,4}|N/A)\s+(\S+)\s+(\S+?)/(\S+)\s*\|.*?(?:(\d{1,9})/(\d{1,9}) MB)?\s*\|\s*$", re.I)
_PROCESS = re.compile(r"\|\s*(\d{1,4})\s+(\d{1,9})\s+(\S+)\s+.*?\|\s*$")
MIB = 1 << 20


def parse_table(body: str) -> Listing:
    """The default view. Complete if the frame of the GPU part is closed."""
    listing = Listing()
    head = re.search(r"AMD-SMI\s+(\S+?)(?:\+\S+)?\s", body)
    listing.amdsmi_version = version(head[1]) if head else None
    driver = re.search(r"amdgpu version:\s+(\S+)", body)
    rocm = re.search(r"ROCm version:\s+(\S+)", body)
    listing.driver_version = version(driver[1]) if driver else None
    listing.rocm_version = version(rocm[1]) if rocm else None
    pending: tuple[str | None, str] | None = None
    rows = broken = 0
    for line in lines(body):
        first, second = _FIRST.match(line), _SECOND.match(line)
        if first:
            broken += pending is not None
            pending = (pci_address(first[1]), first[2])
        elif second:
            rows += 1
            broken += pending is None
            _put(listing, second, pending or (None, ""))
            pending = None
        elif line.startswith("+--") and rows:
            listing.complete = not broken and pending is None
            break
    return listing


def _put(listing: Listing, row: re.Match[str], pending: tuple[str | None, str]) -> None:
    index = int(row[1])
    listing.put(index, "pci", pending[0])
    listing.put(index, "market_name", known(pending[1]) if not pending[1].endswith("...") else None)
    listing.put(index, "hip_index", number(row[2]))
    listing.put(index, "compute_partition", compute_partition(row[4]))
    listing.put(index, "memory_partition", memory_partition(row[5]))
    if known(row[4]) is None:
        listing.partition_unknown.add(index)
    if row[7]:
        listing.put(index, "vram_used", int(row[6]) * MIB)
        listing.put(index, "vram_bytes", int(row[7]) * MIB)


def parse_processes(body: str) -> dict[int, tuple[str, ...]]:
    """Who holds a GPU, by index: 'rvs (2427396)'. From the lower part of the default view."""
    holders: dict[int, list[str]] = {}
    below = False
    for line in lines(body):
        below = below or "Process Name" in line
        match = _PROCESS.match(line) if below else None
        if match:
            holders.setdefault(int(match[1]), []).append(f"{match[3]} ({match[2]})")
    return {index: tuple(found) for index, found in holders.items()}


def parse_monitor(body: str) -> Listing:
    """`amd-smi monitor` and the tables of `partition`: a header that begins with GPU, one row per device. Column sets differ by version."""
    listing = Listing(complete=not is_cut(body))
    header = ""
    for line in lines(body):
        if re.match(r"GPU(_ID)?\s+\S", line):
            header = line
            continue
        row = re.match(r"\s*(\d{1,4})\s+(.*)", line)
        if not row or not header:
            header = header if line.strip() else ""
            continue
        index, rest = int(row[1]), row[2]
        listing.devices.setdefault(index, {})
        usage = re.search(r"(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s+GB", rest) if "VRAM_USAGE" in header else None
        if usage:
            listing.put(index, "vram_used", int(float(usage[1]) * (1 << 30)))
            listing.put(index, "vram_bytes", int(float(usage[2]) * (1 << 30)))
        if header.startswith("GPU_ID") and "ACCELERATOR_TYPE" in header and "MEMORY " in header:
            words = rest.split()
            listing.put(index, "memory_partition", memory_partition(words[0]))
            listing.put(index, "compute_partition", compute_partition(words[1]) if len(words) > 1 else None)
            listing.partition_unknown.add(index)
    if not listing.devices:
        listing.complete = False
    return listing
