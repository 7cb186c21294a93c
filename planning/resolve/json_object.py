"""The one reader of JSON that others wrote (the Hub, a folder, a host): an object of bounded depth, with numbers that can be counted with."""
from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 100
MAX_NUMBER = 2**63


def parse(content: bytes | str) -> dict[str, Any]:
    """The object in `content`. A number that is NaN, infinite or out of range is None: unknown. Raises ValueError for anything else."""
    try:
        value = json.loads(content, parse_int=_whole, parse_float=_decimal, parse_constant=lambda _: None)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, found {type(value).__name__}")
    if _is_deep(value):
        raise ValueError("nested too deep")
    return value


def _whole(text: str) -> int | None:
    return value if len(text) <= 20 and abs(value := int(text)) < MAX_NUMBER else None


def _decimal(text: str) -> float | None:
    return value if abs(value := float(text)) < MAX_NUMBER else None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for item in level if isinstance(item, (dict, list)) for inner in (item.values() if isinstance(item, dict) else item)]
    return bool(level)
