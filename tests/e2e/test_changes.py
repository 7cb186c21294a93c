"""Changes are safe: the new is made ready before the old one is stopped, the outage is told, and going back works. And what drifts is seen."""

from __future__ import annotations

import json
import socket
import subprocess

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.conftest import ZENTORCH
from tests.e2e.models import CHAT
from tests.e2e.test_faults import NAME, declared


def container(host) -> dict:
    return json.loads(host.engine.docker("inspect", NAME).stdout)[0]


def test_an_outage_is_told_with_the_time_of_the_last_start(served, genoa):
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "maxNumSeqs": 8}})
    seen = served.preview().ok()
    assert "chat: an outage" in seen.text and "the last start took" in seen.text, seen.report()
    before = container(genoa)["Id"]
    served.up().ok()
    assert container(genoa)["Id"] != before
    assert "an outage" not in served.preview("--expect-no-changes").ok().text


def test_an_image_that_cannot_be_pulled_leaves_the_old_one_serving(served, genoa):
    before = container(genoa)
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": "nowhere.invalid/no/image:v0.25.1", "acceptUnverified": True}})
    seen = served.up().failed()
    assert "nowhere.invalid" in seen.text
    after = container(genoa)
    assert after["Id"] == before["Id"] and after["State"]["StartedAt"] == before["State"]["StartedAt"], "never touched"


def test_weights_that_cannot_be_fetched_leave_the_old_one_serving(served, genoa):
    """A file where the cache's folder should be: the fetch itself fails, in a container of its own."""
    before = container(genoa)["Id"]
    cache = genoa.folder / "home" / "spoiled"
    cache.mkdir()
    (cache / "hub").touch()
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "prefetch": True, "hfCache": str(genoa.namespace.home / "spoiled")}})
    seen = served.up().failed()
    assert f"[prefetch-failed] box: the weights of {models.TINY} could not be fetched" in seen.text and "not a directory" in seen.text, seen.report()
    assert container(genoa)["Id"] == before and genoa.engine.containers(everything=False) == [NAME]


def test_what_drifted_and_serves_is_kept_until_the_new_one_can_be_made(served, genoa):
    genoa.engine.docker("update", "--cpuset-cpus", "0", NAME)
    before = container(genoa)["Id"]
    assert "cpuset-cpus" in served.refresh().ok().text
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": "nowhere.invalid/no/image:v0.25.1", "acceptUnverified": True}})
    assert "nowhere.invalid" in served.up().failed().text
    assert container(genoa)["Id"] == before and container(genoa)["State"]["Running"]
    served.configure({"box": genoa.connection()}, {"chat": CHAT})
    served.up().ok()
    declared(served, genoa)


def test_another_runtime_begins_when_the_old_one_has_ended_and_the_way_back_works(served, genoa):
    """The port, the cores and the memory are the same: both at once would be a proof of the wrong one, or no start."""
    images.zentorch(f"docker.io/{ZENTORCH.name}").load(genoa.podman)
    try:
        served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "runtime": "podman"}})
        assert "stopping what runs under docker" in served.up().ok().text
        assert genoa.podman.containers() == [NAME] and not genoa.engine.containers()
        served.preview("--expect-no-changes").ok()
        served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "runtime": "docker", "env": {"STAND_IN_FAIL": "exit-137"}}})
        assert "[out-of-memory]" in served.up().failed().text
        served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "runtime": "podman"}})
        served.up().ok()
        assert genoa.podman.containers() == [NAME] and not genoa.engine.containers()
        served.preview("--expect-no-changes").ok()
    finally:
        genoa.podman.remove_containers()


def test_a_file_that_is_not_on_the_host_is_told_before_the_old_one_is_touched(served, genoa):
    before = container(genoa)["Id"]
    chat = {**CHAT, "chatTemplate": "~/templates/chat.jinja"}
    served.configure({"box": genoa.connection()}, {"chat": chat})
    refused = served.preview().failed()
    assert "[no-file] chat: chatTemplate is not on box. Found: no file ~/templates/chat.jinja" in refused.text and "Traceback" not in refused.text
    assert "[no-file]" in served.up("--skip-preview").failed().text and container(genoa)["Id"] == before
    template = genoa.folder / "home" / "templates" / "chat.jinja"
    template.parent.mkdir()
    template.write_text("{{ messages }}")
    served.up().ok()
    assert f"{genoa.namespace.home}/templates/chat.jinja" in container(genoa)["Config"]["Cmd"]
    declared(served, genoa)


def test_a_cache_folder_that_is_not_there_is_made_before_the_old_one_is_touched(served, genoa):
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "hfCache": "~/another/cache"}})
    served.up().ok()
    assert any(mount["Source"] == f"{genoa.namespace.home}/another/cache" for mount in container(genoa)["Mounts"])
    declared(served, genoa)


def test_when_the_new_one_fails_the_way_back_is_told_and_works(served, genoa):
    served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": "exit-137"}}})
    seen = served.up().failed()
    assert "put the old configuration back" in seen.text
    served.configure({"box": genoa.connection()}, {"chat": CHAT})
    served.up().ok()
    declared(served, genoa)


def test_what_is_replaced_is_asked_to_end_first(served, genoa):
    with subprocess.Popen(["docker", "--host", genoa.engine.url, "logs", "--follow", NAME], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as following:
        served.configure({"box": genoa.connection()}, {"chat": {**CHAT, "maxNumSeqs": 8, "drainSeconds": 20}})
        served.up().ok()
        text = following.stdout.read()
    assert "Application shutdown complete." in text, "no immediate kill"


@pytest.mark.parametrize("harm, told", [(("stop",), "[stopped]"), (("rm", "--force"), "[no-container]")], ids=["stopped", "removed"])
def test_a_port_that_another_process_took_while_the_endpoint_was_away(served, genoa, harm, told):
    genoa.engine.docker(*harm, NAME)
    words = genoa.namespace.inside("setpriv", "--pdeathsig", "KILL", "python3", "-m", "http.server", "8000", "--bind", genoa.address)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as thief:
        try:
            _listening(genoa.address, 8000)
            assert told in served.refresh().ok().text
            seen = served.up().ok()
            assert "[moved]" in seen.text
            assert served.outputs()["endpoints"]["chat"]["port"] == 8001
            declared(served, genoa)
        finally:
            thief.kill()


def test_a_container_that_somebody_made_in_its_place_is_told_and_stays(served, genoa):
    seen = container(genoa)
    genoa.engine.docker("rm", "--force", NAME)
    variables = [word for variable in seen["Config"]["Env"] for word in ("--env", variable)]
    theirs = genoa.engine.docker("create", "--name", NAME, *variables, "--network", "host", seen["Config"]["Image"], *seen["Config"]["Cmd"]).stdout.strip()
    assert "another container has its name, without its labels" in served.refresh().ok().text
    assert f"[name-taken] box: {NAME} exists and is not ours" in served.up().failed().text
    assert genoa.engine.containers() == [NAME] and container(genoa)["Id"] == theirs, "untouched"
    genoa.engine.docker("rm", NAME)
    served.up().ok()
    declared(served, genoa)


def test_memory_that_changed_is_shown_and_judged(served, genoa):
    meminfo = genoa.folder / "profile/proc/meminfo"
    text = meminfo.read_text()
    node = genoa.folder / "profile/node/node0/meminfo"
    told = node.read_text()
    try:
        for path, content in ((meminfo, text), (node, told)):
            path.write_text(_shrunk(content))
        seen = served.refresh().ok()
        assert "total_bytes" in seen.text
        refused = served.up().failed()
        assert "[memory]" in refused.text and "Traceback" not in refused.text
        assert container(genoa)["State"]["Running"], "nothing was touched"
    finally:
        meminfo.write_text(text)
        node.write_text(told)
    served.refresh().ok()
    before = container(genoa)["Id"]
    served.up().ok()
    assert container(genoa)["Id"] == before


def _shrunk(text: str) -> str:
    """A thousandth of every figure in kB."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words and words[-1] == "kB":
            line = line.replace(words[-2], str(int(words[-2]) // 1000))
        lines.append(line)
    return "\n".join(lines) + "\n"


def _listening(address: str, port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((address, port)) == 0:
                return
        subprocess.run(["sleep", "0.1"], check=True)
    raise AssertionError(f"nobody listens at {port}")
