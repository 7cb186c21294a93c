"""Planned and measured, side by side: one line, and a warning for each difference that matters. Texts: data/health-causes.toml."""
from __future__ import annotations

from planning.catalog import load_toml
from planning.errors import Warn
from planning.health.measured import Measured
from planning.units import gib

TOLERANCE = 0.01        # of the planned value


def compare(planned_tokens: int | None, measured: Measured, planned_concurrency: float | None = None,
            container_bytes: int | None = None, planned_bytes: int | None = None) -> tuple[str, tuple[Warn, ...]]:
    """`planned 2,097,152 tokens, measured 2,097,152` and the warnings. None is unknown and warns of nothing.

    `container_bytes`: memory in use by the container; `planned_bytes`: what the plan says it may take, all ranks together.
    """
    tokens = measured.kv_cache_tokens
    line = f"planned {_count(planned_tokens)} tokens, measured {_count(tokens)}"
    warnings = []
    if planned_tokens is not None and tokens is not None and _apart(planned_tokens, tokens):
        share = 100 * abs(tokens - planned_tokens) / max(planned_tokens, 1)
        warnings.append(_warn("tokens-differ", percent=f"{share:,.1f}", direction="fewer" if tokens < planned_tokens else "more",
                              planned=_count(planned_tokens), measured=_count(tokens)))
    requests = measured.max_concurrency
    if planned_concurrency is not None and requests is not None and _apart(planned_concurrency, requests, rounding=0.01):
        warnings.append(_warn("concurrency-differs", planned=f"{planned_concurrency:,.2f}", measured=f"{requests:,.2f}"))
    if container_bytes is not None and planned_bytes is not None and container_bytes > planned_bytes:
        warnings.append(_warn("memory-over-plan", planned=gib(planned_bytes), measured=gib(container_bytes)))
    return line, tuple(warnings)


def _apart(planned: float, measured: float, rounding: float = 0.0) -> bool:
    return abs(measured - planned) > max(abs(planned) * TOLERANCE, rounding)


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{int(number):,}"


def _warn(code: str, **values: str) -> Warn:
    text = next(entry["what"] for entry in load_toml("health-causes.toml")["compare"] if entry["code"] == code)
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return Warn(code, text)
