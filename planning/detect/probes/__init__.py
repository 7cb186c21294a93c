"""Everything that is asked of a host, as data, and the one script that asks it.

`script()` gives the POSIX sh text for `sh -s`, `split()` takes its output apart; `PROBES` is the list.
"""
from __future__ import annotations

from collections.abc import Iterable

from planning.detect.probes import cpu, gpu, runtime, survey
from planning.detect.probes.probe import FACTS, SURVEY, Probe
from planning.detect.probes.script import GRACE_SECONDS, HEADER
from planning.detect.probes.script import script as _script
from planning.detect.probes.split import split

PROBES: tuple[Probe, ...] = (*cpu.PROBES, *gpu.PROBES, *runtime.PROBES, *survey.PROBES)

__all__ = ["FACTS", "GRACE_SECONDS", "HEADER", "PROBES", "SURVEY", "Probe", "script", "split"]


def script(groups: Iterable[str] = (FACTS,)) -> str:
    """The script for all probes of these groups ("facts", "survey")."""
    wanted = set(groups)
    return _script(probe for probe in PROBES if probe.group in wanted)
