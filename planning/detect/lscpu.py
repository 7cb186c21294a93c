"""Reads lscpu: text in any of util-linux's languages, flat or indented, and `-J` flat or nested. Text in, plain fields out.

Fields: those of data/lscpu-labels.toml; numbers as int, CPU lists as tuples, `node_cpus` by node. A label that no
language of the table knows is passed over, so BIOS lines ("BIOS Model name", "BIOS CPU family") never count.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from planning.detect import cpulist, tables
from planning.detect.flags import Flags, read_flags
from planning.detect.jsonstream import decode
from planning.detect.text import decimal, known, lines_and_rest, number

NUMBERS = ("cpu_family", "cpu_model", "stepping", "threads_per_core", "cores_per_socket", "sockets", "cpus", "numa_nodes")
LISTS = ("online", "offline")
DECIMALS = ("max_mhz", "bogomips")


def parse_text(text: str) -> dict[str, Any]:
    """The fields of lscpu's output for people."""
    whole, rest = lines_and_rest(text)
    fields = _fields(_labelled(whole))
    flags = _flags([*whole, rest])
    if flags:
        fields["flags"] = flags
    return fields


def parse_json(text: str) -> dict[str, Any]:
    """The fields of `lscpu -J`; empty when the document is cut or is something else."""
    for value in decode(text)[0]:
        if isinstance(value, dict) and isinstance(value.get("lscpu"), list):
            pairs = list(_flatten(value["lscpu"]))
            fields = _fields(pairs)
            for label, data in pairs:
                if label == "Flags":
                    fields["flags"] = Flags.complete_of(data)
            return fields
    return {}


def _labelled(whole: list[str]) -> Iterator[tuple[str, str]]:
    for line in whole:
        label, value = _split(line)
        if label:
            yield label, value


def _split(line: str) -> tuple[str, str]:
    """('Socket(s)', '2'); the colon may be full-width, and French puts a blank before it."""
    label, colon, value = line.replace("：", ":", 1).partition(":") if ":" not in line else line.partition(":")
    if "：" in label:
        label, colon, value = line.partition("：")
    return (" ".join(label.split()), value.strip()) if colon and len(label) <= 120 else ("", "")


def _flatten(items: Iterable[Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    for item in items if depth < 10 else ():
        if isinstance(item, dict):
            if isinstance(item.get("field"), str) and isinstance(item.get("data"), str):
                yield item["field"].strip().rstrip(":：").strip(), item["data"]
            if isinstance(item.get("children"), list):
                yield from _flatten(item["children"], depth + 1)


def _fields(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The known fields; the first line with a label wins."""
    plain, nodes = tables.lscpu_labels()
    fields: dict[str, Any] = {}
    for label, value in pairs:
        field = plain.get(label)
        if field == "flags":
            continue
        if field:
            read = _value(field, value)
            if read is not None:
                fields.setdefault(field, read)
            continue
        for pattern in nodes:
            match = pattern.fullmatch(label)
            cpus = cpulist.parse(value) if match else None
            if match and cpus is not None:
                fields.setdefault("node_cpus", {}).setdefault(int(match[1]), cpus)
                break
    return fields


def _value(field: str, text: str) -> Any:
    if field in NUMBERS:
        return number(text)
    if field in LISTS:
        return cpulist.parse(text)
    if field in DECIMALS:
        return decimal(text)
    return known(text)


def _flags(whole: list[str]) -> Flags | None:
    """The flags line with its continuation lines: all lines up to the next one that has a label."""
    plain, _ = tables.lscpu_labels()
    for at, line in enumerate(whole):
        label, _ = _split(line)
        if plain.get(label) == "flags":
            value = re.split(r"[:：]", line, maxsplit=1)[1]
            end = at + 1
            while end < len(whole) and whole[end].strip() and not _split(whole[end])[0]:
                end += 1
            followed = any(_split(later)[0] for later in whole[end:end + 2])
            return read_flags("\n".join([value.lstrip(), *whole[at + 1:end]]), followed)
    return None
