"""Health, the part that judges: what a log, a container's state and an HTTP answer say. Reading them is for providers/.

Everything here is a value: a `Refusal` with cause and next step, or None. The words that are recognised stand in
data/log-causes.toml, data/log-phases.toml and data/health-causes.toml; docs/troubleshooting.md is made from them.
Names are found in their modules when they are first asked for: a preview needs none of them.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "LogReport": "log", "Measured": "measured", "compare": "comparison", "judge_failure": "state", "judge_generation": "answers",
    "judge_models": "answers", "judge_state": "state", "mask": "log_lines", "read_bench": "bench", "read_log": "log",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(name)
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
