"""The only reader of data/: facts about hardware, images and models, each with its source and date, read once per process."""
from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).resolve().parent.parent / "data"


@cache
def load_toml(name: str) -> dict[str, Any]:
    """data/<name> parsed. Callers treat it as read-only. Raises FileNotFoundError or TOMLDecodeError: a broken checkout."""
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))


@cache
def load_json(name: str) -> Any:
    """data/<name> parsed. Callers treat it as read-only."""
    return json.loads((DATA / name).read_text(encoding="utf-8"))
