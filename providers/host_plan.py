"""`HostPlan`: fit, place and launch of all endpoints of one host, made together by one pure function.

Inputs: `stack`, `name` (the host), `connection`, `requests` (endpoint -> configuration keys), `models` (endpoint -> which
manifest), `keyed` (endpoints that have an API key). Found by `check`: `plans` (packed: endpoint -> document of its EndpointPlan), `owner` (a random
word on the label of every container of ours: another stack of the same name, in another state, has another one). Found by `read`:
`drifted` (endpoint -> what is wrong), which the next update takes away again. `set_aside` (packed): the last plans that fitted of endpoints that are
refused now (their host may be down), so that they come back as they were.
It is never replaced: the old plans keep every endpoint where it is. `read` raises the generation of what drifted.
"""
from __future__ import annotations

import secrets
from typing import Any

import pulumi
from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, Resource, UpdateResult
from pulumi.runtime.rpc import UNKNOWN

from planning.errors import Refusal
from providers import record, run
from providers.base import StepProvider, checked, refreshed, unknown
from providers.model_manifest import manifest_of
from providers.numbers import whole
from providers.packed import packed, unpacked
from providers.transport.address import Target


class HostPlanProvider(StepProvider):
    compared = packed = ("plans",)

    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return DiffResult(changes=bool(olds.get("drifted")) or super().diff(id_, olds, news).changes)

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        if unknown(news["connection"], news["requests"], news["models"]):
            return checked(news, plans=UNKNOWN, owner=_owner(olds, news))
        target = Target.of(news["name"], news["connection"])
        news, kept = {**news, "owner": _owner(olds, news)}, _kept(olds or {})
        new = sorted(set(news["requests"]) - set(kept))
        named = sorted({keys["chatTemplate"] for keys in news["requests"].values() if keys.get("chatTemplate")})
        reading = run.reading_of(target, surveyed=bool(new or (olds or {}).get("drifted")), named=named)
        if reading.problem:
            plans = {name: _not_read(name, keys, news["name"], reading.problem) for name, keys in news["requests"].items()}
            return _checked(news, plans, kept)
        proposed = record.read(news["stack"], "proposed", news["name"]) or {}
        plans = make_plans(news, reading, {**{name: proposed[name] for name in new if name in proposed}, **kept})
        record.write(news["stack"], "proposed", news["name"], {name: plans[name] for name in new} or None)
        return _checked(news, plans, kept)

    def create(self, props: dict[str, Any]) -> CreateResult:
        from providers.containers import make_ready

        plans = unpacked(props["plans"])
        for section in ("fetched", "prefetched", "judged", "proven", "started"):    # of another life of this stack
            for name in plans:
                record.write(props["stack"], section, name, None)
        make_ready(Target.of(props["name"], props["connection"]), props["stack"], plans, new=plans)
        return super().create(props)

    def update(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        from providers.containers import make_ready

        before, drifted = _kept(olds), olds.get("drifted") or {}
        changed = {name: plan for name, plan in unpacked(news["plans"]).items() if name in drifted or plan != before.get(name)}
        make_ready(Target.of(news["name"], news["connection"]), news["stack"], changed, changed.keys() - before, drifted)
        return super().update(id_, olds, news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        from providers.containers import give_up

        give_up(Target.of(props["name"], props["connection"]), props["stack"], _kept(props))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        from providers.containers import drifted

        before = unpacked(props.get("plans")) or {}
        found = drifted(Target.of(props["name"], props["connection"]), before)
        plans = {name: {**plan, "generation": (plan.get("generation") or 0) + (name in found)} for name, plan in before.items()}
        for name, why in sorted(found.items()):
            print(f"{name} on {props['name']}: {why}; the next `up` makes its container anew", flush=True)
        return refreshed(id_, props, plans=packed(plans), drifted=found)


def _owner(olds: dict[str, Any] | None, news: dict[str, Any]) -> str:
    """The state's; of a new one what this checkout remembers, or made now. A state from before there were owners has none."""
    if olds and ("owner" in olds or olds.get("plans")):
        return olds.get("owner") or ""
    known = record.read(news["stack"], "owner", news["name"]) or secrets.token_hex(8)
    record.write(news["stack"], "owner", news["name"], known)
    return known


def _kept(olds: dict[str, Any]) -> dict[str, Any]:
    """Endpoint -> document of its last plan, one that fitted where there was one."""
    return {**(unpacked(olds.get("plans")) or {}), **(unpacked(olds.get("set_aside")) or {})}


def _checked(news: dict[str, Any], plans: dict[str, Any], kept: dict[str, Any]) -> CheckResult:
    return checked(news, plans=packed(plans), set_aside=packed(_set_aside(plans, kept)))


def _set_aside(plans: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    return {name: kept[name] for name, plan in plans.items() if plan["verdict"] == "refused" and (kept.get(name) or {}).get("verdict") == "fits"}


def make_plans(props: dict[str, Any], reading: run.Reading, previous: dict[str, Any]) -> dict[str, Any]:
    """Endpoint -> document of its plan, for a host that was read."""
    from planning.detect.facts import HostSurvey
    from planning.pipeline import plan_host
    from planning.plan import document
    from planning.request import parse_endpoint

    requests = {name: parse_endpoint(name, whole(keys))[0] for name, keys in props["requests"].items()}
    manifests = {name: manifest_of(model) for name, model in props["models"].items()}
    plans = plan_host(props["stack"], reading.facts, reading.survey or HostSurvey(), requests, manifests, previous=previous,
                      advertise_address=props.get("advertise_address"), local=props["connection"]["address"] == "local",
                      api_keys=frozenset(props["keyed"]), owner=props.get("owner") or "", absent=reading.absent)
    return {name: document(plan) for name, plan in plans.items()}


def _not_read(name: str, keys: dict[str, Any], host: str, problem: Refusal) -> dict[str, Any]:
    from planning.plan import EndpointPlan, document

    refusal = Refusal("host-unreachable", f"{name} is not planned: its host {host} could not be read", problem.found, "a host that answers",
                      f"mend what is said of {host}")
    return document(EndpointPlan(name, keys["kind"], "refused", (refusal,)))


class HostPlan(Resource, module="amd-vllm", name="HostPlan"):
    plans: pulumi.Output[Any]  # one text; in an older state the value itself

    def __init__(self, resource_name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(HostPlanProvider(), resource_name, {**inputs, "plans": None, "owner": None}, opts)
