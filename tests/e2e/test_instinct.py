"""InstinctVllmEndpoint on the real engine: GPUs of a recorded MI300X host with device nodes in the host's own mounts; the ROCm image's stand-in."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from planning.catalog import load_toml
from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.gpus import KFD_GROUP, RENDER_GROUP
from tests.e2e.conftest import ZENTORCH
from tests.e2e.test_endpoint import changes

NINE = "Qwen/Qwen3.5-9B"
DENSE, DENSE_FP8 = "Qwen/Qwen3-32B", "Qwen/Qwen3-32B-FP8"
DATA = load_toml("instinct.toml")["image"]
ROCM = images.rocm(f"{DATA['repository']}:{DATA['tag']}")
COMMAND_PLUGIN = Path(__file__).resolve().parents[1] / "stand_ins" / "command_plugin"
CHAT = {"kind": "instinct", "host": "rack", "maxModelLen": 4096}
CONFIRMED = {"Model": NINE, "Precision": "bf16: the model as published; native on gfx942", "Weights": "GiB on each GPU", "GPUs": "MI300X",
             "TP": "1", "Context": "4,096 tokens", "Port": "8000", "Image": f"{ROCM.name} (vLLM {DATA['vllm_version']}"}
"""The rows of the confirmation table of AMD's procedure, and the image."""


@pytest.fixture(scope="module")
def _rack(bed):
    host = bed.host("mi300x", memory_bytes=1536 << 30)
    ROCM.load(host.engine)
    ZENTORCH.load(host.engine)
    yield host
    bed.remove(host)


@pytest.fixture
def rack(_rack):
    """Eight MI300X, gfx942; both families' images. Mended after each test."""
    yield _rack
    _rack.numa_balancing.write_text("0\n")
    _rack.mend()


@pytest.fixture
def hub9(hub):
    models.add(hub, NINE)
    models.add(hub, DENSE_FP8)
    models.add(hub)
    return hub


def configured(project, host, endpoints, **connection):
    project.configure({"rack": host.connection(**connection)}, endpoints)
    return project


def inspected(host, name):
    (seen,) = json.loads(host.engine.docker("inspect", f"vllm-e2e-{name}").stdout)
    return seen


def inside(host, seen, script):
    """What a shell of the host finds of the container's first process: its files below $1/root, its status and environment."""
    return host.run_local("sh", "-c", script, "sh", f"/proc/{seen['State']['Pid']}", cwd="/").stdout


def test_from_nothing_to_an_answer_and_back(project, hub9, rack):
    configured(project, rack, {"chat": CHAT})
    preview = project.preview().ok()
    table = preview.text.split("chat: fits", 1)[1]
    rows = dict(line.strip().split(None, 1) for line in table.splitlines() if line.startswith("  ") and len(line.split()) > 1)
    for label, says in CONFIRMED.items():
        assert says in rows[label], preview.report()
    assert not rack.engine.containers(), "preview makes nothing"

    up = project.up().ok()
    assert "platform rocm" in up.text and "answers after" in up.text
    chat = project.outputs()["endpoints"]["chat"]
    assert chat["model"] == NINE and chat["baseUrl"] == f"http://{rack.address}:8000/v1" and chat["image"] == ROCM.name
    table = {key: chat[key] for key in ("modelId", "model", "apiKey", "port", "tensorParallelSize", "maxModelLen")}
    assert table == {"modelId": NINE, "model": NINE, "apiKey": "none", "port": 8000, "tensorParallelSize": 1, "maxModelLen": 4096}
    assert "MI300X" in chat["gpus"] and f"{chat['baseUrl']}/chat/completions" in chat["curl"], "AMD's table of connection data"
    with urllib.request.urlopen(f"{chat['baseUrl']}/models", timeout=10) as answer:
        assert json.load(answer)["data"][0]["id"] == NINE

    assert not changes(project.up().ok()), "a second up changes nothing"
    assert not changes(project.refresh().ok()), "kfd and render nodes, groups and ports read back as they were declared"
    project.preview("--expect-no-changes").ok()
    project.destroy().ok()
    assert not rack.engine.containers()


def test_the_container_has_the_gpus_of_its_plan_and_no_others(project, hub9, rack):
    configured(project, rack, {"chat": {**CHAT, "gpus": [2, 5], "tensorParallelSize": 2}}).up().ok()
    seen = inspected(rack, "chat")
    nodes = inside(rack, seen, 'ls -ln "$1/root/dev" "$1/root/dev/dri"')
    owned = {line.split()[-1]: int(line.split()[3]) for line in nodes.splitlines() if "kfd" in line or "renderD" in line}
    assert owned == {"kfd": KFD_GROUP, "renderD144": RENDER_GROUP, "renderD168": RENDER_GROUP}, "isolation is real: the other nodes are not there"
    status = dict(line.split(":\t", 1) for line in inside(rack, seen, 'cat "$1/status"').splitlines() if ":\t" in line)
    assert {str(KFD_GROUP), str(RENDER_GROUP)} <= set(status["Groups"].split()), "the numbers that own the nodes, not names"
    variables = dict(item.split("=", 1) for item in inside(rack, seen, "tr '\\0' '\\n' <\"$1/environ\"").splitlines())
    assert variables["HIP_VISIBLE_DEVICES"] == "0,1", "counted as the container sees them"
    assert not {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HF_TOKEN"} & set(variables)
    assert variables["VLLM_ROCM_USE_AITER_FP4BMM"] == "0", "gfx942"
    words = inside(rack, seen, "tr '\\0' '\\n' <\"$1/cmdline\"").splitlines()
    assert words[1:3] == ["serve", NINE] and words[words.index("--tensor-parallel-size") + 1] == "2"
    assert {"--revision", "--max-model-len", "--port"} <= set(words) and "--trust-remote-code" not in words
    host = seen["HostConfig"]
    assert (host["IpcMode"], host["NetworkMode"], host["CapAdd"]) == ("host", "bridge", ["CAP_SYS_PTRACE"]) and not host["Privileged"]
    assert "seccomp=unconfined" in host["SecurityOpt"]
    assert host["PortBindings"] == {"8000/tcp": [{"HostIp": rack.address, "HostPort": "8000"}]}


def test_endpoints_of_both_families_share_a_host_and_nothing_else(project, hub9, rack):
    first = {"a": {**CHAT, "tensorParallelSize": 4}}
    configured(project, rack, first).up().ok()
    alone = project.outputs()["endpoints"]["a"]
    more = {**first, "b": {**CHAT, "tensorParallelSize": 2},
            "cpu": {"kind": "epyc", "host": "rack", "model": models.TINY, "maxModelLen": 4096, "kvCacheGib": 1}}
    configured(project, rack, more).up().ok()
    found = project.outputs()["endpoints"]
    assert (found["a"]["placement"], found["a"]["port"]) == (alone["placement"], alone["port"]), "an endpoint never moves because of a new one"
    gpus = {name: set(map(int, found[name]["placement"]["gpus"])) for name in ("a", "b")}
    assert [len(gpus["a"]), len(gpus["b"])] == [4, 2] and not gpus["a"] & gpus["b"]
    assert len({each["port"] for each in found.values()}) == 3
    assert found["cpu"]["placement"]["cpuset_cpus"] and not found["cpu"]["placement"]["gpus"]
    devices = {name: {device["PathOnHost"] for device in inspected(rack, name)["HostConfig"]["Devices"] or ()} for name in more}
    assert devices["a"] & devices["b"] == {"/dev/kfd"} and not devices["cpu"]
    assert not changes(project.up().ok())
    assert not changes(project.refresh().ok())
    configured(project, rack, {**more, "c": {**CHAT, "tensorParallelSize": 4}})
    refused = project.preview().failed()
    assert "[no-gpu]" in refused.text and "held by other endpoints" in refused.text and "Traceback" not in refused.text
    project.destroy().ok()
    assert not rack.engine.containers()


@pytest.mark.parametrize("harm", [("kill", "vllm-e2e-chat"), ("exec", "vllm-e2e-chat", "/stand-in", "fail", "health-200-but-dead")], ids=["killed", "hung"])
def test_refresh_tells_what_is_wrong_and_up_repairs_it(project, hub9, rack, harm):
    configured(project, rack, {"chat": {**CHAT, "gpus": [3]}}).up().ok()
    rack.engine.docker(*harm)
    seen = project.refresh(timeout=400).ok()
    assert "the next `up` makes its container anew" in seen.text
    assert changes(project.up().ok()), "up did something"
    project.preview("--expect-no-changes").ok()
    again = inspected(rack, "chat")
    assert again["State"]["Running"] and {device["PathOnHost"] for device in again["HostConfig"]["Devices"]} == {"/dev/kfd", "/dev/dri/renderD152"}


def test_a_variant_is_served_under_the_name_that_was_asked_for(project, hub9, rack):
    configured(project, rack, {"chat": {**CHAT, "model": DENSE, "variant": "fp8"}})
    up = project.up().ok()
    assert f"{DENSE_FP8} @ " in up.text and f"in place of {DENSE} (variant: fp8)" in up.text
    assert "fp8" in up.text and "variant-estimated" not in up.text, "its own manifest was read"
    chat = project.outputs()["endpoints"]["chat"]
    assert (chat["modelId"], chat["model"]) == (DENSE_FP8, DENSE)
    words = inspected(rack, "chat")["Config"]["Cmd"]
    assert words[0] == DENSE_FP8 and words[words.index("--served-model-name") + 1] == DENSE


def test_no_memory_for_graphs_names_enforce_eager_which_then_serves(project, hub9, rack):
    configured(project, rack, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": "graph-capture-oom"}}})
    failed = project.up().failed()
    assert "phase graph-capture: [graph-capture-oom]" in failed.text and "set enforceEager: true" in failed.text and "Traceback" not in failed.text
    assert not rack.engine.containers(everything=False), "no blind retry: it is stopped, and stays for its log"
    configured(project, rack, {"chat": {**CHAT, "enforceEager": True}}).up().ok()
    assert "--enforce-eager" in inspected(rack, "chat")["Config"]["Cmd"]


def refused(project, host, *told, endpoint=None, **connection):
    """Preview fails and says each of `told`; nothing was made."""
    seen = configured(project, host, {"chat": {**CHAT, **(endpoint or {})}}, **connection).preview().failed()
    for text in told:
        assert text in seen.text, seen.report()
    assert "Traceback" not in seen.text and not host.engine.containers() and not project.resources()
    return seen


def test_a_user_who_may_not_use_the_gpus(project, hub9, rack):
    refused(project, rack, "[no-access] ops may not use the GPUs of rack", f"group ids {KFD_GROUP}, {RENDER_GROUP}",
            "sudo usermod -aG video,render ops", user="ops")


def test_gpus_that_others_use_are_left_alone_and_a_local_host_is_the_same(make_project, hub9, rack):
    others = [rack.folder / "profile" / "pci" / f"0000:{bus}:00.0" / "mem_info_vram_used" for bus in ("0c", "4c")]
    before = [file.read_text() for file in others]
    project = make_project(on=rack)
    project.configure({"rack": {"address": "local"}}, {"chat": {**CHAT, "tensorParallelSize": 2}})
    try:
        for file in others:
            file.write_text(f"{150 << 30}\n")
        seen = project.preview().ok()
    finally:
        for file, text in zip(others, before, strict=True):
            file.write_text(text)
    assert "3, 4 of rack" in seen.text, "neighbours that are free: GPU 0 and GPU 2 are in use"


def test_gpus_that_are_not_there(project, hub9, rack, genoa):
    refused(project, genoa, "[no-gpu] rack has no AMD GPU", "kind: epyc")
    refused(project, rack, "different indexes of Instinct GPUs: [0, 1, 2, 3, 4, 5, 6, 7]", endpoint={"gpus": [8]})


def test_cards_without_a_driver(project, hub9, make_host):
    host = make_host("mi300x", memory_bytes=1536 << 30)
    host.run_local("sh", "-c", "rm -r /dev/kfd /dev/dri /sys/bus/pci/devices/*/driver", cwd="/")
    refused(project, host, "[no-gpu] rack has GPUs but no driver for them", "lsmod | grep amdgpu")


def test_a_gfx_without_data_needs_a_consent(project, hub9, make_host):
    host = make_host("mi210", memory_bytes=512 << 30)
    seen = refused(project, host, "[gfx-unsupported]", "gfx90a", "gfx950 or gfx942", "acceptUnverified: true")
    assert "MI210" in seen.text


def test_a_model_that_needs_more_than_there_is(project, hub9, rack):
    models.add(hub9, models.HUGE)
    refused(project, rack, "[memory]", "does not fit 1 of the 1 GPUs", "weights", endpoint={"model": models.HUGE, "gpus": [0]})


def use_command_plugin(project):
    """pulumi-command's plugin cannot be downloaded here: a stand-in does what it does."""
    path = project.folder / "Pulumi.yaml"
    path.write_text(f"{path.read_text()}plugins:\n  providers:\n    - name: command\n      path: {COMMAND_PLUGIN}\n")


def test_numa_balancing_is_off_while_endpoints_ask_for_it(project, hub9, rack):
    rack.numa_balancing.write_text("1\n")
    configured(project, rack, {"a": CHAT})
    warned = project.preview().ok()
    assert "[numa-balancing]" in warned.text and "fixNumaBalancing: true" in warned.text and "command:local" not in warned.text
    use_command_plugin(project)
    fixed = {**CHAT, "fixNumaBalancing": True}
    configured(project, rack, {"a": fixed, "b": fixed})
    preview = project.preview().ok()
    assert "command:local:Command" in preview.text and "[numa-balancing]" not in preview.text and rack.numa_balancing.read_text() == "1\n"
    project.up().ok()
    assert rack.numa_balancing.read_text() == "0\n"
    assert project.resource("command:local:Command")["outputs"]["stdout"] == "1", "one for the host, with the old value"
    assert not changes(project.up().ok())
    assert not changes(project.refresh().ok())
    project.preview("--expect-no-changes").ok()
    configured(project, rack, {"b": fixed}).up().ok()
    assert rack.numa_balancing.read_text() == "0\n", "the other endpoint still asks for it"
    project.destroy().ok()
    assert rack.numa_balancing.read_text() == "1\n" and not rack.engine.containers()


def test_numa_balancing_that_may_not_be_set_stops_before_anything_runs(project, hub9, rack):
    rack.numa_balancing.write_text("1\n")
    use_command_plugin(project)
    configured(project, rack, {"a": {**CHAT, "fixNumaBalancing": True}})
    path = "/proc/sys/kernel/numa_balancing"
    rack.run_local("mount", "-o", "remount,ro,bind", path, cwd="/")
    try:
        seen = project.up().failed()
    finally:
        rack.run_local("mount", "-o", "remount,rw,bind", path, cwd="/")
    assert "[no-access] rack: kernel.numa_balancing could not be set" in seen.text and "remove fixNumaBalancing" in seen.text
    assert "Traceback" not in seen.text and not rack.engine.containers() and rack.numa_balancing.read_text() == "1\n"
