"""`runtime: host` as a service of a real `systemd --user`, under a real logind where the user lingers."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.namespace import USER, USER_ID
from tests.e2e.bed.processes import wait_until
from tests.e2e.test_endpoint import changes
from tests.e2e.test_runtimes import answers

NAME = "vllm-e2e-chat"
KEY = "sk-not-to-be-seen-anywhere"


@pytest.fixture
def lingering(make_host):
    """A host with systemd and no container runtime; its user `ops` lingers and has a Python environment with vllm (the stand-in)."""
    host = make_host("milan-small", docker=False, systemd=True)
    folder = host.folder / "ops" / "env" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "python3", "vllm"):
        shutil.copy2(images.binary(), folder / name)
    host.over_ssh("loginctl", "enable-linger", USER)
    wait_until(lambda: user(host, "show-environment", check=False), f"systemd --user of {USER}")
    return host


def user(host, *words: str, check: bool = True) -> str:
    """What `systemctl --user` prints for the user."""
    return host.over_ssh("systemctl", "--user", *words, user=USER, check=check).stdout.strip()


def processes(host) -> list[str]:
    """Ids of what is in the unit's cgroup, seen on the host."""
    group = user(host, "show", NAME, "--property=ControlGroup", "--value")
    assert group.endswith(f"user@{USER_ID}.service/app.slice/{NAME}.service")
    found = 'cat "/sys/fs/cgroup/systemd$1/cgroup.procs" 2>/dev/null || cat "/sys/fs/cgroup$1/cgroup.procs"'
    return host.run_local("sh", "-c", found, "sh", group, cwd="/").stdout.split()


def main_process(host) -> str:
    return user(host, "show", NAME, "--property=MainPID", "--value")


def test_the_users_systemd_keeps_the_engine(project, hub, lingering):
    models.add(hub)
    project.set_secret("apiKeys.chat", KEY)
    env = f"{lingering.folder}/ops/env"
    project.configure({"box": lingering.connection(user=USER)}, {"chat": {
        "kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096, "kvCacheGib": 1, "runtime": "host", "pythonEnv": env, "backend": "stock",
        "cores": 1}})
    assert "answers after" in project.up().ok().text
    url, place = project.outputs()["baseUrl"], project.outputs()["endpoints"]["chat"]["placement"]
    assert (user(lingering, "is-active", NAME), user(lingering, "is-enabled", NAME)) == ("active", "enabled")
    supervisor, before = main_process(lingering), processes(lingering)
    assert supervisor in before and len(before) >= 2, "the supervisor and its engine are of the unit"
    for each in before:
        where = dict(line.split(":\t", 1) for line in lingering.over_ssh("cat", f"/proc/{each}/status").stdout.splitlines() if ":\t" in line)
        policies = {line.split()[1] for line in lingering.over_ssh("cat", f"/proc/{each}/numa_maps").stdout.splitlines()}
        assert each == supervisor or (where["Cpus_allowed_list"], policies) == (place["cpuset_cpus"], {f"bind:{place['cpuset_mems']}"}), "numactl's"
    assert (answers(url), answers(url, KEY)) == (401, 200) and KEY not in user(lingering, "cat", NAME) + json.dumps(project.state())
    assert not changes(project.up().ok()) and not changes(project.refresh().ok())

    lingering.ssh.stop()
    time.sleep(1)
    assert answers(url, KEY) == 200, "no session is left, and it serves"
    lingering.ssh.start()

    lingering.over_ssh("kill", "-9", *(each for each in before if each != supervisor))
    wait_until(lambda: answers(url, KEY) == 200, "the engine after a kill")
    assert main_process(lingering) == supervisor, "the supervisor starts the engine again"
    lingering.over_ssh("kill", "-9", supervisor)
    wait_until(lambda: main_process(lingering) not in ("0", supervisor) and answers(url, KEY) == 200, "the engine after a kill of its supervisor")
    lingering.over_ssh("systemctl", "restart", f"user@{USER_ID}")
    wait_until(lambda: answers(url, KEY) == 200, "the engine after the user's systemd was started anew, as at a boot")
    assert not changes(project.refresh().ok()) and not changes(project.up().ok())

    stop = project.outputs()["endpoints"]["chat"]["stop"]
    lingering.over_ssh(stop, user=USER)
    assert answers(url, KEY) == 0 and user(lingering, "is-active", NAME, check=False) == "inactive"
    project.refresh().ok()
    assert changes(project.up().ok()) and answers(url, KEY) == 200 and user(lingering, "is-active", NAME) == "active"
    project.destroy().ok()
    assert answers(url, KEY) == 0 and user(lingering, "list-unit-files", f"{NAME}.service", "--no-legend", check=False) == ""
    assert not (lingering.folder / "ops/.local/state/amd-vllm" / NAME).exists()
    assert not (lingering.folder / f"ops/.config/systemd/user/{NAME}.service").exists()
