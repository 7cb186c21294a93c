"""What the planner says when something does not fit: refusals, consents, warnings and suggestions, all plain values.

A refusal answers four questions (what, found, needed, do) and has a stable kebab-case code, listed in docs/errors.md.
Nothing here is raised for a misfit: misfits are collected, so that one preview shows all of them. `PlanningError` is
for input that cannot be read at all (exit status 2 of `python -m planning`).
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


def printable(text: str, limit: int = 2000) -> str:
    """Text from a host or a user made safe to show: control characters (terminal escapes, newlines) become blanks, cut at `limit`."""
    text = str(text)[:limit + 1]
    text = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= limit else text[:limit] + "…"


class _Shown:
    """Values whose texts reach a terminal: every text field is made printable once, here, whoever made it."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, str):
                object.__setattr__(self, name, printable(value))


class PlanningError(Exception):
    """Input that cannot be read: a missing folder, a file that is not what its name says. The text is for the user."""


@dataclass(frozen=True)
class Refusal(_Shown):
    """One reason why something cannot be done. `found` and `needed` carry values, `do` the next step."""

    code: str
    what: str
    found: str
    needed: str
    do: str

    def text(self) -> str:
        return f"[{self.code}] {self.what}. Found: {self.found}. Needed: {self.needed}. Do this: {self.do}"


@dataclass(frozen=True)
class Consent(_Shown):
    """A decision that is the user's: `key` is the configuration key that gives it, `given` whether it was given.

    `needed` False: the plan does not depend on it (a consent permits, it never selects), so it is not listed.
    """

    key: str
    why: str
    given: bool


@dataclass(frozen=True)
class Warn(_Shown):
    """Something the user should know; the plan goes on."""

    code: str
    message: str


@dataclass(frozen=True)
class Suggestion:
    """Configuration keys (camelCase) that, set together, make the plan fit; computed and tried before it is offered."""

    set: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class Notes:
    """What one step has to say beside its value. Steps return notes, the pipeline adds them up in order."""

    refusals: tuple[Refusal, ...] = ()
    consents: tuple[Consent, ...] = ()
    warnings: tuple[Warn, ...] = ()

    def __add__(self, other: Notes) -> Notes:
        return Notes(self.refusals + other.refusals, self.consents + other.consents, self.warnings + other.warnings)

    @staticmethod
    def of(*items: Refusal | Consent | Warn | None) -> Notes:
        """Notes from any mix of refusals, consents and warnings; None is left out."""
        return Notes(tuple(i for i in items if isinstance(i, Refusal)),
                     tuple(i for i in items if isinstance(i, Consent)),
                     tuple(i for i in items if isinstance(i, Warn)))

    @staticmethod
    def total(parts: Iterable[Notes]) -> Notes:
        return sum(parts, Notes())
