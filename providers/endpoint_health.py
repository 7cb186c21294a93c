"""`EndpointHealth`: the record of one proof that the endpoint answered, with what the engine reported. `read`: does it still.

Inputs: `name` (endpoint), `connection`, `container_id`, `subject` (what is asked, from the plan), `planned` (tokens, concurrency, bytes).
Found by create and update: `healthy`, `problem`, `measured`, `comparison`, `warnings`. The wait is the component's (`providers.proof.wait`).
"""
from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pulumi
from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, Resource, UpdateResult

from planning import health
from providers import memory_use, proof, record, run
from providers.base import StepProvider, checked, refreshed, unknown
from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.errors import TransportError
from providers.transport.ssh import Connection


class EndpointHealthProvider(StepProvider):
    compared = ("healthy", "subject", "planned", "container_id")

    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        if unknown(news.get("container_id")) and olds.get("container_id"):
            seconds = (olds.get("measured") or {}).get("startup_seconds")
            took = "how long the last start took is not known" if seconds is None else f"the last start took {seconds:.0f} s"
            print(f"{olds.get('name')}: an outage: its container is replaced, and nothing answers from its stop until the new one does; {took}", flush=True)
        return super().diff(id_, olds, news)

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        return checked(news, healthy=True, problem=None)

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props["name"], _prove(props))

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(_prove(news))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        target = Target.of(props["connection"]["name"], props["connection"])
        if target.parsed.scheme == "recorded":
            return refreshed(id_, props)
        try:
            problem = proof.still_answers(target, proof.Subject.from_properties(props["subject"]))
        except TransportError as error:
            problem = error.refusal
        return refreshed(id_, props, healthy=problem is None, problem=problem and problem.text())


def _prove(props: dict[str, Any]) -> dict[str, Any]:
    subject, target = proof.Subject.from_properties(props["subject"]), Target.of(props["connection"]["name"], props["connection"])
    problem, log = proof.prove(Connection(target), subject, run.api_key(props["name"]))
    if problem is not None:
        raise proof.NotReady(problem, log.failed_phase, log.tail[-proof.TAIL:])
    planned, used = props.get("planned") or {}, _memory(Connection(target), subject)
    comparison, warnings = health.compare(planned.get("kv_cache_tokens"), log.measured, planned.get("max_concurrency"), used, subject.planned_bytes)
    record.write(props["stack"], "proven", props["name"], props["container_id"])
    return {**props, "measured": {**asdict(log.measured), "container_bytes": used}, "comparison": comparison,
            "warnings": [asdict(warning) for warning in (*log.warnings, *warnings)]}


def _memory(connection: Connection, subject: proof.Subject) -> int | None:
    seen = runtime_of(subject.runtime).inspect(connection, [subject.container])[subject.container]
    return memory_use.of(connection, seen) if seen else None


class EndpointHealth(Resource, module="amd-vllm", name="EndpointHealth"):
    healthy: pulumi.Output[bool]
    measured: pulumi.Output[dict]
    comparison: pulumi.Output[str]
    warnings: pulumi.Output[list]

    def __init__(self, resource_name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        found = dict.fromkeys(("healthy", "problem", "measured", "comparison", "warnings"))
        super().__init__(EndpointHealthProvider(), resource_name, {**inputs, **found}, opts)
