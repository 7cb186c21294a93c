"""What runtimes say and read, on paper: arguments of create, image names, the host's state folder, the stack probe, prints of keys."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest

from planning.plan import document
from providers import containers, prefetch, stack
from providers.key_print import print_of
from providers.runtimes import REGISTRY, Secrets, host, runtime_of
from providers.runtimes.arguments import create_arguments, podman_arguments
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from tests.planning.paper import plan_one

DIGEST = "sha256:" + "a" * 64


def launch_of(**keys):
    return document(plan_one("genoa-dual", **keys))["launch"]


def pairs(words):
    return {(a, b) for a, b in zip(words, words[1:])}


def test_podman_gets_what_the_plan_says():
    launch = {**launch_of(), "runtime": "podman", "memory_bytes": 1 << 30, "security_opt": ["no-new-privileges"]}
    words = podman_arguments(launch, runtime_of("podman").image_name(launch["image"]), ("api-key",))
    wanted = {("--ipc", "host"), ("--network", "host"), ("--cap-add", "SYS_NICE"), ("--security-opt", "no-new-privileges"), ("--restart", "always"),
              ("--cpuset-cpus", launch["cpuset_cpus"]), ("--cpuset-mems", launch["cpuset_mems"]), ("--pull", "never"), ("--log-opt", "max-size=50m"),
              ("--memory", str(1 << 30)), ("--secret", "vllm-dev-chat-api-key,type=env,target=VLLM_API_KEY")}
    assert wanted <= pairs(words)
    assert words[words.index(f"docker.io/{launch['image']}") + 1:] == launch["command"]
    assert not any(word.startswith(("seccomp=", "max-file")) for word in words)


def test_a_docker_entrypoint_is_one_word_and_a_bridge_publishes_the_bound_address():
    launch = {**launch_of(), "entrypoint": ["vllm", "serve"], "network": "bridge", "bind_address": "10.0.0.5", "port": 8001.0}
    words = create_arguments(launch, "x:1")
    assert ("--entrypoint", "vllm") in pairs(words) and ("x:1", "serve") in pairs(words) and ("--publish", "10.0.0.5:8001:8001") in pairs(words)
    assert not any("seccomp" in word for word in words), "a profile's file is not on the host"


@pytest.mark.parametrize("image, name", [
    ("vllm/vllm-openai-cpu:v1", "docker.io/vllm/vllm-openai-cpu:v1"), ("ubuntu:22.04", "docker.io/library/ubuntu:22.04"),
    ("quay.io/a/b:1", "quay.io/a/b:1"), ("localhost/a:1", "localhost/a:1"), ("registry:5000/a:1", "registry:5000/a:1"),
    (f"vllm/x:v1@{DIGEST}", f"docker.io/vllm/x@{DIGEST}"), (f"registry:5000/x@{DIGEST}", f"registry:5000/x@{DIGEST}")])
def test_podman_wants_whole_names_and_the_digest_alone(image, name):
    assert runtime_of("podman").image_name(image) == name
    assert runtime_of("docker").image_name(image) == image


def test_every_runtime_of_the_configuration_is_there():
    from components.runtimes import REGISTRY as DECLARED

    assert set(REGISTRY) == set(DECLARED) == {"docker", "podman", "host"}


def test_secrets_of_a_process_lie_in_files_of_their_own():
    launch = {**launch_of(runtime="host", pythonEnv="/opt/vllm", backend="stock"), "environment": {"HF_TOKEN_PATH": "/run/secrets/hf_token"}}
    content = host.files(launch, Secrets("sk-1", "hf_1"), "abc")
    assert {name: mode for name, (_, mode) in content.items() if mode != 0o600} == {"supervise.sh": 0o700, "stop.sh": 0o700}
    assert [name for name, (text, _) in content.items() if "sk-1" in text] == ["secrets"]
    assert [name for name, (text, _) in content.items() if "hf_1" in text] == ["hf_token"]
    assert content["argv"][0].splitlines() == [*launch["entrypoint"], *launch["command"]]


def test_a_line_break_is_refused_where_a_line_is_a_value():
    launch = {**launch_of(runtime="host", pythonEnv="/opt/vllm", backend="stock"), "environment": {"A": "x\nLD_PRELOAD=/tmp/evil.so"}}
    with pytest.raises(CommandFailed, match="line break"):
        host.files(launch, Secrets(), "abc")


def looked(state: str, alive: str) -> dict:
    meta = json.dumps({"Id": "vllm-dev-chat@ab", "Image": "x:1", "Labels": {"amd-vllm.stack": "dev"}, "entrypoint": 1})
    return host.described(f"{meta}\n{state}\n2026-11-30T18:00:00Z\n{alive}\n3\npython\nserve\nm\n1\nA=1\n")


@pytest.mark.parametrize("state, alive, status, code, restarts", [
    ("running 0 0", "alive", "running", 0, 0), ("restarting 2 1", "alive", "restarting", 1, 2), ("exited 0 3", "dead", "exited", 3, 0),
    ("running 1 0", "dead", "exited", 137, 1), ("", "dead", "created", 0, 0)])
def test_a_process_is_described_as_a_container(state, alive, status, code, restarts):
    seen = looked(state, alive)
    assert (seen["State"]["Status"], seen["State"]["ExitCode"], seen["RestartCount"]) == (status, code, restarts)
    assert (seen["Config"]["Entrypoint"], seen["Config"]["Cmd"], seen["Config"]["Env"]) == (["python"], ["serve", "m"], ["A=1"])
    assert host.described("{}\n") is None and host.described("") is None


def test_what_was_changed_by_hand_is_named():
    launch = {**launch_of(), "runtime": "podman", "environment": {"A": "1"}}
    seen = {"Config": {"Image": f"docker.io/{launch['image']}", "Cmd": launch["command"], "Env": ["A=2"], "Labels": {**launch["labels"], "more": "x"}},
            "HostConfig": {"CpusetCpus": launch["cpuset_cpus"], "CpusetMems": "1"}}
    assert [text.split(" ")[0] for text in containers.differences(launch, seen)] == ["cpuset-mems", "environment"]
    entered = {**launch, "entrypoint": ["python3", "-m"]}
    for entry, named in ((["python3", "-m"], False), ("python3 -m", False), (["sh"], True), (None, True)):
        told = containers.differences(entered, {**seen, "Config": {**seen["Config"], "Entrypoint": entry}})
        assert any(text.startswith("entrypoint is") for text in told) is named
    assert containers.differences(launch, {**seen, "Config": {**seen["Config"], "Labels": {}}}) == ["another container has its name, without its labels"]


@pytest.mark.parametrize("printed, found", [
    ('INFO [x]\n{"vllm": "0.25.1", "torch": "2", "zentorch": null, "platform": "cpu"}\n', {"vllm": "0.25.1", "torch": "2", "platform": "cpu"}),
    ("exec: python3: not found", {}), ("", {}), ('{"other": 1}\n[1]\n"x"', {}), ('{"vllm": 3, "platform": {"a": 1}}', {})])
def test_the_probes_line_is_found_among_others(printed, found):
    assert stack.parse(printed) == found


def test_the_probes_code_runs_without_vllm():
    ran = subprocess.run([sys.executable, "-c", stack.CODE], capture_output=True, text=True, check=True)
    assert stack.parse(ran.stdout) == {} and json.loads(ran.stdout)["platform"] is None


def test_a_print_tells_a_change_and_no_key():
    first = print_of("sk-secret", None)
    assert print_of("sk-secret", first) == first and print_of("sk-other", first) != first
    assert print_of("sk-secret", None) != first, "salted"
    assert print_of(None, first) == "" and "sk-secret" not in first and len(first) == 23
    assert print_of("sk-secret", "damaged").count(":") == 1


@pytest.mark.parametrize("runtime, keys, python", [("docker", {}, "python3"), ("host", {"pythonEnv": "/opt/vllm"}, "/opt/vllm/bin/python")])
def test_a_prefetch_has_the_cache_and_nothing_of_the_endpoints_place(runtime, keys, python):
    launch = launch_of(runtime=runtime, **keys)
    spec = prefetch.spec_of(launch, "org/m", "abc")
    assert spec["entrypoint"] == [python] and spec["command"][2:4] == ["org/m", "abc"] and "\n" not in spec["command"][1]
    assert spec["mounts"] == launch["mounts"] and not {"devices", "cpuset_cpus", "memory_bytes", "port"} & set(spec)
    assert "amd-vllm.endpoint" not in spec["labels"] and spec["labels"]["amd-vllm.prefetch"] == "org/m"
    compile(spec["command"][1], "prefetch", "exec")
    squashed = prefetch.spec_of(launch, "org/m", "abc", "1000:100")
    if runtime == "docker":
        assert squashed["user"] == "1000:100" and squashed["environment"]["HF_HOME"] == squashed["mounts"][0]["target"] == "/cache"
        assert ("--user", "1000:100") in pairs(create_arguments(squashed, "x:1"))
    target = Target("box", "ssh://u@h")
    assert prefetch.key_of(target, launch, "org/m", "a") != prefetch.key_of(target, launch, "org/m", "b")
