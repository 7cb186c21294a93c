"""Stamps: what was done is recorded with a key made from the content it was made of, so that doing it again is free."""

import hashlib
import json
import os
from pathlib import Path


def key_of(*parts: str | bytes | Path) -> str:
    """A short key of texts and of the content of files."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:20]


def _file(checkout: Path) -> Path:
    return checkout / ".amd-vllm" / "setup.json"


def _all(checkout: Path) -> dict[str, str]:
    try:
        return json.loads(_file(checkout).read_text())
    except (OSError, ValueError):
        return {}


def is_current(checkout: Path, step: str, key: str) -> bool:
    """Was `step` done for just this content?"""
    return _all(checkout).get(step) == key


def record(checkout: Path, step: str, key: str) -> None:
    """Remember that `step` was done for this content."""
    write_whole(_file(checkout), json.dumps({**_all(checkout), step: key}, indent=1, sort_keys=True) + "\n")


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    os.replace(part, path)
