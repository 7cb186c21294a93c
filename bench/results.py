"""Rows of figures, as a Markdown table and as JSON."""
from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Row:
    """One figure: what, ours, what it is compared with, their ratio, the goal (None: none set)."""

    what: str
    ours: str
    against: str = ""
    ratio: float | None = None
    goal: float | str | None = None
    note: str = ""
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if self.goal is None or self.ratio is None:
            return ""
        return "met" if self.ratio <= float(self.goal) else "not met"


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def table(rows: list[Row]) -> str:
    lines = ["| what | ours | against | ratio | goal | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"| {row.what} | {row.ours} | {row.against} | {ratio} | {'' if row.goal is None else row.goal} | {row.note or row.verdict} |")
    return "\n".join(lines)


def keep(name: str, machine: dict[str, object], rows: list[Row]) -> None:
    """Write bench/results/NAME.md and NAME.json."""
    FOLDER.mkdir(exist_ok=True)
    told = ", ".join(f"{key} {value}" for key, value in machine.items())
    (FOLDER / f"{name}.md").write_text(f"# {name}\n\n`python -m bench {name}` on: {told}\n\n{table(rows)}\n", encoding="utf-8")
    document = {"benchmark": name, "machine": machine, "rows": [asdict(row) for row in rows]}
    (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
