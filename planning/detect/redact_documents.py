"""Cuts documents of docker and podman down to what detection reads: the rest holds proxies with passwords, commands, mounts, names.

Text of one file in, text of the same shape out. What is not JSON is left to the patterns of redact.py.
"""
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from planning.detect.containers import PREFIX
from planning.detect.jsonstream import decode
from planning.detect.sources import subject_of

DOCKER_KEYS = ("ServerVersion", "CgroupDriver", "CgroupVersion", "OperatingSystem", "OSType", "Architecture", "DockerRootDir", "Driver",
               "SecurityOptions", "ServerErrors", "KernelVersion", "MemoryLimit", "CPUSet", "NCPU", "MemTotal", "Warnings")
PODMAN_KEYS = {"host": ("arch", "cgroupControllers", "cgroupManager", "cgroupVersion", "cpus", "distribution", "kernel", "memTotal", "os",
                        "remoteSocket", "security"),
               "store": ("graphRoot", "graphDriverName"), "version": ("APIVersion", "Version", "OsArch")}
CONTAINER_KEYS = ("Names", "State", "Ports", "Labels")


def host_names(outputs: Mapping[str, str]) -> set[str]:
    """Names of the host that documents give away, with and without domain."""
    found: set[str] = set()
    for name, text in outputs.items():
        if subject_of(name) in {"docker-info", "podman-info"}:
            for value in decode(text)[0]:
                if isinstance(value, dict):
                    host = value.get("host")
                    told = [value.get("Name"), host.get("hostname") if isinstance(host, dict) else None]
                    found |= {str(item) for item in told if isinstance(item, str) and len(item) > 2}
            found |= set(re.findall(r"^\s*(?:hostname|Name):\s*([\w.-]{3,80})\s*$", text, re.M))
    return (found | {name.split(".")[0] for name in found if len(name.split(".")[0]) > 2}) - {"host", "localhost"}


def docker_info(text: str, done: Counter[str]) -> str:
    value = _document(text)
    if value is None:
        return text
    if isinstance(value.get("host"), dict):
        return podman_info(text, done)
    done["keys of docker info left out"] += len(set(value) - set(DOCKER_KEYS))
    return json.dumps({key: value[key] for key in DOCKER_KEYS if key in value}) + "\n"


def podman_info(text: str, done: Counter[str]) -> str:
    value = _document(text)
    if value is None:
        return text
    kept: dict[str, Any] = {}
    for part, keys in PODMAN_KEYS.items():
        inner = value.get(part)
        if isinstance(inner, dict):
            kept[part] = {key: inner[key] for key in keys if key in inner}
            done["keys of podman info left out"] += len(set(inner) - set(keys))
    return json.dumps(kept, indent=1) + "\n"


def container_rows(text: str, done: Counter[str]) -> str:
    """One JSON object a line: name (ours stay, others are numbered), state, ports, our labels."""
    rows = [item for value in decode(text)[0] for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
    if not rows:
        return text if not text.strip() or text.strip() == "[]" else _table(text, done)
    written: list[str] = []
    for at, row in enumerate(rows):
        kept = {key: row[key] for key in CONTAINER_KEYS if key in row}
        ours = _our_labels(row.get("Labels"))
        kept["Labels"] = ours
        if not ours:
            kept["Names"] = f"container-{at}"
            done["container names"] += 1
        written.append(json.dumps(kept))
    return "\n".join(written) + "\n"


def _our_labels(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: told for key, told in value.items() if isinstance(key, str) and key.startswith(PREFIX)}
    found = re.findall(r"(?:^|,)(amd-vllm\.[\w.-]+=.*?)(?=,[\w./-]+=|$)", value) if isinstance(value, str) else []
    return ",".join(found)


def _table(text: str, done: Counter[str]) -> str:
    done["container tables left out"] += 1
    return ""


def _document(text: str) -> dict[str, Any] | None:
    return next((value for value in decode(text)[0] if isinstance(value, dict)), None)
