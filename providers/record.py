"""A small local record, one file per stack: what preview proposed for new endpoints, and which container was proven to answer.

It is a hint, never the truth: without it (another machine, a fresh clone) plans are made anew and the proof is repeated.
"""
from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

_lock = threading.Lock()


def _path(stack: str) -> Path:
    return Path(".amd-vllm") / f"record-{re.sub(r'[^A-Za-z0-9_.-]', '_', stack)}.json"


def read(stack: str, section: str, key: str) -> Any:
    """The entry, or None."""
    entries = _load(stack).get(section)
    return entries.get(key) if isinstance(entries, dict) else None


def write(stack: str, section: str, key: str, value: Any) -> None:
    """Set an entry (None removes it). A record that cannot be written is no error."""
    with _lock:
        whole = _load(stack)
        entries = whole[section] = whole[section] if isinstance(whole.get(section), dict) else {}
        if entries.get(key) == value:
            return
        entries[key] = value
        if value is None:
            del entries[key]
        path = _path(stack)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                json.dump(whole, file)
            os.replace(file.name, path)
        except OSError:
            return


def _load(stack: str) -> dict[str, dict[str, Any]]:
    try:
        whole = json.loads(_path(stack).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return whole if isinstance(whole, dict) else {}
