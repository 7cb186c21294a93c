"""`Same`: a value that counts as itself, so that a cache can be asked with dicts that nobody changes (a model's config)."""
from __future__ import annotations

from typing import Any


class Same:
    """Holds `value`; two are equal when they hold the very same object. It keeps the object alive, so its identity stays its own."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
