"""The root cause of a failed start: the first line that is a known reason, not the last symptom. Knowledge: data/log-causes.toml."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from planning.catalog import load_toml
from planning.errors import Refusal
from planning.health.log_lines import Line, blob, mask, occurring

GENERIC = frozenset({"engine-failed", "engine-died", "bad-config"})     # a container's state may say more than these
_EXCEPTION = re.compile(r"\s{0,3}[A-Za-z_][\w.]{0,120}(?:Error|Exception|Exit|Interrupt)\b:? ?.{0,400}")
_FOUND_CHARS = 500


@dataclass(frozen=True)
class Rule:
    """One entry of the data. `rank` 0 is a cause, 1 and 2 are symptoms; `during` limits it to one phase."""

    code: str
    any: tuple[str, ...]
    match: re.Pattern[str] | None
    rank: int
    during: str | None
    what: str
    needed: str
    do: str

    def fits(self, line: Line, phase: str | None) -> dict[str, str] | None:
        """The named values of the line, or None if the rule does not fit it."""
        if (self.during and self.during != phase) or not any(part in line.body for part in self.any):
            return None
        if self.match is None:
            return {}
        found = self.match.search(line.body)
        return None if found is None else {k: v or "?" for k, v in found.groupdict().items()}

    def refusal(self, found: str, values: Mapping[str, str]) -> Refusal:
        return Refusal(self.code, _filled(self.what, values), shown(found), _filled(self.needed, values), _filled(self.do, values))


@cache
def rules(section: str = "cause") -> tuple[Rule, ...]:
    return tuple(_rule(entry) for entry in load_toml("log-causes.toml")[section])


def shown(text: str) -> str:
    """A log line to be shown as evidence: one line, masked, not longer than a screen can take."""
    text = " ".join(mask(text).split()).removesuffix(".")
    return text if len(text) <= _FOUND_CHARS else text[:_FOUND_CHARS] + "…"


def root_cause(lines: Sequence[Line], phases: Sequence[str | None]) -> Refusal | None:
    """The first line of the lowest rank. `phases`: the phase at each line. None when no line is a reason to fail."""
    whole = blob(lines)
    known = [rule for rule in rules() if occurring(rule.any, whole)]
    best: tuple[int, Rule, Line, dict[str, str]] | None = None
    for line, phase in zip(lines, phases):
        if not line.may_tell_a_cause:
            continue
        for rule in known:
            if best and rule.rank >= best[0]:
                continue
            values = rule.fits(line, phase)
            if values is not None:
                best = (rule.rank, rule, line, values)
        if best and best[0] == 0:
            break
    if best is None:
        return None
    evidence = _first_exception(lines) if best[1].code == "engine-failed" else None
    return best[1].refusal((evidence or best[2]).body, best[3])


def death(lines: Sequence[Line]) -> Refusal | None:
    """For lines written after the start: whether the engine died by itself, and of what."""
    told = tuple(part for entry in load_toml("log-causes.toml")["died"] for part in entry["unless"])
    for line in lines:
        if any(part in line.body for part in told):
            return None
        for rule in rules("died"):
            if line.level not in ("INFO", "DEBUG") and any(part in line.body for part in rule.any):
                cause = root_cause(lines, ["serving"] * len(lines))
                return cause if cause and cause.code not in GENERIC else rule.refusal(line.body, {})
    return None


def known_text(text: str) -> Refusal | None:
    """A cause for one short text that is no log, such as the error of a container runtime."""
    return root_cause([Line(text[:2000], text[:2000], None)], [None]) if text.strip() else None


def _first_exception(lines: Sequence[Line]) -> Line | None:
    symptoms = tuple(part for rule in rules() if rule.rank == 2 for part in rule.any)
    for line in lines:
        if line.may_tell_a_cause and _EXCEPTION.match(line.body) and not any(part in line.body for part in symptoms):
            return line
    return None


def _filled(template: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        template = template.replace("{" + name + "}", shown(value))
    return template


def _rule(entry: Mapping[str, Any]) -> Rule:
    match = entry.get("match")
    return Rule(entry["code"], tuple(entry["any"]), re.compile(match) if match else None, entry.get("weak", 0),
                entry.get("during"), entry["what"], entry["needed"], entry["do"])
