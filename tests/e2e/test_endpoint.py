"""One endpoint, end to end on the real engine: preview, up, no change, refresh, outputs, drift, destroy; over SSH and local."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.e2e import models
from tests.e2e.conftest import ZENTORCH
from tests.e2e.models import CHAT

TYPE = "pulumi-python:dynamic/amd-vllm:"


def changes(result) -> dict[str, int]:
    """What the engine counted under `Resources:`, without `unchanged`: {"created": 11}."""
    lines = result.text.rsplit("Resources:", 1)[1].splitlines()
    found = {}
    for line in lines[1:]:
        words = line.split()
        if not words:
            break
        found.update({words[-1]: words[-2]})
    return {kind: count for kind, count in found.items() if kind not in ("unchanged", "changes.")}


def test_over_ssh_from_nothing_to_an_answer_and_back(project, hub, genoa):
    models.add(hub)
    mark = genoa.mark()
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    preview = project.preview().ok()
    assert "chat: fits" in preview.text and "zentorch" in preview.text
    assert not genoa.engine.docker("ps", "-aq").stdout.strip(), "preview makes nothing"
    assert len(hub.requests) <= 4

    up = project.up().ok()
    assert "answers after" in up.text
    outputs = project.outputs()
    chat = outputs["endpoints"]["chat"]
    assert outputs["baseUrl"] == chat["baseUrl"] == f"http://{genoa.address}:8000/v1" and outputs["model"] == models.TINY
    assert chat["primaryEndpoint"] == "chat_completions" and chat["host"] == "box" and chat["runtime"] == "docker" and chat["maxModelLen"] == 4096
    with urllib.request.urlopen(f"{outputs['baseUrl']}/models", timeout=10) as answer:
        assert json.load(answer)["data"][0]["id"] == models.TINY

    assert not changes(project.up().ok()), "a second up changes nothing"
    assert not changes(project.refresh().ok())
    project.preview("--expect-no-changes").ok()
    assert genoa.connections_since(mark) <= 2, "one connection, and one more if ssh ended the first between two runs"

    images = sorted(genoa.engine.docker("images", "-q").stdout.split())
    project.destroy().ok()
    assert not genoa.engine.docker("ps", "-aq").stdout.strip()
    assert sorted(genoa.engine.docker("images", "-q").stdout.split()) == images, "the image stays"


def test_local_in_a_namespace_that_says_milan_needs_a_consent(make_project, hub, milan):
    models.add(hub)
    project = make_project(on=milan)
    project.configure({"box": {"address": "local"}}, {"chat": CHAT})
    refused = project.preview().failed()
    assert "acceptStockVllm" in refused.text and "Traceback" not in refused.text
    project.configure({"box": {"address": "local"}}, {"chat": {**CHAT, "acceptStockVllm": True}})
    project.up().ok()
    outputs = project.outputs()
    assert outputs["baseUrl"] == "http://127.0.0.1:8000/v1" and outputs["endpoints"]["chat"]["image"].startswith("vllm/vllm-openai-cpu:v")
    assert not changes(project.up().ok())
    assert not changes(project.refresh().ok())
    project.destroy().ok()
    assert not milan.engine.docker("ps", "-aq").stdout.strip()


def test_the_container_is_what_the_plan_says(served, genoa):
    (seen,) = json.loads(genoa.engine.docker("inspect", "vllm-e2e-chat").stdout)
    host = seen["HostConfig"]
    assert (host["CpusetMems"], host["NetworkMode"], host["IpcMode"], host["CapAdd"]) == ("0", "host", "host", ["CAP_SYS_NICE"])
    assert host["RestartPolicy"]["Name"] == "unless-stopped" and not host["Privileged"]
    assert any(option == "no-new-privileges" for option in host["SecurityOpt"])
    status = genoa.run_local("cat", f"/proc/{seen['State']['Pid']}/status", cwd="/").stdout
    where = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert (where["Cpus_allowed_list"], where["Mems_allowed_list"]) == (host["CpusetCpus"], host["CpusetMems"]), "what the process inside really has"
    variables = dict(item.split("=", 1) for item in seen["Config"]["Env"])
    assert variables["VLLM_CPU_OMP_THREADS_BIND"] == host["CpusetCpus"] and int(variables["VLLM_CPU_KVCACHE_SPACE"]) >= 1
    assert "OMP_NUM_THREADS" not in variables
    assert seen["Config"]["Labels"]["amd-vllm.stack"] == "e2e" and seen["Config"]["Labels"]["amd-vllm.endpoint"] == "chat"


@pytest.mark.parametrize("harm, told", [
    (("stop", "vllm-e2e-chat"), "stopped"),
    (("kill", "vllm-e2e-chat"), "137"),
    (("update", "--cpuset-cpus", "0", "vllm-e2e-chat"), "cpuset-cpus"),
    (("exec", "vllm-e2e-chat", "/stand-in", "fail", "health-200-but-dead"), "generation does not come back"),
    (("rm", "--force", "vllm-e2e-chat"), "chat on box: [no-container] vllm-e2e-chat is gone; the next `up` makes its container anew"),
], ids=["stopped", "killed", "changed", "hung", "removed"])
def test_refresh_tells_what_is_wrong_and_up_repairs_it(served, genoa, harm, told):
    genoa.engine.docker(*harm)
    seen = served.refresh(timeout=400).ok()
    assert told in seen.text
    repaired = served.up().ok()
    assert changes(repaired), "up did something"
    served.preview("--expect-no-changes").ok()
    assert served.outputs()["endpoints"]["chat"]["baseUrl"]
    (seen,) = json.loads(genoa.engine.docker("inspect", "vllm-e2e-chat").stdout)
    assert seen["State"]["Running"] and "," not in seen["HostConfig"]["CpusetCpus"]


def test_two_endpoints_on_one_host_share_nothing(project, hub, make_host):
    genoa = make_host("genoa-small", memory_bytes=96 << 30)
    ZENTORCH.load(genoa.engine)
    models.add(hub)
    keys = {**CHAT, "cores": 1, "kvCacheGib": 1}
    project.configure({"box": genoa.connection()}, {"a": keys})
    project.up().ok()
    first = project.outputs()["endpoints"]["a"]
    project.configure({"box": genoa.connection()}, {"a": keys, "b": keys})
    project.up().ok()
    both = project.outputs()["endpoints"]
    assert both["a"]["placement"] == first["placement"] and both["a"]["port"] == first["port"], "an endpoint never moves because of a new one"
    assert both["a"]["placement"]["cpuset_cpus"] != both["b"]["placement"]["cpuset_cpus"] and both["a"]["port"] != both["b"]["port"]
    status = {name: genoa.engine.docker("inspect", "--format", "{{.HostConfig.CpusetCpus}}", f"vllm-e2e-{name}").stdout.strip() for name in both}
    assert sorted(status.values()) == ["0", "1"]
    project.configure({"box": genoa.connection()}, {"b": keys})
    project.up().ok()
    assert project.outputs()["endpoints"]["b"]["placement"] == both["b"]["placement"]
