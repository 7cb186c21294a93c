"""Reads rocm-smi 4 to 7: concise tables of every age, 'GPU[0] : label: value' lines, JSON, and fragments of JSON. Text in, Listing out.

A list is complete when its footer ("End of ROCm SMI Log") or the end of the JSON is there. "Card model" is often the board's
subsystem id or plainly wrong: it counts as a device id only if it is one that the table knows, and never as a name.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect import tables
from planning.detect.jsonstream import decode
from planning.detect.listing import Listing, compute_partition, device_id, gfx_name, memory_partition, pci_address, version
from planning.detect.text import clean, known, lines, number

_LABELLED = re.compile(r"GPU\[(\d{1,4})\]\s*:\s*(.+?):\s*(.*?)\s*$")
_ROW = re.compile(r"(\d{1,4})\s+(.*)")
FOOTER = "End of ROCm SMI Log"


def parse(text: str) -> Listing:
    """What one rocm-smi call said."""
    body = clean(text)
    if '"card' in body.lower() or re.search(r'^[ \t]*"[^"\n]+"[ \t]*:', body, re.M):
        return _parse_json(body)
    listing = Listing(complete=FOOTER in body)
    driver = re.search(r"Driver version:\s*(\S+)", body)
    listing.driver_version = version(driver[1]) if driver else None
    for line in lines(body):
        match = _LABELLED.match(line)
        if match:
            _put(listing, int(match[1]), match[2], match[3])
    _parse_table(listing, lines(body))
    if not listing.devices:
        listing.complete = False
    return listing


def _parse_json(body: str) -> Listing:
    """{"card0": {label: value}}, whole or a piece of it: pieces are read pair by pair behind the name of their card."""
    values, whole = decode(body)
    cards = [(name, card) for value in values if isinstance(value, dict) for name, card in value.items() if isinstance(card, dict)]
    listing = Listing(complete=whole and bool(cards))
    for name, card in cards:
        match = re.fullmatch(r"card(\d{1,4})", str(name), re.I)
        for label, value in card.items():
            if match:
                _put(listing, int(match[1]), str(label), str(value))
            elif str(label).lower() == "driver version":
                listing.driver_version = version(value)
    if not cards:
        _parse_fragment(listing, body)
    return listing


def _parse_fragment(listing: Listing, body: str) -> None:
    card: int | None = None
    for match in re.finditer(r'"card(\d{1,4})"\s*:\s*\{|"([^"\n]{1,80})"\s*:\s*"([^"\n]{0,200})"', body, re.I):
        if match[1]:
            card = int(match[1])
        elif card is not None:
            _put(listing, card, match[2], match[3])


def _put(listing: Listing, index: int, label: str, value: str) -> None:
    """Notes one labelled value; labels changed case and wording over the years."""
    name = label.strip().lower()
    listing.devices.setdefault(index, {})
    if name in {"gpu id", "device id"} or name == "card model" and tables.gpu(device_id(value)):
        listing.put(index, "device_id", device_id(value))
    elif name in {"card series", "device name"}:
        listing.put(index, "market_name", known(value) if device_id(value) is None else None)
    elif name == "gfx version":
        listing.put(index, "gfx", gfx_name(value))
    elif name == "pci bus":
        listing.put(index, "pci", pci_address(value))
    elif name == "vram total memory (b)":
        listing.put(index, "vram_bytes", number(value))
    elif name == "vram total used memory (b)":
        listing.put(index, "vram_used", number(value))
    elif name == "compute partition":
        listing.put(index, "compute_partition", compute_partition(value))
    elif name == "memory partition":
        listing.put(index, "memory_partition", memory_partition(value))
    elif name == "(topology) numa node":
        listing.put(index, "numa_node", number(value))
    elif name == "node id":
        listing.put(index, "kfd_node", number(value))


def _parse_table(listing: Listing, whole: list[str]) -> None:
    """Concise tables: one or two lines a device between fences of '='."""
    header = ""
    last: int | None = None
    rows = names = 0
    for line in whole:
        if re.match(r"(GPU|Device)\b\s+\S", line):
            header, last = line, None
            continue
        if line.startswith("=") or not header:
            last = None
            continue
        row = _ROW.match(line)
        if row:
            last = int(row[1])
            rows += "[Model" in header
            _table_row(listing, last, row[2], header)
        elif last is not None and re.match(r"\s{4,}\S", line) and "[Model" in header and "(20 chars)" not in line:
            names += 1
            listing.put(last, "market_name", known(line))
    if rows != names:       # every device has two lines in that layout
        listing.complete = False


def _table_row(listing: Listing, index: int, rest: str, header: str) -> None:
    listing.devices.setdefault(index, {})
    told: list[Any] = re.findall(r"\b0x[0-9a-f]{4}\b", rest, re.I)
    if "DID" in header and not told:
        told = [word for word in rest.split()[:2] if device_id(word)]
    listing.put(index, "device_id", next((device_id(word) for word in told if tables.gpu(device_id(word))), None))
    bus = re.search(r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", rest, re.I)
    listing.put(index, "pci", pci_address(bus[0]) if bus else None)
    partition = re.search(r"\b(NPS\d|N/A),\s+(SPX|DPX|TPX|QPX|CPX|N/A)\b", rest)
    if partition:
        listing.put(index, "memory_partition", memory_partition(partition[1]))
        listing.put(index, "compute_partition", compute_partition(partition[2]))
        if known(partition[2]) is None:
            listing.partition_unknown.add(index)
    if "PwrCap" in header and re.search(r"\bNone\b", rest) and "Unsupported" in rest:
        listing.put(index, "integrated", True)       # no clock domain and no power cap of its own: graphics inside a CPU
