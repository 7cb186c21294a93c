"""Numbers on their way through the engine: it hands every one over as a float."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def whole(value: Any) -> Any:
    """Numbers as they were given: the engine hands every number over as a float."""
    if isinstance(value, Mapping):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
