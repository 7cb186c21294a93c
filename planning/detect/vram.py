"""Decides what memory one GPU device really has: tools give a partition the whole card's number.

From the number that a source says, the product and the partition modes, giving the device's share, or None if it does not add up.
KFD's memory banks, rocminfo's pools and sysfs of a whole card are the device's own and need no share.
"""
from __future__ import annotations

from planning.detect import tables
from planning.detect.listing import whole

GIB = 1 << 30
OWN_SHARE = {"kfd-topology", "rocminfo"}
PARTS = {"SPX": 1, "DPX": 2, "TPX": 3, "QPX": 4}


def partitions(device_id: str | None, mode: str | None) -> int | None:
    """How many devices a card is split into; CPX as many as it has compute dies. None: unknown."""
    if mode == "CPX":
        return whole(tables.gpu(device_id).get("xcc"))
    return PARTS.get(mode or "")


def share(reported: int, subject: str, device_id: str | None, mode: str | None, memory_mode: str | None) -> int | None:
    """The device's own bytes out of `reported` bytes."""
    if subject in OWN_SHARE or mode in (None, "SPX"):
        return reported
    parts = partitions(device_id, mode)
    card_gib = tables.gpu(device_id).get("vram_gib")
    if not parts or not card_gib:
        return None
    card = card_gib * GIB
    domains = int(memory_mode[3:]) if memory_mode else 1
    if _near(reported, card):
        return reported // parts
    if domains > 1 and parts % domains == 0 and _near(reported, card // domains):
        return reported * domains // parts
    return reported if _near(reported, card // parts) else None


def _near(one: int, other: int) -> bool:
    return abs(one - other) <= other * 0.06
