"""Large values as one text each in the state: the engine then moves and writes one string, and not hundreds of values one by one.

A state of before has the values themselves, with every number a float: `unpacked` takes both.
"""
from __future__ import annotations

import json
from typing import Any

from pulumi.runtime.rpc import UNKNOWN

from providers.numbers import whole


def packed(value: Any) -> str:
    """The value as compact JSON, the same text for the same value. What is None is left out of mappings, as the engine does."""
    return json.dumps(_without_none(value), separators=(",", ":"), sort_keys=True)


def unpacked(stored: Any) -> Any:
    """The value that was packed, or that an older state holds as it is. Absent and empty are None; what is not known yet stays so."""
    if isinstance(stored, str) and stored != UNKNOWN:
        return json.loads(stored) if stored else None
    return whole(stored)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, (list, tuple)) else value
