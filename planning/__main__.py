"""`python -m planning VERB …`: what-if planning from recorded files, without Pulumi and without a network (but `resolve ORG/NAME`).

Each verb is a module with `add_parser` and `run(args) -> (status, document, text)`, imported when it is asked for. Exit
status: 0 yes or fits, 1 refused, 2 bad usage or unreadable input.
"""
from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from typing import Any

from planning.errors import PlanningError

VERBS = {
    "detect": ("planning.detect.cli", "facts of a recorded host"),
    "resolve": ("planning.resolve.cli", "what a model is and whether vLLM serves it"),
    "capacity": ("planning.fit.cli", "what vLLM would allocate for a model"),
    "plan": ("planning.what_if", "plan endpoints on recorded hosts"),
    "report": ("planning.report", "planned and measured of the endpoints of a stack"),
}


def main(argv: list[str] | None = None) -> int:
    """Runs one verb and prints its answer. Bad usage ends with SystemExit(2), as argparse does."""
    words = sys.argv[1:] if argv is None else argv
    verb = next((word for word in words if not word.startswith("-")), None)
    parser = _parser(verb if verb in VERBS else None)
    args = parser.parse_args(words)
    try:
        status, document, text = _run(args)
    except PlanningError as error:
        print(f"python -m planning {args.verb}: {error}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(document, indent=1, ensure_ascii=False) if args.json else text, flush=True)
    except BrokenPipeError:                  # whoever read the answer has seen enough
        sys.stdout = None
    return status


def _parser(verb: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m planning", description="Planning from recorded files, without Pulumi.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, (module, about) in VERBS.items():
        if name == verb:
            added = import_module(module).add_parser(verbs)
            if not any("--json" in action.option_strings for action in added._actions):
                added.add_argument("--json", action="store_true", help="one JSON document instead of a table")
        else:
            verbs.add_parser(name, help=about)
    return parser


def _run(args: argparse.Namespace) -> tuple[int, Any, str]:
    module = import_module(VERBS[args.verb][0])
    return module.run(args, _read_hub) if args.verb == "resolve" else module.run(args)


def _read_hub(model: str, revision: str) -> Any:
    from providers.transport.hub import read_manifest

    return read_manifest(model, revision)


if __name__ == "__main__":
    sys.exit(main())
