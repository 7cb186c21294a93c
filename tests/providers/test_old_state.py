"""A state written by another version of this project, or while a host was away, is refreshed, updated and given up all the same."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from planning.errors import Refusal
from planning.resolve import manifest_to_dict
from providers import run
from providers.endpoint_health import EndpointHealthProvider
from providers.endpoint_start import EndpointStartProvider
from providers.host_plan import HostPlanProvider
from providers.host_probe import HostProbeProvider
from providers.model_manifest import ModelManifestProvider
from providers.packed import packed, unpacked
from providers.proof import Subject
from tests.planning.paper import MODEL, model

HOSTS = Path(__file__).resolve().parents[1] / "hosts"
SUBJECT = {"endpoint": "chat", "container": "vllm-dev-chat", "address": "127.0.0.1", "port": 8000.0, "model": MODEL, "path": "/v1/completions", "body": {}}


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """A record and readings of its own; the model is known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "_futures", {})
    run.manifest_of((MODEL, "main", None), lambda: model())


def again() -> None:
    """As the next run: nothing is read yet."""
    run._futures.clear()
    run.manifest_of((MODEL, "main", None), lambda: model())


def recorded(tmp_path: Path, name: str = "synthetic-genoa-dual") -> Path:
    return Path(shutil.copytree(HOSTS / name, tmp_path / "host"))


def news(folder: Path, **more) -> dict:
    connection = {"name": "box", "address": f"recorded:{folder}", "accept_new_host_key": False}
    return {"stack": "dev", "name": "box", "connection": connection, "requests": {"chat": {"kind": "epyc", "host": "box", "model": MODEL}}, "keyed": [],
            "models": {"chat": {"model": MODEL, "requested_revision": "main", "connection": None}}, **more}


def engine(props: dict) -> dict:
    """Properties as the engine hands them back: JSON, without None."""
    def without_none(value):
        if isinstance(value, dict):
            return {key: without_none(item) for key, item in value.items() if item is not None}
        return [without_none(item) for item in value] if isinstance(value, list) else value
    return without_none(json.loads(json.dumps(props)))


def plans(props: dict) -> dict:
    return unpacked(props["plans"])


def floats(value):
    """As an older state holds what is packed today: the values themselves, every number a float, nothing that is None."""
    return json.loads(packed(value), parse_int=float)


def test_plans_of_an_older_state_stay_as_they_are(tmp_path):
    provider, folder = HostPlanProvider(), recorded(tmp_path)
    first = engine(provider.check({}, news(folder)).inputs)
    assert first["owner"] and plans(first)["chat"]["launch"]["labels"]["amd-vllm.owner"] == first["owner"]
    old = engine(provider.check({"plans": {"other": {}}}, news(folder)).inputs)          # from before there were owners
    for key in ("owner", "set_aside"):
        old.pop(key)
    old["plans"] = floats(plans(old))                                                        # and before they were packed
    assert "amd-vllm.owner" not in old["plans"]["chat"]["launch"]["labels"]
    again()
    new = provider.check(old, news(folder)).inputs
    assert not provider.diff("box", old, engine(new)).changes
    del old["plans"]["chat"]["generation"]
    read = provider.read("box", old)
    assert plans(read.outs)["chat"]["generation"] == 0 and read.outs["drifted"] == {}
    assert provider.update("box", {}, engine(new)).outs["plans"]


def test_an_endpoint_whose_host_was_away_comes_back_as_it_was(tmp_path):
    provider, folder = HostPlanProvider(), recorded(tmp_path)
    first = engine(provider.check({}, news(folder)).inputs)
    folder.rename(tmp_path / "away")
    again()
    away = engine(provider.check(first, news(folder)).inputs)
    assert plans(away)["chat"]["verdict"] == "refused" and unpacked(away["set_aside"]) == plans(first)
    again()
    still = engine(provider.check(away, news(folder)).inputs)
    assert still["set_aside"] == away["set_aside"]
    (tmp_path / "away").rename(folder)
    again()
    back = engine(provider.check(still, news(folder)).inputs)
    assert back["plans"] == first["plans"] and unpacked(back["set_aside"]) == {} and back["owner"] == first["owner"]


def test_a_host_that_is_lost_between_its_facts_and_its_survey(tmp_path, monkeypatch):
    """A double: the future of the survey. What it finds is told; nobody plans without it."""
    lost = run.Reading({}, problem=Refusal("host-unreachable", "box", "connection reset", "a host that answers", "look at its network"))
    monkeypatch.setattr(run, "survey_of", lambda _target: SimpleNamespace(result=lambda: lost))
    (plan,) = plans(HostPlanProvider().check({}, news(recorded(tmp_path))).inputs).values()
    assert plan["verdict"] == "refused" and plan["refusals"][0]["found"] == "connection reset"


def test_what_drifted_is_an_update_until_it_was_made(tmp_path):
    provider, folder = HostPlanProvider(), recorded(tmp_path)
    first = engine(provider.check({}, news(folder)).inputs)
    assert provider.diff("box", {**first, "drifted": {"chat": "stopped"}}, first).changes
    assert not provider.diff("box", {**first, "drifted": {}}, first).changes
    assert not provider.update("box", {**first, "drifted": {"chat": "stopped"}}, first).outs.get("drifted")


def test_a_subject_of_another_version_is_understood():
    subject = Subject.from_properties({**SUBJECT, "of_the_future": 1.0})
    assert (subject.runtime, subject.port, subject.requires_log) == ("docker", 8000, None)


def test_health_of_an_older_state_is_read_and_compared(tmp_path, capsys):
    provider = EndpointHealthProvider()
    props = {"name": "chat", "connection": {"name": "box", "address": f"recorded:{tmp_path}"}, "subject": SUBJECT, "container_id": "abc"}
    assert provider.read("chat", props).outs["container_id"] == "abc"
    assert not provider.diff("chat", {**props, "healthy": True}, {**props, "healthy": True}).changes
    from pulumi.output import Unknown
    assert provider.diff("chat", props, {**props, "container_id": Unknown()}).changes
    assert "how long the last start took is not known" in capsys.readouterr().out


@pytest.mark.parametrize("provider", [HostProbeProvider, ModelManifestProvider, EndpointStartProvider, EndpointHealthProvider])
def test_delete_needs_nothing(provider):
    assert provider().delete("any", {}) is None


def test_a_gpu_that_is_gone_and_another_driver_are_told(tmp_path, capsys):
    provider, folder = HostProbeProvider(), recorded(tmp_path, "synthetic-mi300x-x8")
    connection = {"name": "box", "address": f"recorded:{folder}", "accept_new_host_key": False}
    first = engine(provider.check({}, connection).inputs)
    again()
    capsys.readouterr()
    assert engine(provider.read("box", first).outs) == first and capsys.readouterr().out == ""
    again()
    facts = floats(unpacked(first["facts"]))                                                 # as they were before they were packed
    assert not provider.diff("box", {**first, "facts": facts}, first).changes
    changed = {**facts, "gpus": {**facts["gpus"], "driver_version": "1.0", "devices": [*facts["gpus"]["devices"], facts["gpus"]["devices"][0]]}}
    provider.read("box", {**first, "facts": changed})
    told = capsys.readouterr().out
    assert "box: gpus.devices were 9, are 8" in told and "gpus.driver_version was '1.0'" in told


def test_a_manifest_of_another_version_is_read(tmp_path):
    manifest = {**manifest_to_dict(model()), "of_the_future": 1}
    manifest.pop("warnings", None)
    props = {"model": MODEL, "requested_revision": "main"}
    assert ModelManifestProvider().check({**props, "manifest": manifest}, props).inputs["manifest"]
    packed_too = {**props, "manifest": packed(manifest)}
    assert unpacked(ModelManifestProvider().check(packed_too, props).inputs["manifest"])["revision"]
    assert not ModelManifestProvider().diff("m", {**props, "manifest": floats(manifest)}, packed_too).changes
