"""Health, the part that judges: what a log, a container's state and an HTTP answer say. Reading them is for providers/.

Everything here is a value: a `Refusal` with cause and next step, or None. The words that are recognised stand in
data/log-causes.toml, data/log-phases.toml and data/health-causes.toml; docs/troubleshooting.md is made from them.
"""
from __future__ import annotations

from planning.health.answers import judge_generation, judge_models
from planning.health.comparison import compare
from planning.health.log import LogReport, read_log
from planning.health.log_lines import mask
from planning.health.measured import Measured
from planning.health.state import judge_failure, judge_state

__all__ = ["LogReport", "Measured", "compare", "judge_failure", "judge_generation", "judge_models", "judge_state", "mask", "read_log"]
