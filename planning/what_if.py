"""The verb `plan`: one endpoint on a recorded host, or all endpoints of a stack file, without Pulumi.

From folders and `--set` keys, giving the plan as JSON or as a table. A key or value that cannot be is the refusal
`bad-value`; a folder that cannot be read is exit status 2.
"""
from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planning.errors import PlanningError, Refusal
from planning.plan import EndpointPlan, document
from planning.plan_text import as_text

STACK = "what-if"


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds `plan` to the verbs of `python -m planning`."""
    parser = verbs.add_parser("plan", help="plan endpoints on recorded hosts")
    parser.add_argument("--family", choices=("epyc", "instinct"), help="the family of the endpoint")
    parser.add_argument("--host", type=Path, metavar="DIR", help="a recorded host")
    parser.add_argument("--model", type=Path, metavar="DIR", help="a recorded model")
    parser.add_argument("--name", default="endpoint", help="name of the endpoint")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="an endpoint key; VALUE is JSON, else a string")
    parser.add_argument("--stack", type=Path, metavar="FILE", help="plan all endpoints of a stack file whose hosts are recorded")
    parser.add_argument("--models", type=Path, default=Path("tests/models"), metavar="DIR", help="recorded models for --stack, ORG__NAME each")
    return parser


def run(args: argparse.Namespace) -> tuple[int, Any, str]:
    """Exit status, document and table. Raises PlanningError for input that cannot be read."""
    if args.stack is not None:
        if args.family or args.host or args.model or args.settings:
            raise PlanningError("--stack stands alone: the stack file says the rest")
        return _of_stack(args)
    missing = [f"--{key}" for key in ("family", "host", "model") if getattr(args, key) is None]
    if missing:
        raise PlanningError(f"{', '.join(missing)} is missing (or give --stack FILE)")
    plan = _of_one(args)
    return int(plan.verdict != "fits"), document(plan), as_text(plan)


def _of_one(args: argparse.Namespace) -> EndpointPlan:
    from planning.pipeline import plan_host
    from planning.request import parse_endpoint

    manifest, (facts, survey) = _model(args.model), _host(args.host, args.host.resolve().name)
    keys, problems = _settings(args.name, args.settings)
    model = manifest.id if "/" in manifest.id else f"local/{manifest.id}"
    request, refusals = parse_endpoint(args.name, {**keys, "kind": args.family, "host": facts.name, "model": model})
    if request is None or problems:
        return EndpointPlan(args.name, args.family, "refused", tuple(problems) + refusals)
    return plan_host(STACK, facts, survey, {args.name: request}, {args.name: manifest})[args.name]


def _settings(name: str, words: list[str]) -> tuple[dict[str, Any], list[Refusal]]:
    keys, problems = {}, []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key in ("kind", "host", "model") or key in keys:
            problems.append(Refusal("bad-value", f"endpoint {name}: --set {key}", word, "KEY=VALUE with an endpoint key, each once",
                                    "use --family, --host and --model for the three; see docs/configuration.md for keys"))
        else:
            keys[key] = _value(value)
    return keys, problems


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _host(folder: Path, name: str) -> tuple[Any, Any]:
    from planning import detect

    if not folder.is_dir():
        raise PlanningError(f"{folder}: no such folder. A recorded host is a folder of command outputs, see tests/hosts")
    return detect.read_host(name, detect.load_recording(folder))


def _model(folder: Path) -> Any:
    from planning.resolve import load_model_dir

    return load_model_dir(folder)


def _of_stack(args: argparse.Namespace) -> tuple[int, Any, str]:
    from planning.request import parse_stack

    config = _config(args.stack)
    stack = parse_stack(config.get("amd-vllm:hosts"), config.get("amd-vllm:endpoints"))
    plans: dict[str, EndpointPlan] = {}
    for host, connection in stack.hosts.items():
        requests = {name: request for name, request in stack.endpoints.items() if request.host == host}
        plans.update(_on_host(args, host, connection, requests) if requests else {})
    ordered = {name: plans[name] for name in stack.endpoints if name in plans}
    fits = not stack.refusals and all(plan.verdict == "fits" for plan in ordered.values())
    answer = {"endpoints": {name: document(plan) for name, plan in ordered.items()}, "refusals": [vars(refusal) for refusal in stack.refusals]}
    text = "\n\n".join([*(as_text(plan) for plan in ordered.values()), *(refusal.text() for refusal in stack.refusals)])
    return int(not fits), answer, text


def _on_host(args: argparse.Namespace, host: str, connection: Any, requests: Mapping[str, Any]) -> dict[str, EndpointPlan]:
    from planning.families import family_of
    from planning.pipeline import plan_host

    scheme, _, path = connection.address.partition(":")
    if scheme != "recorded":
        raise PlanningError(f"host {host} of {args.stack} is {connection.address}; what-if planning reads recorded hosts only (recorded:DIR)")
    facts, survey = _host(_beside(args.stack, path), host)
    manifests = {name: _model(args.models / family_of(request.kind).model_of(request).replace("/", "__")) for name, request in requests.items()}
    return plan_host(args.stack.stem.removeprefix("Pulumi.") or STACK, facts, survey, requests, manifests, advertise_address=connection.advertise_address)


def _beside(stack: Path, path: str) -> Path:
    """A recorded folder is named from the project's root: here, or the folder above the one of the stack file."""
    places = [Path(path).expanduser(), stack.resolve().parent / path, stack.resolve().parent.parent / path]
    return next((place for place in places if place.is_dir()), places[0])


def _config(file: Path) -> Mapping[str, Any]:
    import yaml

    try:
        loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PlanningError(f"{file} is not a readable stack file: {error}") from None
    config = loaded.get("config") if isinstance(loaded, Mapping) else None
    if not isinstance(config, Mapping):
        raise PlanningError(f"{file} has no `config:` map")
    return config
