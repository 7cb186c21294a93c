"""All misfits at once: every one told on its own resource in one preview, and nothing launched; a host that is not known yet hangs nobody."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e import models
from tests.e2e.models import CHAT

RECORDED = Path(__file__).resolve().parents[1] / "hosts"
MISFITS = {
    "big": ({"model": models.HUGE}, "[memory]"),
    "ghost": ({"model": "nobody/nothing"}, "[metadata-missing]"),
    "shut": ({"host": "dead"}, "[host-unreachable]"),
    "wide": ({"cores": 500}, "[no-cores]"),
    "taken": ({"port": 22}, "[port-taken]"),
    "paper": ({"host": "paper"}, "[not-epyc]"),
}
LATE = '''
from slow import Address

from components import EpycVllmEndpoint
config = pulumi.Config()
late = Host("late", {**config.require_object("late"), "address": Address("late", config.require("address")).address})
EpycVllmEndpoint("later", late, model="Qwen/Qwen3-0.6B", max_model_len=4096)
'''
SLOW = '''
from pulumi.dynamic import CreateResult, Resource, ResourceProvider

class AddressProvider(ResourceProvider):
    def create(self, props):
        return CreateResult("address", {**props, "address": props["given"]})

class Address(Resource):
    def __init__(self, name, given):
        super().__init__(AddressProvider(), name, {"given": given, "address": None})
'''


def on_resource(text: str, name: str) -> str:
    """What the engine shows under one endpoint in its diagnostics."""
    after = text.rsplit("Diagnostics:", 1)[1].split(f"Endpoint ({name}):", 1)
    return after[1].split("\n\n")[0] if len(after) == 2 else ""


def with_late_host(project, connection: dict) -> dict:
    """The program with one more endpoint, on a host whose address is another resource's output."""
    (project.folder / "slow.py").write_text(SLOW)
    main = project.folder / "__main__.py"
    main.write_text(main.read_text() + LATE)
    keys = {"identityFile": "identity_file", "knownHosts": "known_hosts"}
    return {"late": {keys[key]: value for key, value in connection.items() if key in keys}, "address": connection["address"]}


@pytest.fixture
def paper(tmp_path) -> str:
    """A recorded host that is no EPYC."""
    shutil.copytree(next(RECORDED.glob("*not-epyc*")), tmp_path / "paper")
    return f"recorded:{tmp_path / 'paper'}"


def test_every_misfit_is_told_on_its_own_resource_and_nothing_is_launched(project, hub, genoa, milan, paper):
    for name in (models.TINY, models.HUGE):
        models.add(hub, name)
    more = with_late_host(project, genoa.connection())
    milan.cut_network()
    hosts = {"box": genoa.connection(), "dead": milan.connection(), "paper": {"address": paper}}
    project.configure(hosts, {"fine": {**CHAT, "kvCacheGib": 1}, **{name: {**CHAT, **keys} for name, (keys, _) in MISFITS.items()}}, **more)
    seen = project.run("preview", timeout=120).failed()
    for name, (_, code) in MISFITS.items():
        assert code in on_resource(seen.text, name), f"{name}: {seen.report()}"
    assert f"{len(MISFITS)} refused" in seen.text and "Traceback" not in seen.text
    assert "late: its address is not known yet" in seen.text
    seen = project.up("--skip-preview").failed()
    assert f"{len(MISFITS)} refused" in seen.text and "Traceback" not in seen.text
    assert "vllm-e2e-fine" not in genoa.engine.containers() and not milan.engine.containers()


def test_a_host_that_is_another_resources_output_is_judged_in_the_update(project, hub, genoa):
    models.add(hub)
    project.configure({}, {}, **with_late_host(project, genoa.connection()))
    assert "later: fits" not in project.preview().ok().text
    up = project.up().ok()
    assert "later: fits" in up.text and "answers after" in up.text
    project.preview("--expect-no-changes").ok()


def test_a_refused_late_endpoint_is_told_and_not_launched(project, hub, make_host):
    models.add(hub)
    intel = make_host("xeon-small")
    project.configure({}, {}, **with_late_host(project, intel.connection()))
    project.preview().ok()
    seen = project.up().failed()
    assert "[not-epyc]" in seen.text and "Traceback" not in seen.text and not intel.engine.containers()


def test_a_host_that_cannot_be_made_ready_ends_the_run_for_all(project, hub, genoa):
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "hfCache": "/proc/nothing/here"}})
    seen = project.up().failed()
    assert "[runtime-failed] box: a folder to mount could not be made" in seen.text and "Traceback" not in seen.text
    assert not genoa.engine.containers()
