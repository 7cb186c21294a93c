"""Paths on a host, of the configuration and of what the host says of itself: one rule for both. ValueError tells what a path is not. Pure."""
from __future__ import annotations

import re
from collections.abc import Callable

_PATH = re.compile(r"~?/[^:,\0]*\Z")
_SYSTEM = re.compile(r"/(?:etc|usr|s?bin|lib\w*|boot|dev|proc|sys|run|var|root|home(?:/[^/]+)?)?\Z")


def host_path(path: str) -> str:
    """An absolute path, or one below the home (`~/`), that a mount takes as it stands."""
    if not _PATH.match(path) or ".." in path.split("/") or not path.isprintable():
        raise ValueError("is not an absolute path on the host without ':' and ','")
    return path


def host_folder(path: str) -> str:
    """A path that a container may write below: no home, and nothing that holds the system."""
    plain = "/".join(part for part in host_path(path).split("/") if part not in ("", "."))
    if plain == "~" or path.startswith("/") and _SYSTEM.match("/" + plain):
        raise ValueError("is not a folder for this alone: a container would write to a home, or to what holds the system")
    return path


def fitting(rule: Callable[[str], str], path: str | None) -> str | None:
    """What a host says: None (unknown) where it is no absolute path that the rule takes."""
    try:
        return rule(path) if path and path.startswith("/") else None
    except ValueError:
        return None
