"""Hosts, models and requests on paper for the tests of planning: synthetic hosts, recorded models, one call to plan them."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from planning.detect import load_recording, read_host
from planning.detect.facts import HostFacts, HostSurvey
from planning.pipeline import plan_host
from planning.plan import EndpointPlan, document
from planning.request import parse_endpoint
from planning.resolve import ModelManifest, load_model_dir

TESTS = Path(__file__).resolve().parent.parent
MODELS = TESTS / "models"
MODEL, COMMIT = "Qwen/Qwen3-0.6B", "c1899de289a04d12100db370d81485cdf75e47ca"


@cache
def host(name: str) -> tuple[HostFacts, HostSurvey]:
    """Facts and survey of tests/hosts/<name>."""
    return read_host(name, load_recording(TESTS / "hosts" / name))


@cache
def model(name: str = MODEL) -> ModelManifest:
    """A recorded model, at a pinned commit."""
    return replace(load_model_dir(MODELS / name.replace("/", "__"), name), revision=COMMIT)


def plan_all(on: str, endpoints: Mapping[str, Mapping[str, Any]], previous: Mapping[str, Any] = {}, survey: HostSurvey | None = None,
             facts: HostFacts | None = None, **options: Any) -> dict[str, EndpointPlan]:
    """Plans of several endpoints on tests/hosts/synthetic-<on>; `model` defaults to the small one. EPYC unless `kind` says otherwise."""
    known, seen = host(f"synthetic-{on}")
    requests = {}
    for name, keys in endpoints.items():
        request, problems = parse_endpoint(name, {"kind": "epyc", "host": known.name, "model": MODEL, **keys})
        assert request is not None, problems
        requests[name] = request
    manifests = {name: options.pop("manifest", None) or model(request.model if not request.model.startswith("/") else MODEL)
                 for name, request in requests.items()}
    return plan_host("dev", facts or known, survey or seen, requests, manifests, previous, **options)


def plan_one(on: str, previous: Mapping[str, Any] | None = None, survey: HostSurvey | None = None, facts: HostFacts | None = None,
             manifest: ModelManifest | None = None, local: bool = False, **keys: Any) -> EndpointPlan:
    """The plan of one endpoint named `chat`."""
    options = {"manifest": manifest} if manifest else {}
    return plan_all(on, {"chat": keys}, {"chat": previous} if previous else {}, survey, facts, local=local, **options)["chat"]


def codes(plan: EndpointPlan) -> list[str]:
    """Codes of the refusals, in order."""
    return [refusal.code for refusal in plan.refusals]


def warned(plan: EndpointPlan) -> set[str]:
    """Codes of the warnings."""
    return {warning.code for warning in plan.warnings}


def documents(plans: Mapping[str, EndpointPlan]) -> dict[str, Any]:
    """What is kept of plans, as `previous` takes it."""
    return {name: document(plan) for name, plan in plans.items()}
