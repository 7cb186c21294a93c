"""Reads /proc/cpuinfo, whole or the first processors of it. Text in, one dict of plain fields out.

Counts (sockets, on-line CPUs, threads) are told only if every package shows as many processors as its `siblings` says:
people send the first block of many.
"""
from __future__ import annotations

from typing import Any

from planning.detect.flags import Flags
from planning.detect.text import known, lines_and_rest, number

_NUMBERS = {"cpu family": "cpu_family", "model": "cpu_model", "stepping": "stepping", "siblings": "siblings",
            "cpu cores": "cpu_cores", "physical id": "package", "core id": "core", "processor": "cpu"}


def parse(text: str) -> dict[str, Any]:
    """vendor, model_name, cpu_family, cpu_model, stepping, flags, cores_per_socket, threads_per_core, siblings, sockets, cpus_online."""
    blocks, flags = _blocks(text)
    fields: dict[str, Any] = {}
    for block in blocks:
        for key in ("vendor", "model_name", "cpu_family", "cpu_model", "stepping", "siblings"):
            if key in block:
                fields.setdefault(key, block[key])
        if "cpu_cores" in block:
            fields.setdefault("cores_per_socket", block["cpu_cores"])
    if flags:
        fields["flags"] = flags
    cores, siblings = fields.get("cores_per_socket"), fields.get("siblings")
    if cores and siblings:
        fields["threads_per_core"] = -(-siblings // cores)      # 191 siblings of 96 cores: one is off line, two threads a core
    fields.update(_counts(blocks))
    return fields


def _blocks(text: str) -> tuple[list[dict[str, Any]], Flags | None]:
    """One dict per processor, and the flags of the first. `processor` begins a block, blank lines do not matter."""
    whole, rest = lines_and_rest(text)
    blocks: list[dict[str, Any]] = []
    flags: Flags | None = None
    for at, line in enumerate([*whole, rest]):
        key, colon, value = line.partition(":")
        key, value = " ".join(key.split()), value.strip()
        if key == "flags" and flags is None and colon:
            followed = any(":" in later for later in whole[at + 1:at + 3])
            words = value.split() if followed else value.split()[:-1]
            flags = Flags(frozenset(words), complete=followed and bool(words))
        if not colon or at == len(whole):
            continue
        if key == "processor" or not blocks:
            blocks.append({})
        block = blocks[-1]
        if key in _NUMBERS and number(value) is not None:
            block.setdefault(_NUMBERS[key], number(value))
        elif key == "vendor_id" and known(value):
            block.setdefault("vendor", value)
        elif key == "model name" and known(value):
            block.setdefault("model_name", value)
    return blocks, flags


def _counts(blocks: list[dict[str, Any]]) -> dict[str, int]:
    """Sockets and on-line CPUs, if all packages are complete."""
    rows = [(block.get("cpu"), block.get("package")) for block in blocks]
    if not rows or any(cpu is None or package is None for cpu, package in rows) or len(set(rows)) != len(rows):
        return {}
    siblings = {block["package"]: block["siblings"] for block in blocks if "siblings" in block}
    per_package = {package: sum(1 for _, other in rows if other == package) for _, package in rows}
    default = next(iter(siblings.values()), None)
    if any(siblings.get(package, default) != seen for package, seen in per_package.items()):
        return {}
    return {"sockets": len(per_package), "cpus_online": len(rows)}
