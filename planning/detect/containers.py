"""Reads `docker ps` and `podman ps`: all container names, published ports, and our own containers by their labels.

From JSON lines, a JSON list or the table for people, giving names, ports and `OurContainer`s. Labels: see LABELS.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect import cpulist
from planning.detect.facts import OurContainer
from planning.detect.jsonstream import decode
from planning.detect.text import clean, lines, number

PREFIX = "amd-vllm."
LABELS = ("stack", "endpoint", "cpus", "gpus", "port", "memory-bytes", "node", "owner")


def parse(text: str) -> tuple[tuple[str, ...], tuple[int, ...], tuple[OurContainer, ...]]:
    """Names, published host ports, our containers. A cut document gives what is whole in it."""
    body = clean(text)
    rows = [item for value in decode(body)[0] for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
    if not rows:
        return _parse_table(body)
    names: list[str] = []
    ports: set[int] = set()
    ours: list[OurContainer] = []
    for row in rows:
        name = _name(row)
        if not name:
            continue
        names.append(name)
        ports |= set(_ports(row.get("Ports")))
        labels = _labels(row.get("Labels"))
        if labels:
            ours.append(_our_container(name, labels, str(row.get("State", "")).lower()))
    return tuple(names), tuple(sorted(ports)), tuple(ours)


def _name(row: dict[str, Any]) -> str | None:
    names = row.get("Names") or row.get("Name")
    first = names[0] if isinstance(names, list) and names else names
    return first.split(",")[0].lstrip("/") if isinstance(first, str) and first else None


def _ports(value: Any) -> list[int]:
    """Host ports of '0.0.0.0:3306->3306/tcp, 33060/tcp' or of Podman's objects; an only exposed port is not published."""
    if isinstance(value, str):
        found: list[int] = []
        for low, high in re.findall(r":(\d{1,5})(?:-(\d{1,5}))?->", value):
            found.extend(range(int(low), min(int(high or low), int(low) + 1000) + 1))
        return found
    if isinstance(value, list):
        ports = [(number(item.get("host_port")), number(item.get("range")) or 1) for item in value if isinstance(item, dict)]
        return [port + step for port, span in ports if port for step in range(min(span, 1000))]
    return []


def _labels(value: Any) -> dict[str, str]:
    """Our labels. Docker joins labels with commas, and our values have commas too: a new label begins at ',key='."""
    if isinstance(value, dict):
        return {key[len(PREFIX):]: str(told) for key, told in value.items() if isinstance(key, str) and key.startswith(PREFIX)}
    found = re.findall(r"(?:^|,)amd-vllm\.([\w.-]+)=(.*?)(?=,[\w./-]+=|$)", value) if isinstance(value, str) else []
    return dict(found)


def _our_container(name: str, labels: dict[str, str], state: str) -> OurContainer:
    return OurContainer(name=name, stack=labels.get("stack"), endpoint=labels.get("endpoint"),
                        running=state in {"running", "paused", "restarting"} if state else None,
                        cpus=cpulist.parse(labels.get("cpus", "")) or (), gpus=cpulist.parse(labels.get("gpus", "")) or (),
                        port=number(labels.get("port")), memory_bytes=number(labels.get("memory-bytes")), node=number(labels.get("node")),
                        owner=labels.get("owner"))


def _parse_table(body: str) -> tuple[tuple[str, ...], tuple[int, ...], tuple[OurContainer, ...]]:
    names: list[str] = []
    ports: set[int] = set()
    column = -1
    for line in lines(body):
        if line.startswith("CONTAINER ID"):
            column = line.find("NAMES")
        elif column >= 0 and line[column:].strip():
            names.append(line[column:].split()[0])
            ports |= set(_ports(line))
    return tuple(names), tuple(sorted(ports)), ()
