"""`EndpointStart` and `EndpointProcess` with a runtime on paper: the gate before the start, what is repeated, what is touched."""
from __future__ import annotations

import pytest

from planning.plan import document
from providers import containers, endpoint_process, endpoint_start, run, stack
from providers.endpoint_process import EndpointProcessProvider
from providers.endpoint_start import EndpointStartProvider
from providers.runtimes import Secrets
from providers.runtimes.base import Software
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Result
from tests.planning.paper import plan_one

HERE = {"name": "here", "address": "local"}
ZEN = '{"vllm": "0.25.1", "torch": "2.11.0", "zentorch": "2.11.0.3", "platform": "zen"}'
MINE = {"amd-vllm.stack": "dev", "amd-vllm.endpoint": "chat"}


class OnPaper:
    """A runtime that writes down what it is asked."""

    def __init__(self, stack: str = ZEN, image_id: str | None = "abc", there: dict | None = None) -> None:
        self.stack, self.image_id, self.there, self.asked = stack, image_id, there or {}, []

    def software(self, _connection, _launch, _name=None):
        return Software(self.image_id, ("x@sha256:1",))

    def image_name(self, image):
        return image

    def read_stack(self, *_):
        self.asked.append("read_stack")
        return Result(0, self.stack, "") if self.stack.startswith("{") else Result(127, "", self.stack)

    def hand_over(self, *_):
        self.asked.append("hand_over")

    def start(self, *_):
        self.asked.append("start")
        return "now"

    def create(self, _connection, launch, secrets):
        self.asked.append(("create", launch["container_name"], secrets))
        return "new-id"

    def remove(self, _connection, name):
        self.asked.append(("remove", name))

    def inspect(self, _connection, names):
        return {name: self.there.get(name) for name in names}


@pytest.fixture
def on_paper(monkeypatch, tmp_path):
    def use(runtime: OnPaper) -> OnPaper:
        for module in (endpoint_start, endpoint_process, containers, stack):
            monkeypatch.setattr(module, "runtime_of", lambda _: runtime)
        monkeypatch.chdir(tmp_path)  # where the local record lies
        return runtime
    return use


def start_props(**more):
    return {"name": "chat", "stack_name": "dev", "connection": HERE, "runtime": "podman", "container_id": "id-1",
            "plan": document(plan_one("genoa-dual")), **more}


def test_the_stack_is_read_before_the_start_and_kept(on_paper):
    runtime = on_paper(OnPaper())
    outs = EndpointStartProvider().create(start_props()).outs
    assert runtime.asked == ["read_stack", "start"]
    assert (outs["image_id"], outs["image_digest"], outs["stack"]["platform"], outs["started_at"]) == ("abc", "x@sha256:1", "zen", "now")


@pytest.mark.parametrize("image, digest", [
    ("org/x:1", "org/x@sha256:2"), ("org/x@sha256:3", "org/x@sha256:3"), ("host:5000/a/x:1@sha256:4", "host:5000/a/x@sha256:4"),
    ("org/x:1@sha256:9", "org/x@sha256:2"), ("org/renamed:1", "host:5000/a/x@sha256:4")])
def test_the_digest_is_of_the_repository_that_runs(image, digest):
    held = Software("abc", ("host:5000/a/x@sha256:4", "org/x@sha256:2", "org/x@sha256:3"))
    assert held.digest_of(image) == digest and Software("abc").digest_of(image) == ""


@pytest.mark.parametrize("image", ["docker.io/library/ubuntu:22", "ubuntu:22"])
def test_dockers_short_names_are_the_same_repository(image):
    assert Software("abc", ("registry.local/ubuntu@sha256:1", "ubuntu@sha256:2")).digest_of(image) == "ubuntu@sha256:2"


@pytest.mark.parametrize("image_id, known, asked", [
    ("abc", "abc", ["start"]), ("abc", "old", ["read_stack", "start"]), (None, "", ["read_stack", "start"])])
def test_the_same_image_is_not_read_again(on_paper, image_id, known, asked):
    runtime = on_paper(OnPaper(image_id=image_id))
    olds = {**start_props(), "image_id": known, "stack": {"vllm": "0.25.1", "platform": "zen"}}
    outs = EndpointStartProvider().update("chat", olds, start_props(container_id="id-2")).outs
    assert runtime.asked == asked and outs["stack"]["platform"] == "zen"


def test_another_host_is_read_for_itself(on_paper):
    runtime = on_paper(OnPaper())
    olds = {**start_props(), "connection": {"name": "there", "address": "ssh://a@b"}, "image_id": "abc", "stack": {"platform": "zen"}}
    EndpointStartProvider().update("chat", olds, start_props())
    assert runtime.asked == ["read_stack", "start"], "the platform that is active is the host's matter too"
    EndpointStartProvider().create(start_props())
    assert runtime.asked == ["read_stack", "start", "start"], "remembered"


def test_a_blocked_stack_is_not_started_and_says_what_is_left(on_paper):
    runtime = on_paper(OnPaper(ZEN.replace('"zen"', '"cpu"')))
    with pytest.raises(CommandFailed, match=r"\[blocked\].*platform cpu.*vllm-dev-chat was made and not started: nothing runs"):
        EndpointStartProvider().create(start_props())
    assert runtime.asked == ["read_stack"]


def test_an_image_that_tells_nothing_starts_with_a_warning_and_says_why(on_paper, capsys):
    runtime = on_paper(OnPaper("exec: python3: not found"))
    outs = EndpointStartProvider().create(start_props()).outs
    assert runtime.asked[-1] == "start" and [warning["code"] for warning in outs["warnings"]] == ["stack-unknown"] and outs["stack"] == {}
    assert "could not be read (exit status 127): exec: python3: not found" in capsys.readouterr().out


def process_props(**more):
    launch = document(plan_one("genoa-dual"))["launch"]
    return {"name": "chat", "stack": "dev", "connection": HERE, "launch": {**launch, "runtime": "podman"}, "generation": 0, "keyed": False, **more}


def seen(identity, labels=MINE):
    return {"Id": identity, "Config": {"Labels": labels, "Image": "x"}, "State": {"Status": "running"}}


def test_what_an_interrupted_run_left_is_cleared_first(on_paper):
    runtime = on_paper(OnPaper(there={"vllm-dev-chat": seen("left-over")}))
    assert EndpointProcessProvider().create(process_props()).outs["container_id"] == "new-id"
    assert runtime.asked == [("remove", "left-over"), ("create", "vllm-dev-chat", Secrets())]


def test_somebody_elses_is_refused_and_stays(on_paper):
    runtime = on_paper(OnPaper(there={"vllm-dev-chat": seen("theirs", {})}))
    with pytest.raises(CommandFailed, match="name-taken"):
        EndpointProcessProvider().create(process_props())
    assert runtime.asked == []


def test_a_key_that_did_not_arrive_opens_nothing(on_paper, monkeypatch):
    runtime = on_paper(OnPaper())
    monkeypatch.setitem(run._secrets, "api_keys", {})
    with pytest.raises(CommandFailed, match="no-api-key"):
        EndpointProcessProvider().create(process_props(keyed=True))
    (failure,) = EndpointProcessProvider().check({}, process_props(keyed=True)).failures
    assert runtime.asked == [] and "no-api-key" in failure.reason


def test_another_key_makes_a_new_one_and_the_state_holds_none(monkeypatch):
    provider = EndpointProcessProvider()
    monkeypatch.setitem(run._secrets, "api_keys", {"chat": "sk-1"})
    first = provider.check({}, process_props(keyed=True)).inputs
    assert "sk-1" not in str(first) and provider.check(first, process_props(keyed=True)).inputs == first
    assert not provider.diff("chat", first, first).changes
    monkeypatch.setitem(run._secrets, "api_keys", {"chat": "sk-2"})
    second = provider.check(first, process_props(keyed=True)).inputs
    found = provider.diff("chat", first, second)
    assert (found.changes, found.replaces, found.delete_before_replace) == (True, ["key_print"], True)


@pytest.mark.parametrize("there, removed", [
    ({}, []), ({"id-1": seen("id-1")}, [("remove", "id-1")]), ({"id-1": seen("another")}, []), ({"id-1": seen("id-1", {})}, [])])
def test_delete_takes_only_what_was_made_here(on_paper, there, removed):
    runtime = on_paper(OnPaper(there=there))
    EndpointProcessProvider().delete("chat", process_props(container_id="id-1"))
    assert runtime.asked == removed


def test_read_tells_what_is_gone(on_paper):
    on_paper(OnPaper())
    assert not EndpointProcessProvider().read("chat", process_props(container_id="id-1")).id
    on_paper(OnPaper(there={"id-1": seen("id-1")}))
    assert EndpointProcessProvider().read("chat", process_props(container_id="id-1")).id == "chat"
