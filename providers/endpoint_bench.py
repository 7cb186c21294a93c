"""`EndpointBench`: the record of one run of `vllm bench throughput` (`mode: bench`), with its figures.

Inputs: `name` (endpoint), `stack`, `connection`, `container_id`, `subject`. Found by create and update: `figures`. The wait for its end is the
component's (`wait`, in a thread of the program).
"""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, Resource, UpdateResult

from planning import health
from planning.errors import Refusal
from providers import record
from providers.base import StepProvider
from providers.proof import LOST_SECONDS, TAIL, NotReady, Subject
from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.errors import TransportError
from providers.transport.ssh import Connection

POLL_SECONDS, TELL_SECONDS = 3, 30


class EndpointBenchProvider(StepProvider):
    compared = ("subject", "container_id")

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props["name"], _recorded(props))

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(_recorded(news))


def _recorded(props: dict[str, Any]) -> dict[str, Any]:
    connection, subject = Connection(Target.of(props["connection"]["name"], props["connection"])), Subject.from_properties(props["subject"])
    seen, text = runtime_of(subject.runtime).look(connection, subject.container)
    figures = _figures(subject, seen, text)
    record.write(props["stack"], "proven", props["name"], props["container_id"])
    return {**props, "figures": dict(figures)}


def _figures(subject: Subject, seen: Mapping[str, Any] | None, text: str) -> Mapping[str, float]:
    """Raises NotReady for a run that failed or left no figures."""
    log, state = health.read_log(text), (seen or {}).get("State") or {}
    figures = health.read_bench(text)
    if state.get("Status") in ("exited", "stopped") and state.get("ExitCode") == 0 and figures:
        return figures
    silent = Refusal("bench-failed", f"{subject.endpoint}: `vllm bench throughput` ended without figures", "no line `Throughput: …`", "its figures",
                     "look at the log")
    problem = silent if not seen or state.get("ExitCode") == 0 else health.judge_failure(state, log)
    raise NotReady(problem, log.failed_phase, log.tail[-TAIL:])


def wait(target: Target, subject: Subject, say: Callable[[str], None]) -> None:
    """Until the run has ended well. Raises NotReady when it failed, or when its log stood still for the deadline (it is stopped then)."""
    connection, runtime, began = Connection(target), runtime_of(subject.runtime), time.monotonic()
    moved, last, told, lost = began, "", began, None
    while True:
        try:
            seen, text = runtime.look(connection, subject.container, TAIL)
            lost = None
        except TransportError:
            lost = lost or time.monotonic()
            if time.monotonic() - lost > LOST_SECONDS:
                raise
            time.sleep(POLL_SECONDS)
            continue
        now = time.monotonic()
        if seen is None or seen["State"].get("Status") not in ("running", "restarting"):
            _figures(subject, seen, runtime.look(connection, subject.container)[1])
            say(f"the bench ended after {now - began:.0f} s")
            return
        if text != last:
            moved, last = now, text
        if now - moved > subject.deadline_seconds:
            runtime.stop(connection, subject.container)
            log = health.read_log(text)
            raise NotReady(Refusal("deadline", f"{subject.endpoint}: the bench stands still", f"nothing new in its log for {now - moved:.0f} s",
                                   f"progress within {subject.deadline_seconds} s", "look at the log; a larger `waitSeconds:` waits longer"),
                           log.phase, log.tail[-TAIL:])
        if now - told >= TELL_SECONDS:
            told = now
            say(f"the bench runs, {now - began:.0f} s")
        time.sleep(POLL_SECONDS)


class EndpointBench(Resource, module="amd-vllm", name="EndpointBench"):
    figures: pulumi.Output[dict]

    def __init__(self, resource_name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(EndpointBenchProvider(), resource_name, {**inputs, "figures": None}, opts)
