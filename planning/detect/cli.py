"""The verb `detect` of `python -m planning`: a recorded folder in, exit status, JSON document and a table for people out."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from planning.detect.documents import document
from planning.detect.facts import HostFacts, HostSurvey
from planning.detect.one_line import size, summary
from planning.detect.read import read_host
from planning.detect.recording import load_recording


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds `detect DIR`."""
    parser: argparse.ArgumentParser = subparsers.add_parser("detect", help="what a recorded host is: CPUs, memory, GPUs, container runtimes")
    parser.add_argument("directory", metavar="DIR", help="a recorded host: a folder of command outputs (see docs/detection.md)")
    return parser


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any], str]:
    """Exit status 0, document, table. Raises PlanningError for a folder that cannot be read (the caller exits with 2)."""
    folder = Path(args.directory)
    facts, survey = read_host(folder.resolve().name, load_recording(folder))
    return 0, document(facts, survey), table(facts, survey)


def table(facts: HostFacts, survey: HostSurvey) -> str:
    """The summary, then one line for each group of facts, then the warnings."""
    shown = document(facts, survey)
    rows = [summary(facts), ""]
    for group in ("cpu", "memory"):
        rows += [f"  {group}.{key:<18} {_word(key, value)}" for key, value in shown[group].items() if not isinstance(value, list)]
    rows += [f"  node {node['node']}: socket {_word('', node['socket'])}, CPUs {node['cpus'] or '-'}, {_word('_bytes', node['memory_bytes'])}"
             for node in shown["cpu"]["nodes"]]
    rows += [f"  gpus.{key:<17} {_word(key, value)}" for key, value in shown["gpus"].items() if key != "devices"]
    rows += [f"  GPU {device['index']}: " + ", ".join(f"{key} {_word(key, value)}" for key, value in device.items() if value is not None and key != "index")
             for device in shown["gpus"]["devices"]]
    for name, runtime in shown["runtimes"].items():
        rows.append(f"  {name}: " + ", ".join(f"{key} {_word(key, value)}" for key, value in runtime.items() if value is not None))
    rows += [f"  warning [{note['code']}] {note['message']}" for note in shown["warnings"]]
    return "\n".join(rows)


def _word(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or "none"
    return size(value) if key.endswith("_bytes") else str(value)
