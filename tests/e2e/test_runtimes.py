"""Podman and the host itself as runtimes, and the stack gate: the same proof, drift, outputs and destroy as with Docker."""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.request

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.conftest import STOCK, ZENTORCH
from tests.e2e.test_endpoint import changes

CHAT = {"kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096, "kvCacheGib": 1}
KEY = "sk-not-to-be-seen-anywhere"
STATE = ".local/state/amd-vllm/vllm-e2e-chat"


def answers(url: str, key: str | None = None) -> int:
    """HTTP status of the list of models; 0 when nobody answers."""
    request = urllib.request.Request(f"{url}/models", headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


@pytest.fixture
def podman_host(make_host):
    host = make_host("genoa-small", docker=False)
    images.zentorch(f"docker.io/{ZENTORCH.name}").load(host.podman)
    return host


@pytest.fixture
def python_host(make_host):
    """A host without a container runtime and without numactl, with a Python environment that has vllm (the stand-in)."""
    host = make_host("milan-small", docker=False)
    host.run_local("mount", "--bind", "/dev/null", shutil.which("numactl"), cwd="/")
    folder = host.namespace.home / "env" / "bin"
    host.run_local("mkdir", "-p", str(folder), cwd="/")
    for name in ("python", "python3", "vllm"):
        shutil.copy2(images.binary(), host.folder / "home" / "env" / "bin" / name)
    return host


def test_podman_serves_with_a_key_and_is_repaired(project, hub, podman_host):
    models.add(hub)
    project.set_secret("apiKeys.chat", KEY)
    project.configure({"box": podman_host.connection()}, {"chat": CHAT})
    preview = project.preview().ok()
    assert "stack not probed yet" in preview.text
    up = project.up().ok()
    assert "platform zen" in up.text and "answers after" in up.text
    chat = project.outputs(show_secrets=True)["endpoints"]["chat"]
    assert (chat["runtime"], chat["stop"]) == ("podman", "podman rm -f vllm-e2e-chat") and chat["imageDigest"].startswith("docker.io/amdih/")
    assert (answers(chat["baseUrl"]), answers(chat["baseUrl"], KEY)) == (401, 200)

    (seen,) = json.loads(podman_host.podman.call("inspect", "vllm-e2e-chat").stdout)
    status = podman_host.run_local("cat", f"/proc/{seen['State']['Pid']}/status", cwd="/").stdout
    where = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert (where["Cpus_allowed_list"], where["Mems_allowed_list"]) == (chat["placement"]["cpuset_cpus"], "0"), "the cgroup's set, seen inside"
    assert where["NoNewPrivs"] == "1" and where["Seccomp"] == "2"
    left = [json.dumps(seen["Config"]["CreateCommand"]), json.dumps(project.state()), preview.text, up.text]
    assert not any(KEY in text for text in left), "the key is a secret of podman's: in no argument, state or log"

    assert not [each["type"] for each in project.resources() if "docker" in each["type"]], "no docker plugin where nothing runs under Docker"

    assert not changes(project.up().ok()), "a second up changes nothing"
    assert not changes(project.refresh().ok())
    podman_host.podman.call("rm", "--force", "--time", "0", "vllm-e2e-chat")
    project.refresh().ok()
    repaired = project.up().ok()
    assert changes(repaired)
    project.preview("--expect-no-changes").ok()
    assert answers(chat["baseUrl"], KEY) == 200
    project.destroy().ok()
    assert podman_host.podman.containers() == [] and not podman_host.podman.call("secret", "ls", "--quiet").stdout.strip()


def test_podman_of_this_machine_serves(make_project, hub, podman_host):
    models.add(hub)
    project = make_project(on=podman_host)
    project.configure({"box": {"address": "local"}}, {"chat": CHAT})
    assert "container (podman)" in project.preview().ok().text
    assert "platform zen" in project.up().ok().text
    chat = project.outputs()["endpoints"]["chat"]
    assert (chat["baseUrl"], chat["runtime"]) == ("http://127.0.0.1:8000/v1", "podman")
    assert models.TINY in podman_host.run_local("curl", "--silent", "--fail", f"{chat['baseUrl']}/models", cwd="/").stdout
    assert not changes(project.up().ok()) and not changes(project.refresh().ok())
    project.destroy().ok()
    assert podman_host.podman.containers() == []


def test_podman_is_pinned_to_a_digest(project, hub, podman_host):
    models.add(hub)
    digest = podman_host.podman.call("image", "inspect", "--format", "{{.Digest}}", f"docker.io/{ZENTORCH.name}").stdout.strip()
    project.configure({"box": podman_host.connection()}, {"chat": {**CHAT, "imageDigest": digest}})
    project.up().ok()
    chat = project.outputs()["endpoints"]["chat"]
    assert chat["image"].endswith(f"@{digest}") and chat["imageDigest"].endswith(f"@{digest}")
    (seen,) = json.loads(podman_host.podman.call("inspect", "vllm-e2e-chat").stdout)
    assert seen["Config"]["Image"] == f"docker.io/amdih/zendnn_zentorch@{digest}"
    project.configure({"box": podman_host.connection()}, {"chat": {**CHAT, "imageDigest": "sha256:" + "0" * 64}})
    refused = project.up().failed()
    assert "could not be pulled" in refused.text and "Traceback" not in refused.text
    assert answers(chat["baseUrl"]) == 200, "the old one serves on: the image comes first"
    project.destroy().ok()


def test_a_key_that_only_a_program_has_is_refused_in_preview(project, hub, podman_host):
    models.add(hub)
    program = project.folder / "__main__.py"
    program.write_text(program.read_text().replace("api_key=key", f"api_key=pulumi.Output.secret({KEY!r})"))
    project.configure({"box": podman_host.connection()}, {"chat": CHAT})
    for refused in (project.preview().failed(), project.up("--skip-preview").failed()):
        assert "[no-api-key]" in refused.text and "apiKeys.chat" in refused.text and "Traceback" not in refused.text and KEY not in refused.text
    assert podman_host.podman.containers() == []


def test_a_blocked_stack_is_not_started(project, hub, genoa):
    models.add(hub)
    own = images.Image("example/own:v0.25.1", images.STOCK)
    own.load(genoa.engine)
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": own.name}})
    blocked = project.up().failed()
    assert "[blocked]" in blocked.text and "platform cpu" in blocked.text and "Traceback" not in blocked.text
    assert genoa.engine.containers() == ["vllm-e2e-chat"] and genoa.engine.containers(everything=False) == [], "made, and nothing runs"
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "backend": "stock", "image": STOCK.name}})
    project.up().ok()
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": "example/own:v0.25.1"}})
    served = project.outputs()["baseUrl"]
    again = project.up().failed()
    assert "[blocked]" in again.text and "was not touched" in again.text and answers(served) == 200, "what serves is stopped by no bad image"
    project.destroy().ok()
    assert genoa.engine.containers() == []


def test_the_host_itself_serves_beyond_the_ssh_session(project, hub, python_host):
    models.add(hub)
    project.set_secret("apiKeys.chat", KEY)
    env = f"{python_host.namespace.home}/env"
    project.configure({"box": python_host.connection()}, {"chat": {**CHAT, "runtime": "host", "pythonEnv": env, "backend": "stock", "cores": 1}})
    up = project.up().ok()
    assert "platform cpu" in up.text
    bound = python_host.run_local("sh", "-c", "for p in $(pgrep -f '[v]llm.entrypoints'); do taskset -cp $p; done", cwd="/").stdout
    assert {line.rpartition(" ")[2] for line in bound.splitlines()} == {project.outputs()["endpoints"]["chat"]["placement"]["cpuset_cpus"]}
    url = project.outputs()["baseUrl"]
    assert project.outputs()["endpoints"]["chat"]["runtime"] == "host"
    python_host.ssh.stop()
    time.sleep(1)
    assert answers(url, KEY) == 200 and answers(url) == 401
    python_host.ssh.start()
    listed = python_host.run_local("ps", "axww", "-o", "args", cwd="/").stdout
    assert KEY not in listed and KEY not in json.dumps(project.state()) and KEY not in up.text
    assert not changes(project.up().ok())
    assert not changes(project.refresh().ok())

    folder = python_host.folder / "home" / STATE
    assert (folder.stat().st_mode & 0o777, (folder / "secrets").stat().st_mode & 0o777) == (0o700, 0o600)
    python_host.run_local("sh", "-c", "kill -9 $(cat $1/pid); for p in /proc/[0-9]*; do [ $p/cwd -ef $1 ] && kill -9 ${p#/proc/}; done; :", "sh",
                          f"{python_host.namespace.home}/{STATE}", cwd="/")
    assert answers(url, KEY) == 0
    assert "137" in project.refresh().ok().text
    assert changes(project.up().ok()) and answers(url, KEY) == 200
    project.destroy().ok()
    assert answers(url, KEY) == 0 and not folder.exists()
    assert "vllm.entrypoints" not in python_host.run_local("ps", "axww", "-o", "args", cwd="/").stdout


def test_a_bench_runs_once_and_gives_its_figures(project, hub, genoa):
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "mode": "bench"}})
    project.up().ok()
    chat = project.outputs()["endpoints"]["chat"]
    assert chat["bench"] == {"requests_per_second": 1.53, "total_tokens_per_second": 391.2, "output_tokens_per_second": 195.6,
                             "prompt_tokens": 8192, "output_tokens": 8192}
    assert chat["baseUrl"] is None and chat["placement"]["cpuset_cpus"]
    (seen,) = json.loads(genoa.engine.docker("inspect", "vllm-e2e-chat").stdout)
    assert (seen["State"]["Status"], seen["State"]["ExitCode"], seen["RestartCount"]) == ("exited", 0, 0)
    assert not changes(project.up().ok()) and not changes(project.refresh().ok())
    project.destroy().ok()
    assert genoa.engine.containers() == []


def test_weights_are_fetched_before_the_endpoint_is_touched(project, hub, podman_host):
    models.add(hub)
    project.configure({"box": podman_host.connection()}, {"chat": {**CHAT, "prefetch": True}})
    assert "are fetched before anything is touched" in project.preview().ok().text
    up = project.up().ok()
    assert f"{models.TINY}: complete" in up.text and up.text.index("complete") < up.text.index("answers after")
    cached = podman_host.folder / "home" / ".cache/huggingface/hub" / f"models--{models.TINY.replace('/', '--')}" / "snapshots"
    assert len(list(cached.iterdir())) == 1, "at the pinned commit"
    assert podman_host.podman.containers() == ["vllm-e2e-chat"], "the prefetch left nothing"
    assert "fetching" not in project.up().ok().text, "once"
    project.destroy().ok()


def test_a_failed_start_under_podman_is_told_and_stopped(project, hub, podman_host):
    models.add(hub)
    images.zentorch("docker.io/example/own:v0.25.1", fail="oom").load(podman_host.podman)
    project.configure({"box": podman_host.connection()}, {"chat": {**CHAT, "image": "example/own:v0.25.1"}})
    failed = project.up().failed()
    assert "[out-of-memory]" in failed.text and "Traceback" not in failed.text
    (seen,) = json.loads(podman_host.podman.call("inspect", "vllm-e2e-chat").stdout)
    assert seen["State"]["Status"] in ("exited", "stopped") and not seen["State"]["Running"]
    project.destroy().ok()
    assert podman_host.podman.containers() == []
