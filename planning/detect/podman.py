"""Reads `podman info` (JSON, YAML, or a piece of either) and the list of its controllers. Text in, a dict of plain fields out.

Podman has no daemon: whoever can run `podman info` can run containers. Which cgroup controllers it may use depends on the
session that asks, so the answer counts only for the session that starts the container.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect.jsonstream import decode
from planning.detect.text import clean, is_cut, known, lines, number

_KEYS = {"cgroupManager": "cgroup_driver", "cgroupVersion": "cgroup_version", "arch": "architecture", "graphRoot": "root_dir",
         "Version": "server_version", "rootless": "rootless", "kernel": "kernel", "graphDriverName": "storage_driver"}
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


def parse_info(text: str) -> dict[str, Any]:
    """server_version, cgroup_driver, cgroup_version (1, 2), controllers, rootless, root_dir, socket, architecture, storage_driver."""
    body = clean(text)
    documents = [value for value in decode(body)[0] if isinstance(value, dict) and isinstance(value.get("host"), dict)]
    fields = _from_document(documents[0]) if documents else _from_pieces(body)
    cgroup = re.fullmatch(r"v?([12])", str(fields.get("cgroup_version") or ""))
    fields["cgroup_version"] = number(cgroup[1]) if cgroup else None
    if fields.get("architecture"):
        fields["architecture"] = ARCHITECTURES.get(fields["architecture"], fields["architecture"])
    return fields


def _from_document(document: dict[str, Any]) -> dict[str, Any]:
    host, store, version = document["host"], document.get("store"), document.get("version")
    security, socket = host.get("security"), host.get("remoteSocket")
    controllers = host.get("cgroupControllers")
    rootless = security.get("rootless") if isinstance(security, dict) else None
    return {
        "server_version": known(version.get("Version")) if isinstance(version, dict) else None,
        "cgroup_driver": known(host.get("cgroupManager")), "cgroup_version": known(host.get("cgroupVersion")),
        "controllers": tuple(str(item) for item in controllers) if isinstance(controllers, list) else None,
        "rootless": rootless if isinstance(rootless, bool) else None,
        "root_dir": known(store.get("graphRoot")) if isinstance(store, dict) else None,
        "storage_driver": known(store.get("graphDriverName")) if isinstance(store, dict) else None,
        "socket": known(socket.get("path")) if isinstance(socket, dict) and socket.get("exists") else None,
        "architecture": known(host.get("arch")),
    }


def _from_pieces(body: str) -> dict[str, Any]:
    """YAML or cut JSON, line by line; the first line with a key counts."""
    fields: dict[str, Any] = {}
    whole = lines(body)
    if len(whole) <= 2 and re.fullmatch(r"\s*\[[a-z ]*\]\s*", body) and not is_cut(body):
        return {"controllers": tuple(body.strip().strip("[]").split())}
    for at, line in enumerate(whole):
        match = re.match(r'\s*"?([A-Za-z]+)"?:\s*(.*?),?\s*$', line)
        if not match:
            continue
        key, value = match[1], match[2].strip("'\"")
        if key == "cgroupControllers":
            fields.setdefault("controllers", _controllers(value, whole[at + 1:at + 20]))
        elif key == "rootless" and value in {"true", "false"}:
            fields.setdefault("rootless", value == "true")
        elif key in _KEYS and key != "rootless" and known(value):
            fields.setdefault(_KEYS[key], value)
    mapped = re.search(r"uidmap:\s*\n\s*- container_id: 0\n\s*host_id: (\d+)\n", body)
    if mapped and "rootless" not in fields:
        fields["rootless"] = mapped[1] != "0"       # root inside is somebody else outside
    return fields


def _controllers(value: str, following: list[str]) -> tuple[str, ...] | None:
    """A list in flow form ('[]', '[cpu, memory]') or one item a line; None when its end is not there."""
    if value.startswith("[") and value.endswith("]"):
        return tuple(word.strip(' "\'') for word in value[1:-1].split(",") if word.strip())
    found: list[str] = []
    for line in following:
        item = re.match(r'\s*(?:- )?"?([a-z]+)"?,?\s*$', line)
        if not item:
            return tuple(found)
        found.append(item[1])
    return None
