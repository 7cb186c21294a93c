"""Rootless Podman of a user over SSH, from preview to destroy: no cpuset (this machine delegates none to users), secrets, drift, repair."""

from __future__ import annotations

import json

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.namespace import USER, USER_ID
from tests.e2e.bed.podman import Podman
from tests.e2e.conftest import ZENTORCH
from tests.e2e.test_endpoint import changes
from tests.e2e.test_runtimes import answers

CHAT = {"kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096, "kvCacheGib": 1}
NAME = "vllm-e2e-chat"
TOKEN, KEY = "hf_not_to_be_seen_either", "sk-not-to-be-seen-anywhere"


@pytest.fixture
def user_host(make_host):
    """A host without Docker whose user `ops` has an image in its own Podman."""
    host = make_host("genoa-small", docker=False)
    podman = Podman(host.namespace, rootless=True)
    podman.configure()
    images.zentorch(f"docker.io/{ZENTORCH.name}").load(podman)
    return host, podman


def engine(host, podman) -> tuple[int, str]:
    """User of the engine's process as the host sees it, and its folder in /proc."""
    (seen,) = json.loads(podman.call("inspect", NAME).stdout)
    process = f"/proc/{seen['State']['Pid']}"
    return int(host.run_local("stat", "-c", "%u", process, cwd="/").stdout), process


def test_a_users_podman_serves_is_repaired_and_goes_away(project, hub, user_host):
    host, podman = user_host
    models.add(hub, gated="manual", allowed={TOKEN})
    project.set_secret("apiKeys.chat", KEY)
    project.set_secret("hfToken", TOKEN)
    project.configure({"box": host.connection(user=USER)}, {"chat": CHAT})
    preview = project.preview().ok()
    assert "container (podman)" in preview.text and "[cpuset-dropped]" in preview.text and podman.containers() == []
    up = project.up().ok()
    assert "platform zen" in up.text and "answers after" in up.text
    chat = project.outputs(show_secrets=True)["endpoints"]["chat"]
    assert (chat["runtime"], chat["stop"]) == ("podman", f"podman rm -f {NAME}") and chat["imageDigest"].startswith("docker.io/amdih/")
    assert (answers(chat["baseUrl"]), answers(chat["baseUrl"], KEY)) == (401, 200)
    assert host.podman.containers() == [] and podman.containers() == [NAME], "the user's, and none of root's"
    user, process = engine(host, podman)
    assert user == USER_ID, "root inside is the user outside"
    given = host.run_local("cat", f"{process}/root/run/secrets/hf_token", cwd="/").stdout
    (seen,) = json.loads(podman.call("inspect", NAME).stdout)
    left = [json.dumps(seen["Config"]["CreateCommand"]), json.dumps(project.state()), preview.text, up.text]
    assert given == TOKEN and not any(secret in text for secret in (KEY, TOKEN) for text in left)

    assert not changes(project.up().ok()), "a second up changes nothing"
    assert not changes(project.refresh().ok())
    for harm in (("kill", NAME), ("rm", "--force", "--time", "0", NAME)):
        podman.call(*harm)
        assert answers(chat["baseUrl"], KEY) == 0
        told = project.refresh().ok().text
        assert harm[0] != "kill" or "137" in told
        assert changes(project.up().ok()) and answers(chat["baseUrl"], KEY) == 200
        project.preview("--expect-no-changes").ok()
    project.destroy().ok()
    assert podman.containers() == [] and not podman.call("secret", "ls", "--quiet").stdout.strip() and answers(chat["baseUrl"], KEY) == 0
