"""What both families share of the launch: runtime, mounts, cpuset, token; each with the states a host can be in."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.detect.facts import Runtime, Storage
from planning.errors import Warn
from tests.planning.paper import codes, host, model, plan_one, warned

OK, MISSING, DENIED, SUDO, UNKNOWN = Runtime(True), Runtime(False, "missing"), Runtime(False, "permission-denied"), Runtime(False, "sudo-only"), Runtime()


def on(docker=MISSING, podman=MISSING, **changes):
    return replace(host("synthetic-genoa-dual")[0], docker=docker, podman=podman, **changes)


@pytest.mark.parametrize("docker, podman, envs, keys, runtime", [
    (OK, OK, (), {}, "docker"), (DENIED, OK, (), {}, "podman"), (Runtime(True, is_podman=True), MISSING, (), {}, "podman"),
    (MISSING, MISSING, ("/opt/v/bin/python",), {}, "host"), (OK, OK, (), {"runtime": "podman"}, "podman"),
    (OK, OK, (), {"runtime": "host", "pythonEnv": "/opt/v"}, "host"), (UNKNOWN, MISSING, (), {}, "docker"), (UNKNOWN, OK, (), {}, "podman")])
def test_runtime(docker, podman, envs, keys, runtime):
    assert plan_one("genoa-dual", facts=on(docker, podman, python_envs=envs), **keys).launch.runtime == runtime


@pytest.mark.parametrize("docker, podman, keys, code, fix", [
    (MISSING, MISSING, {}, "no-runtime", "install Docker or Podman"), (DENIED, MISSING, {}, "no-access", "usermod -aG docker ops"),
    (SUDO, MISSING, {}, "no-access", "nothing here escalates"), (Runtime(False, "no-daemon"), MISSING, {}, "no-runtime", "systemctl enable --now docker"),
    (OK, MISSING, {"runtime": "podman"}, "no-runtime", "install Docker or Podman"), (OK, OK, {"runtime": "host"}, "no-runtime", "pythonEnv"),
    (Runtime(False, "docker-desktop"), MISSING, {}, "no-runtime", "Docker Engine")])
def test_no_runtime_is_refused_with_its_one_time_fix(docker, podman, keys, code, fix):
    plan = plan_one("genoa-dual", facts=on(docker, podman), **keys)
    assert codes(plan) == [code] and fix in plan.refusals[0].do and "Traceback" not in plan.refusals[0].text()


def test_unknown_runtime_is_a_warning():
    plan = plan_one("genoa-dual", facts=on(UNKNOWN, UNKNOWN))
    assert plan.verdict == "fits" and "runtime-unknown" in warned(plan)


@pytest.mark.parametrize("runtime, dropped", [
    (Runtime(True, rootless=True, cgroup_version=2, controllers=("memory", "pids")), True), (Runtime(True, rootless=True, cgroup_version=1), True),
    (Runtime(True, rootless=True, cgroup_version=2, controllers=("cpuset", "memory")), False), (Runtime(True, cgroup_driver="none"), True)])
def test_cpuset_without_delegation_is_dropped_with_a_warning(runtime, dropped):
    plan = plan_one("genoa-dual", facts=on(podman=runtime))
    assert plan.verdict == "fits" and ("cpuset-dropped" in warned(plan)) == dropped
    assert (plan.launch.cpuset_cpus, plan.launch.cpuset_mems) == ((None, None) if dropped else ("0-95", "0"))
    assert plan.placement.cpuset_cpus == "0-95" and plan.launch.environment["VLLM_CPU_OMP_THREADS_BIND"] == "0-95"


@pytest.mark.parametrize("runtime, limited", [
    (Runtime(True), True), (Runtime(True, rootless=True, cgroup_version=2, controllers=("memory", "pids")), True), (Runtime(True, rootless=True), True),
    (Runtime(True, rootless=True, cgroup_version=2, controllers=("pids",)), False), (Runtime(True, rootless=True, cgroup_version=1), False)])
def test_a_memory_limit_that_cannot_be_is_left_out_with_a_warning(runtime, limited):
    plan = plan_one("genoa-dual", facts=on(podman=runtime), kvCacheGib=1)
    assert plan.verdict == "fits" and ("memory-unlimited" in warned(plan)) == (not limited)
    assert (plan.launch.memory_bytes is not None) == limited


@pytest.mark.parametrize("storage, keys, mount, warning", [
    (Storage(home="/home/ops", hf_cache="/scratch/hf"), {}, ("/scratch/hf", "/root/.cache/huggingface", None), None),
    (Storage(home="/home/ops", hf_cache="/scratch/hf", models_at="root"), {}, ("/scratch/hf", "/root/.cache/huggingface/hub", None), None),
    (Storage(home="/home/ops", hf_cache="/net/hf", hf_cache_fstype="autofs"), {}, ("/net/hf", "/root/.cache/huggingface", "rslave"), "cache-network"),
    (Storage(home="/home/ops", hf_cache="/net/hf", hf_cache_fstype="nfs4"), {}, ("/net/hf", "/root/.cache/huggingface", None), "cache-network"),
    (Storage(home="/home/ops", hf_cache="/net/hf", root_squash=True), {}, ("/net/hf", "/root/.cache/huggingface", None), "cache-root-squash"),
    (Storage(home="/home/ops", hf_cache="/net/hf", hf_cache_writable=False), {}, ("/net/hf", "/root/.cache/huggingface", None), "cache-read-only"),
    (Storage(home="/home/ops"), {}, ("/home/ops/.cache/huggingface", "/root/.cache/huggingface", None), "cache-unknown"),
    (Storage(home="/home/ops"), {"hfCache": "~/hf"}, ("/home/ops/hf", "/root/.cache/huggingface", None), None)])
def test_cache(storage, keys, mount, warning):
    plan = plan_one("genoa-dual", facts=on(OK, storage=storage), **keys)
    first = plan.launch.mounts[0]
    assert (first.source, first.target, first.propagation) == mount
    assert {code for code in warned(plan) if code.startswith("cache-")} == ({warning} if warning else set())


def test_what_detection_said_of_a_shared_cache_is_not_said_twice():
    facts = on(OK, storage=Storage(hf_cache="/net/hf", hf_cache_fstype="nfs4"), warnings=(Warn("hf-cache-shared", "nfs4"),))
    assert "cache-network" not in warned(plan_one("genoa-dual", facts=facts))


def test_disk_too_small_for_the_download_is_a_warning():
    survey = replace(host("synthetic-genoa-dual")[1], disk_free_bytes={"hf_cache": 1000})
    assert "cache-full" in warned(plan_one("genoa-dual", survey=survey, manifest=replace(model(), download_bytes=10**9)))


def test_chat_template_is_mounted_and_passed():
    launch = plan_one("genoa-dual", chatTemplate="~/chat.jinja").launch
    assert launch.command[launch.command.index("--chat-template") + 1] == "/home/ops/chat.jinja"
    assert any(m.source == m.target == "/home/ops/chat.jinja" and m.read_only for m in launch.mounts)
