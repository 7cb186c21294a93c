"""A key for caches of pure functions over documents that cannot be hashed (config.json, a manifest): equal to itself only."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Same:
    """The key holds its document, so that the identity is not given to another one while the key lives."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value
