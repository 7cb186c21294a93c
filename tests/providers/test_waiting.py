"""The wait for an engine and the question at refresh, where something comes between us and the engine: a connection, a Docker that restarts."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from planning.errors import Refusal
from providers import containers, proof, run
from providers.proof import NotReady, Subject
from providers.transport.address import Target
from providers.transport.errors import CommandFailed, HostUnreachable

BOX = Target("box", "local", None, None)
SUBJECT = Subject("chat", "docker", "vllm-dev-chat", "127.0.0.1", 8000, "m", "/v1/completions", {}, None, 600)
AWAY = HostUnreachable(Refusal("host-unreachable", "box: cut", "no answer", "an answer", "look"))
NO_START = CommandFailed(Refusal("runtime-failed", "box: it did not start", "x", "y", "z"))


class OnPaper:
    """A runtime that shows one state after the other; `start` raises where it is told to."""

    def __init__(self, *shown, fails: CommandFailed | None = None) -> None:
        self.shown, self.fails, self.started = list(shown), fails, 0

    def look(self, *_):
        seen = self.shown.pop(0)
        if isinstance(seen, Exception):
            raise seen
        return seen, ""

    def start(self, *_):
        self.started += 1
        if self.fails:
            raise self.fails

    def inspect(self, _connection, names):
        return {name: {"State": {"Status": "running"}} for name in names}


def seen(status: str, restarts: int = 0):
    return {"State": {"Status": status}, "RestartCount": restarts}


def awake(monkeypatch, runtime: OnPaper) -> int:
    monkeypatch.setattr(proof, "runtime_of", lambda _: runtime)
    return proof._awake(None, SUBJECT, lambda _: None)


def test_restarts_count_anew_after_a_start_of_ours(monkeypatch):
    assert awake(monkeypatch, OnPaper(seen("running", 3))) == 3
    assert awake(monkeypatch, runtime := OnPaper(seen("exited", 3), seen("running", 0))) == 0 and runtime.started == 1


def test_a_start_that_fails_is_told_and_one_that_took_long_is_not(monkeypatch):
    with pytest.raises(NotReady, match="it did not start"):
        awake(monkeypatch, OnPaper(seen("exited"), seen("exited"), fails=NO_START))
    assert awake(monkeypatch, OnPaper(seen("exited"), seen("running"), fails=NO_START)) == 0


def test_a_docker_that_goes_away_at_the_start_is_waited_for(monkeypatch):
    with pytest.raises(HostUnreachable):             # and not NotReady, which ends the wait
        awake(monkeypatch, OnPaper(seen("exited"), AWAY, fails=NO_START))


@pytest.fixture
def answers(monkeypatch):
    """What each attempt of the proof gives, in turn; gives the list of those that are left."""
    def use(*problems):
        left = list(problems)

        def prove(*_, **__):
            problem = left.pop(0)
            if isinstance(problem, Exception):
                raise problem
            return problem, None
        monkeypatch.setattr(run, "_futures", {})
        monkeypatch.setattr(proof, "prove", prove)
        monkeypatch.setattr(proof, "POLL_SECONDS", 0)
        return left
    return use


def problem(code: str) -> Refusal:
    return Refusal(code, "chat: x", "x", "y", "z")


def test_who_does_not_answer_is_asked_twice_at_refresh(answers):
    assert answers(problem("not-ready"), None) == [problem("not-ready"), None]
    assert proof.still_answers(BOX, SUBJECT) is None
    answers(problem("not-ready"), problem("not-ready"))
    assert proof.still_answers(BOX, SUBJECT).code == "not-ready"
    left = answers(problem("hung"), None)
    assert proof.still_answers(BOX, SUBJECT).code == "hung" and left == [None], "that took its time already"


def test_a_connection_that_is_cut_replaces_nothing(answers, monkeypatch, capsys):
    launch = {"restart": "unless-stopped", "container_name": "vllm-dev-chat", "runtime": "docker"}
    monkeypatch.setattr(containers, "runtime_of", lambda _: OnPaper())
    monkeypatch.setattr(containers, "differences", lambda *_: [])
    monkeypatch.setattr(proof.Subject, "of", classmethod(lambda *_: SUBJECT))
    answers(AWAY)
    assert containers.drifted(BOX, {"chat": {"launch": launch}}) == {} and "chat on box: not asked" in capsys.readouterr().out
    answers(problem("hung"))
    assert "[hung]" in containers.drifted(BOX, {"chat": {"launch": launch}})["chat"]


def test_a_runtime_that_is_away_does_not_hide_the_others(answers, monkeypatch, capsys):
    away = SimpleNamespace(inspect=lambda *_: (_ for _ in ()).throw(CommandFailed(problem("runtime-failed"))))
    monkeypatch.setattr(containers, "runtime_of", lambda word: away if word == "docker" else OnPaper())
    monkeypatch.setattr(containers, "differences", lambda *_: [])
    monkeypatch.setattr(proof.Subject, "of", classmethod(lambda *_: SUBJECT))
    answers(problem("hung"))
    launch = {"restart": "unless-stopped", "container_name": "x"}
    plans = {"a": {"launch": {**launch, "runtime": "docker"}}, "b": {"launch": {**launch, "runtime": "podman"}}}
    assert set(containers.drifted(BOX, plans)) == {"b"} and "nothing under docker was looked at" in capsys.readouterr().out
