"""Reads our own probe of AMD display controllers and accelerators on the PCI bus; the only witness of a card without a driver.

Lines '0000:0c:00.0 device=0x74a1 class=0x120000 numa_node=0 driver=amdgpu render=renderD128 vram_total=… compute=SPX memory=NPS1 vf=0'
after one line 'scanned:1', giving a Listing. Without 'scanned' nothing is known: no line is not the same as no card.
"""
from __future__ import annotations

from planning.detect.listing import Listing, compute_partition, device_id, memory_partition, pci_address
from planning.detect.text import known, lines, number


def parse(text: str) -> Listing:
    """Cards by PCI address; `driver` None: no driver is bound."""
    rows: dict[str, dict[str, str]] = {}
    scanned = False
    for line in lines(text):
        words = line.split()
        scanned = scanned or words == ["scanned:1"]
        address = pci_address(words[0]) if words else None
        if address:
            rows.setdefault(address, dict(word.split("=", 1) for word in words[1:] if "=" in word))
    listing = Listing(complete=scanned)
    for index, (address, row) in enumerate(sorted(rows.items())):
        listing.put(index, "pci", address)
        listing.put(index, "device_id", device_id(row.get("device", "")))
        listing.put(index, "driver", known(row.get("driver")))
        listing.put(index, "numa_node", number(row.get("numa_node")))       # -1: the firmware does not say
        render = known(row.get("render"))
        listing.put(index, "render_node", f"/dev/dri/{render}" if render else None)
        listing.put(index, "vram_bytes", number(row.get("vram_total")) or None)
        listing.put(index, "compute_partition", compute_partition(row.get("compute")))
        listing.put(index, "memory_partition", memory_partition(row.get("memory")))
        listing.put(index, "virtual_function", True if row.get("vf") == "1" else None)
    return listing
