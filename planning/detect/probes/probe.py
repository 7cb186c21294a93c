"""What a probe is: data. One command, where its output goes, why it is asked, how long it may take."""
from __future__ import annotations

from dataclasses import dataclass

FACTS = "facts"
SURVEY = "survey"


@dataclass(frozen=True)
class Probe:
    """`name` is the section and file name, `parser` the subject that reads it (planning/detect/sources.py).

    `command` is POSIX sh, run with LC_ALL=C, no input and standard error thrown away unless it says 2>&1; it exits with 127
    when its tool is not there. `required`: without it a plan needs to say "unknown". Probes of one `lane` run one after
    another, and when one of them runs out of time the rest of its lane is not tried.
    """

    name: str
    command: str
    parser: str
    why: str
    required: bool = False
    timeout_seconds: int = 5
    group: str = FACTS
    lane: str | None = None
    max_bytes: int = 262_144
