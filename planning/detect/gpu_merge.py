"""Decides which rows of different GPU tools are one device: by PCI address, else by index, else by order where all are alike.

From the Listings of all sources, giving for each device what each source says about it.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from planning.detect.listing import Listing

BASE_ORDER = ("amd-smi", "rocm-smi", "kfd-topology", "rocminfo", "pci", "amd-smi-monitor")    # whose index counts
SAME_INDEX = {"amd-smi", "amd-smi-monitor"}      # one tool, one numbering: together they list the devices


@dataclass
class Merged:
    """`parts`: by device index, a list of (probe, subject, fields)."""

    parts: dict[int, list[tuple[str, str, dict[str, Any]]]] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)       # probes whose rows fit no device


def merge(listings: list[tuple[str, str, Listing]]) -> Merged:
    """`listings`: (probe, subject, Listing). The base is the first subject of BASE_ORDER that lists devices."""
    told = [entry for entry in listings if entry[2].devices]
    merged = Merged()
    base = next((subject for subject in BASE_ORDER if any(entry[1] == subject for entry in told)), None)
    if base is None:
        return merged
    bases = SAME_INDEX if base in SAME_INDEX else {base}
    addresses: dict[str, int] = {}
    for probe, subject, listing in told:
        if subject in bases:
            for index, fields in listing.devices.items():
                merged.parts.setdefault(index, []).append((probe, subject, fields))
                if fields.get("pci"):
                    addresses.setdefault(fields["pci"], index)
    for probe, subject, listing in told:
        if subject not in bases:
            _attach(merged, addresses, probe, subject, listing)
    return merged


def _attach(merged: Merged, addresses: dict[str, int], probe: str, subject: str, listing: Listing) -> None:
    places = _places(merged, addresses, subject, listing)
    if places is None:
        merged.unmatched.append(probe)
        return
    for own, index in places.items():
        fields = listing.devices[own]
        merged.parts[index].append((probe, subject, fields))
        if fields.get("pci"):
            addresses.setdefault(fields["pci"], index)


def _places(merged: Merged, addresses: dict[str, int], subject: str, listing: Listing) -> dict[int, int] | None:
    """Own index -> device index; None when it cannot be told without guessing."""
    by_address = {own: addresses[fields["pci"]] for own, fields in listing.devices.items() if fields.get("pci") in addresses}
    if by_address:
        return by_address
    has_own_addresses = addresses and any(fields.get("pci") for fields in listing.devices.values())
    if has_own_addresses and len(listing.devices) != len(merged.parts):
        return None
    if subject in {"amd-smi", "rocm-smi", "amd-smi-monitor"}:
        return {own: own for own in listing.devices if own in merged.parts} or None
    kinds = {fields.get("device_id") or fields.get("gfx") for fields in listing.devices.values()}
    if len(listing.devices) == len(merged.parts) and len(kinds) == 1:
        return dict(zip(sorted(listing.devices), sorted(merged.parts), strict=True))
    return None
