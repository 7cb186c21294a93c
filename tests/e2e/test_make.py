"""`make up` and `make destroy` as a user types them, on a host that says EPYC Milan: local, and over SSH."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.e2e import models
from tests.e2e.bed.checkout import MAKES, copy
from tests.e2e.bed.hub import HubDoor
from tests.e2e.bed.project import CHECKOUT, PROGRAM
from tests.e2e.bed.pulumi_run import NOT_OURS


@pytest.fixture
def checkout(tmp_path):
    """A copy of the checkout that `make setup` finds ready."""
    for name in (*PROGRAM, *MAKES):
        copy(name, tmp_path)
    (tmp_path / ".venv").symlink_to(CHECKOUT / ".venv")
    shutil.copy2(CHECKOUT / ".passphrase", tmp_path / ".passphrase")
    (tmp_path / "stacks").mkdir()
    return tmp_path


def environment(url: str, **more: str) -> dict[str, str]:
    return {"HF_ENDPOINT": url, "YES": "1", "MODEL": models.TINY, **dict.fromkeys(NOT_OURS, ""), **more}


def test_local(checkout, hub, milan):
    models.add(hub)
    door = HubDoor(hub, f"{milan.namespace.subnet}.1")

    def make(verb: str, **more: str):
        unset = [word for name in NOT_OURS for word in ("-u", name)]
        words = ("env", *unset, "make", "-C", str(checkout), verb, f"PYTHON={sys.base_prefix}/bin/python3")
        return milan.run_local(*words, environment=environment(door.url, **more), check=False, timeout=300)

    refused = make("up", HOST="local")
    assert refused.returncode and "acceptStockVllm" in refused.stdout + refused.stderr
    up = make("up", HOST="local", SET="acceptStockVllm=true maxModelLen=4096")
    assert up.returncode == 0, up.stdout + up.stderr
    output = milan.run_local("sh", "-c", f". {checkout}/.amd-vllm/env.sh; cd {checkout}; curl -sf $(pulumi stack output baseUrl)/models").stdout
    assert json.loads(output)["data"][0]["id"] == models.TINY
    again = make("up", HOST="local", SET="acceptStockVllm=true maxModelLen=4096")
    assert again.returncode == 0 and "unchanged" in again.stdout and "created" not in again.stdout, again.stdout
    gone = make("destroy")
    assert gone.returncode == 0 and not milan.engine.docker("ps", "-aq").stdout.strip()
    door.close()


def test_over_ssh(checkout, hub, genoa):
    models.add(hub)
    trust = genoa.connection()
    more = environment(hub.url, HOST=trust["address"], IDENTITY_FILE=trust["identityFile"], KNOWN_HOSTS=trust["knownHosts"])
    words = ["env", *(word for name in NOT_OURS for word in ("-u", name)), *(f"{key}={value}" for key, value in more.items() if key not in NOT_OURS)]
    for verb, told in (("up", "answers after"), ("up", "unchanged"), ("destroy", "deleted")):
        run = subprocess.run([*words, "make", "-C", str(checkout), verb], capture_output=True, text=True, timeout=300, check=False)
        assert run.returncode == 0 and told in run.stdout, run.stdout + run.stderr
    assert not genoa.engine.docker("ps", "-aq").stdout.strip()
