"""The test bed itself: hosts are reached, are apart from each other, break as asked, and leave nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.bed import cleaning, images, session
from tests.e2e.bed.processes import BedError, wait_until
from tests.e2e.conftest import ZENTORCH


def test_two_hosts_have_their_own_cpu_docker_and_network(genoa, milan):
    models = [host.over_ssh("lscpu").stdout for host in (genoa, milan)]
    assert "EPYC 9654" in models[0] and "avx512_bf16" in models[0]
    assert "EPYC 7763" in models[1] and "avx512" not in models[1]
    for host in (genoa, milan):
        assert host.over_ssh("hostname").stdout.strip() == host.name
        assert "EPYC" in host.over_ssh("cat /proc/cpuinfo").stdout
        assert host.over_ssh("cat /sys/devices/system/node/online").stdout.strip() == "0"
        assert host.over_ssh("lscpu -p=CPU,CORE,SOCKET,NODE").stdout.count("\n0,0,0,0") == 1
    genoa.engine.docker("create", "--name", "only-on-genoa", ZENTORCH.name, "vllm", "serve", "m")
    assert "only-on-genoa" in genoa.over_ssh("docker ps -a").stdout
    assert "only-on-genoa" not in milan.over_ssh("docker ps -a").stdout


def test_a_container_answers_at_the_address_of_its_host(genoa):
    genoa.over_ssh("docker", "run", "--detach", "--name", "served", "--network", "host", "--cpuset-cpus", "0", "--cpuset-mems", "0",
                   "--memory", "1g", ZENTORCH.name, "vllm", "serve", "org/model", "--port", "8000")
    answer = _get(f"http://{genoa.address}:8000/v1/models")
    assert answer["data"][0]["id"] == "org/model"
    inside = genoa.run_local("docker", "ps", "--format", "{{.Names}}").stdout.split()
    assert inside == ["served"]


def test_connections_are_counted(genoa):
    mark = genoa.mark()
    genoa.over_ssh("true")
    genoa.over_ssh("true")
    assert genoa.connections_since(mark) == 2


def test_hosts_break_as_asked_and_mend(genoa):
    def says(user: str = "root", command: str = "true") -> str:
        done = genoa.over_ssh("-o", "ConnectTimeout=3", command, check=False, user=user)
        return "fine" if done.returncode == 0 else done.stderr
    genoa.cut_network()
    assert "timed out" in says() or "No route" in says()
    genoa.restore_network()
    genoa.drop_port(22)
    assert "timed out" in says()
    genoa.open_port(22)
    genoa.ssh.stop()
    assert "Connection refused" in says()
    genoa.ssh.start()
    genoa.ssh.remove_authorized_key()
    assert "Permission denied (publickey)" in says()
    genoa.ssh.authorize()
    genoa.ssh.change_host_key()
    assert "Host key verification failed" in says()
    genoa.mend()
    assert says() == "fine"
    assert "permission denied" in says("ops", "docker ps")
    genoa.stop_docker()
    assert "Cannot connect to the Docker daemon" in says(command="docker ps")
    genoa.mend()
    assert says(command="docker ps") == "fine"


def test_a_host_without_docker_and_with_given_memory(make_host):
    host = make_host("xeon-small", memory_bytes=768 << 30, docker=False)
    assert host.over_ssh("grep MemTotal /proc/meminfo").stdout.split()[1] == str(768 << 20)
    assert "Cannot connect to the Docker daemon" in host.over_ssh("docker ps", check=False).stderr
    assert "GenuineIntel" in host.over_ssh("lscpu").stdout


def test_podman_of_a_host_serves_too(make_host):
    host = make_host(docker=False)
    image = images.stock("docker.io/vllm/vllm-openai-cpu:v0.25.1-x86_64")
    image.load(host.podman)
    host.podman.call("run", "--detach", "--name", "served", "--network", "host", image.name, "org/model", "--port", "8000")
    assert _get(f"http://{host.address}:8000/version") == {"version": "0.25.1"}
    assert host.podman.containers() == ["served"]
    host.podman.start_api()
    assert "served" in host.run_local("docker", "--host", "unix:///run/podman/podman.sock", "ps").stdout


def test_pulumi_runs_here_and_on_a_host(make_project, genoa):
    for project in (make_project(), make_project(on=genoa)):
        project.configure({}, {})
        project.set_secret("hfToken", "hf_not_to_be_seen")
        assert "hf_not_to_be_seen" not in project.run("config").ok().text
        assert [each["type"] for each in project.resources()] == []
        assert project.run("no-such-command").failed().seconds < 60
    inside = genoa.run_local("curl", "--silent", f"{project.environment['HF_ENDPOINT']}/api/models/no/model")
    assert "error" in inside.stdout.lower()


def test_an_operation_that_hangs_is_killed_with_all_that_it_started(make_project):
    project = make_project()
    (project.folder / "__main__.py").write_text("import time\nprint('in the program', flush=True)\ntime.sleep(1000)\n")
    with pytest.raises(BedError, match="took more than"):
        project.preview(timeout=10)
    (project.folder / "__main__.py").write_text("")
    running = [each for each in Path("/proc").glob("[0-9]*/cmdline") if str(project.folder).encode() in _bytes(each)]
    assert running == []


def test_a_killed_session_is_cleaned_up_by_the_next():
    code = ("import os, signal\nfrom tests.e2e.bed.bed import Bed\nbed = Bed()\nhost = bed.host()\n(bed.folder / 'killed').touch()\n"
            "print(bed.session.slot, host.namespace.process_id, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    slot, process = map(int, done.stdout.split())
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{process}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{process}"), "the host's processes outlived the session"
    mark = session.folder_of(slot) / "killed"
    def cleaned() -> bool:
        subprocess.run([sys.executable, "-m", "tests.e2e.bed", "clean"], check=True)
        return not mark.exists()
    wait_until(cleaned, f"slot {slot} of a killed session")                            # another session that starts just now may do it
    lock = session.try_lock(slot)
    assert lock is None or not cleaning.left_of(slot), "None: the slot is another living session's by now"


def _get(url: str) -> dict:
    """Ask until it answers, 10 seconds at most."""
    deadline = time.monotonic() + 10
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _bytes(path: Path) -> bytes:
    """A file of /proc, empty when its process has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
