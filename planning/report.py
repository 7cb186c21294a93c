"""The verb `report`: planned and measured of every endpoint of a stack, side by side.

From what Pulumi prints, `pulumi stack export` (all figures) or `pulumi stack output --json` (less is planned there), giving a
table or a document. Exit status 1 when a measured figure differs from its plan by more than 1 %.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from planning.errors import PlanningError
from planning.health.comparison import compare
from planning.health.measured import Measured
from planning.health.memory import planned_bytes
from planning.units import gib

ROWS = (("kv_cache_tokens", "KV cache, tokens"), ("max_concurrency", "requests of full length"), ("max_model_len", "longest request, tokens"),
        ("kv_cache_bytes", "KV cache"), ("weights_bytes", "weights"), ("container_bytes", "memory of the container"), ("load_seconds", "weights read, s"),
        ("graph_capture_seconds", "graphs captured, s"), ("startup_seconds", "start to serving, s"))
"""Figure -> how it is called. The first six are planned too."""
ABSENT = "-"


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds `report` to the verbs of `python -m planning`."""
    parser = verbs.add_parser("report", help="planned and measured of the endpoints of a stack")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE",
                        help="what `pulumi stack export` or `pulumi stack output --json` printed; `-`: standard input")
    return parser


def run(args: argparse.Namespace) -> tuple[int, Any, str]:
    """Exit status, document and table. Raises PlanningError for input that is neither of the two."""
    found = read(_text(args.file), args.file)
    return int(any(entry["warnings"] for entry in found.values())), {"endpoints": found}, as_text(found)


def read(text: str, name: str = "the input") -> dict[str, dict[str, Any]]:
    """Endpoint -> `planned`, `measured` (figure -> number or None), `comparison`, `warnings`."""
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise PlanningError(f"{name} is not JSON ({error}): give it what `pulumi stack export` or `pulumi stack output --json` prints") from None
    if isinstance(whole, Mapping) and isinstance(whole.get("deployment"), Mapping):
        pairs = _of_state(whole["deployment"].get("resources") or [])
    elif isinstance(whole, Mapping) and isinstance(whole.get("endpoints"), Mapping):
        pairs = {str(key): _of_output(value) for key, value in whole["endpoints"].items() if isinstance(value, Mapping)}
    else:
        raise PlanningError(f"{name} has neither a deployment nor endpoints: give it what `pulumi stack export` or `pulumi stack output --json` prints")
    return {key: _entry(*pairs[key]) for key in sorted(pairs)}


def as_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """One table; a figure that neither side knows has no row."""
    if not found:
        return "no endpoints"
    rows = [(endpoint, label, _shown(key, entry["planned"].get(key)), _shown(key, entry["measured"].get(key)))
            for endpoint, entry in found.items() for key, label in ROWS if entry["planned"].get(key) is not None or entry["measured"].get(key) is not None]
    rows.insert(0, ("endpoint", "figure", "planned", "measured"))
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}  {d:>{wide[3]}}" for a, b, c, d in rows]
    return "\n".join([*lines, *(f"{endpoint}: [{warning['code']}] {warning['message']}" for endpoint, entry in found.items() for warning in entry["warnings"])])


def _of_state(resources: list[Any]) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Plans are outputs of HostPlan, measured figures those of EndpointHealth."""
    plans: dict[str, Mapping[str, Any]] = {}
    seen: dict[str, Mapping[str, Any]] = {}
    for resource in resources:
        kind, outputs = str(resource.get("type", "")).rpartition(":")[2], resource.get("outputs") or {}
        if kind == "HostPlan":
            stored = outputs.get("plans") or {}
            plans |= json.loads(stored) if isinstance(stored, str) else stored
        elif kind == "EndpointHealth":
            seen[str(outputs.get("name"))] = outputs.get("measured") or {}
    return {name: (_planned(plan.get("memory") or {}, plan.get("placement") or {}), seen.get(name, {})) for name, plan in plans.items()}


def _planned(memory: Mapping[str, Any], placement: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: memory.get(key) for key in ("kv_cache_tokens", "max_concurrency", "max_model_len", "kv_cache_bytes")},
            "weights_bytes": memory.get("weights_bytes_per_rank"),
            "container_bytes": planned_bytes(memory, int(placement.get("tensor_parallel_size") or 1))}


def _of_output(endpoint: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return {"kv_cache_tokens": endpoint.get("kvCacheTokens"), "max_model_len": endpoint.get("maxModelLen")}, endpoint.get("measured") or {}


def _entry(planned: Mapping[str, Any], measured: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {field.name: _number(measured.get(field.name)) for field in fields(Measured)}
    held = _number(measured.get("container_bytes"))
    wanted = {key: _number(value) for key, value in planned.items()}
    line, warnings = compare(wanted.get("kv_cache_tokens"), Measured(**numbers), wanted.get("max_concurrency"), held, wanted.get("container_bytes"))
    return {"planned": wanted, "measured": {**numbers, "container_bytes": held}, "comparison": line,
            "warnings": [{"code": warning.code, "message": warning.message} for warning in warnings]}


def _number(value: Any) -> int | float | None:
    """Pulumi's state has floats where whole numbers are meant."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value == int(value) else float(value)


def _shown(key: str, value: int | float | None) -> str:
    if value is None:
        return ABSENT
    if key.endswith("_bytes"):
        return f"{value / (1 << 20):,.1f} MiB" if value < 1 << 30 else gib(int(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanningError(f"{name} cannot be read: {error}") from None
