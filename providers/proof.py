"""The proof that an engine answers: container alive, /health, the model listed, one real generation. And the wait for it.

`prove` tries once. `wait` polls until the proof is there or the reason why it never will be: minutes, so it runs in the
program's own thread, never in a provider call. On failure the container is stopped (no blind retry) and the cause is told.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from planning import health
from planning.errors import Refusal
from planning.health.memory import planned_bytes
from providers import run
from providers.numbers import whole
from providers.patience import Patience
from providers.runtimes import runtime_of
from providers.runtimes.base import LOG_LINES
from providers.transport import http
from providers.transport.address import Target
from providers.transport.errors import CommandFailed, TransportError
from providers.transport.ssh import Connection

NOT_READY = "not-ready"
POLL_SECONDS, GENERATE_SECONDS, AGAIN_SECONDS, LOST_SECONDS, TAIL = 2, 180, 60, 60, 50


class NotReady(CommandFailed):
    """An engine that does not answer, with its phase, the cause where it is known, and the last lines of its log."""

    def __init__(self, refusal: Refusal, phase: str | None, tail: tuple[str, ...]) -> None:
        super().__init__(refusal)
        self.phase, self.tail = phase, tail

    def __str__(self) -> str:
        lines = "".join(f"\n    {line}" for line in self.tail)
        return f"phase {self.phase or 'start'}: {self.refusal.text()}" + (f"\n  last lines of the log:{lines}" if lines else "")


@dataclass(frozen=True)
class Subject:
    """What is to be proven: one endpoint's engine, from its plan."""

    endpoint: str
    runtime: str
    container: str
    address: str
    port: int
    model: str
    path: str
    body: Mapping[str, Any]
    requires_log: str | None
    deadline_seconds: int
    planned_bytes: int | None = None
    stall_seconds: int | None = None

    @classmethod
    def of(cls, endpoint: str, plan: Mapping[str, Any]) -> Subject:
        launch, proof = plan["launch"], plan["health"]
        return cls(endpoint, launch["runtime"], launch["container_name"], launch["bind_address"], launch["port"], plan["handoff"]["model"],
                   proof["path"], proof["body"], proof.get("requires_log"), proof["deadline_seconds"],
                   planned_bytes(plan.get("memory"), int((plan.get("placement") or {}).get("tensor_parallel_size") or 1)), proof.get("stall_seconds"))

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Subject:
        """From a resource's properties, where None is left out; those of another version of this project may lack something or have more."""
        known = {field.name for field in fields(cls)}
        return cls(**{"runtime": "docker", "requires_log": None, "deadline_seconds": 600,
                      **{name: value for name, value in whole(properties).items() if name in known}})


def prove(connection: Connection, subject: Subject, api_key: str | None, restarts: int | None = None,
          seconds: float | None = None) -> tuple[Refusal | None, health.LogReport]:
    """One attempt. A refusal says what is missing; the log report holds phase, cause and what the engine measured.

    `restarts`: how often the runtime had started it again when the wait began; once more is a failed start. `seconds`: how long one
    generation may take; the first one compiles, and takes no longer than the user gives the whole start (`waitSeconds`).
    """
    seen, text = runtime_of(subject.runtime).look(connection, subject.container)
    log = health.read_log(text)
    if seen is None:
        return Refusal("no-container", f"{subject.endpoint}: {subject.container} is gone", "no such container", "the container of this endpoint on its host",
                       "run `pulumi up --refresh`, which makes it anew"), log
    state = {**seen["State"], "RestartCount": seen.get("RestartCount", 0)}
    again = restarts is not None and state["RestartCount"] > restarts
    if again or health.judge_state(state, answers=True):
        ended = runtime_of(subject.runtime).last_exit(connection, subject.container) if again else None
        return health.judge_failure(state if ended is None else {**state, "Status": "exited", "ExitCode": ended}, log), log
    if subject.requires_log and log.zentorch_active is False:
        return Refusal("blocked", f"{subject.endpoint}: the stock CPU platform is active in the zentorch image", log.platform or "no zentorch line in the log",
                       subject.requires_log, "report the image; `backend: stock` serves without zentorch"), log
    if not log.from_start and text.count("\n") >= LOG_LINES:
        subject = replace(subject, requires_log=None)   # the start-up lines left what we read of the log long ago
    with http.engine(connection, subject.address, subject.port, api_key) as engine:
        problem = _ask(engine, subject, log, seconds or min(GENERATE_SECONDS, subject.deadline_seconds))
    looping = problem is not None and problem.code == NOT_READY and health.judge_state(state)
    return (health.judge_failure(state, log) if looping else problem), log


def _ask(engine: http.Engine, subject: Subject, log: health.LogReport, seconds: float) -> Refusal | None:
    answer = engine.ask("GET", "/health")
    if answer.status != 200:
        return Refusal(NOT_READY, f"{subject.endpoint}: /health", str(answer.status or answer.text), "200",
                       "while it starts 503 is normal; later its engine is gone: read the log, and run `up` after a refresh, which replaces the container")
    models = engine.ask("GET", "/v1/models", timeout=30)
    problem = health.judge_models(models.status, models.body, subject.model)
    if problem:
        return problem
    generated = engine.ask("POST", subject.path, body=subject.body, timeout=seconds)
    if generated.status == 0 and not generated.late:
        return Refusal(NOT_READY, f"{subject.endpoint}: the connection ended in the middle of a generation", generated.text, "one generated text",
                       "read the log: the engine has ended, or is ending")
    if generated.status == 0:
        return Refusal("hung", f"{subject.endpoint}: /health says 200 and the generation does not come back",
                       f"{generated.text} after at most {seconds:.0f} s", "one generated text", "run `pulumi refresh` and `up`: the container is replaced")
    problem = health.judge_generation(generated.status, generated.body, subject.path)
    if problem is None and subject.requires_log and not log.zentorch_active:
        return Refusal("blocked", f"{subject.endpoint}: no line in the log proves zentorch", "none", subject.requires_log,
                       "look at the log; `backend: stock` serves without zentorch")
    return problem


def wait(target: Target, subject: Subject, api_key: str | None, say: Callable[[str], None], ours: bool = True) -> None:
    """Poll until proven. Raises NotReady with phase, cause and log; the container is then stopped and stays for inspection, if it is `ours`:
    started from this checkout. What another one started may serve for long, and is left as it is.
    """
    connection, told = Connection(target), ("", 0.0)
    patience = Patience(subject.endpoint, subject.deadline_seconds, subject.stall_seconds)
    runtime = runtime_of(subject.runtime)
    restarts = lost = None
    while True:
        elapsed = patience.elapsed
        try:
            restarts = _awake(connection, subject, say) if restarts is None else restarts
            problem, log = prove(connection, subject, api_key, restarts)
            lost = None
        except NotReady:
            raise
        except TransportError:
            lost = elapsed if lost is None else lost
            if elapsed - lost > LOST_SECONDS:
                raise
            time.sleep(POLL_SECONDS)
            continue
        if problem is None:
            say(f"answers after {elapsed:.0f} s")
            return
        failed = patience.over(problem.found, log.tail) if problem.code == NOT_READY else problem
        if failed is not None:
            if ours and failed.code != "no-container":
                runtime.stop(connection, subject.container)
                say("its container is stopped, and kept for its log")
            raise NotReady(failed, log.failed_phase, log.tail[-TAIL:])
        phase = log.phase or "start"
        if phase != told[0] or elapsed - told[1] >= 15:
            told = (phase, elapsed)
            say(f"{phase}, {elapsed:.0f} s")
        time.sleep(POLL_SECONDS)


def _awake(connection: Connection, subject: Subject, say: Callable[[str], None]) -> int:
    """How often the runtime has started it again until now. Starts what is stopped, which counts anew; raises NotReady when it stays stopped,
    and the error of a runtime that is away."""
    runtime = runtime_of(subject.runtime)
    seen, _ = runtime.look(connection, subject.container, 1)
    if _stopped(seen):
        say("the container is stopped; starting it again")
        failed = None
        try:
            runtime.start(connection, subject.container)
        except CommandFailed as error:
            failed = error
        seen, _ = runtime.look(connection, subject.container, 1)
        if failed and _stopped(seen):
            raise NotReady(failed.refusal, None, ()) from None
    return int((seen or {}).get("RestartCount") or 0)


def _stopped(seen: Mapping[str, Any] | None) -> bool:
    return seen is not None and seen["State"].get("Status") in ("exited", "stopped", "created", "configured")


def still_answers(target: Target, subject: Subject) -> Refusal | None:
    """The proof once more, at most once in a run; for `read`. The start-up line may have left the log long ago, so it is not asked for.

    Who does not answer is asked twice, as a connection may have been cut. Raises TransportError when nothing can be said of the engine.
    """
    def once() -> Refusal | None:
        return prove(Connection(target), replace(subject, requires_log=None), run.api_key(subject.endpoint), seconds=AGAIN_SECONDS)[0]

    def ask() -> Refusal | None:
        problem = once()
        if problem is None or problem.code != NOT_READY:
            return problem
        time.sleep(POLL_SECONDS)
        return once()
    return run.once(("answers", target, subject.endpoint), ask).result()
