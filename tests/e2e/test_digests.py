"""Images from a real registry, pinned to a digest or not: what is asked for runs and is recorded; what is not there, or blocked, is not started."""

from __future__ import annotations

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.namespace import USER
from tests.e2e.bed.podman import Podman
from tests.e2e.bed.registry import ADDRESS, Registry
from tests.e2e.test_endpoint import changes
from tests.e2e.test_runtimes import answers

NAME = f"{ADDRESS}/amdih/zendnn_zentorch"
TAG = f"{NAME}:v0.25.1_zentorch_v2.11.0.3"
MIRROR = f"{ADDRESS}/a/mirror:v0.25.1"
CHAT = {"kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096, "kvCacheGib": 1, "image": TAG}
NOWHERE = "sha256:" + "0" * 64
IMAGE = "{{.Image}}"


@pytest.fixture
def registry(genoa):
    made = Registry(genoa).start()
    yield made
    made.stop()


def runs(genoa, template: str = IMAGE) -> str:
    return genoa.engine.docker("inspect", "--format", template, "vllm-e2e-chat").stdout.strip()


def digests(genoa, image_id: str) -> list[str]:
    return genoa.engine.docker("image", "inspect", "--format", "{{join .RepoDigests \" \"}}", image_id).stdout.split()


def test_the_digest_that_is_asked_for_runs_though_its_tag_has_moved_on(project, hub, genoa, registry):
    models.add(hub)
    first = registry.push(images.zentorch(TAG, build="first"))
    second = registry.push(images.zentorch(TAG, build="second"))
    assert first != second
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "imageDigest": first}})
    assert f"{TAG}@{first}" in project.preview().ok().text, "the plan names the digest"
    project.up().ok()
    chat = project.outputs()["endpoints"]["chat"]
    assert (chat["image"], chat["imageDigest"]) == (f"{TAG}@{first}", f"{NAME}@{first}")
    assert digests(genoa, runs(genoa)) == [f"{NAME}@{first}"], "the tag means the second build by now, and the first one runs"
    assert answers(chat["baseUrl"]) == 200
    assert not changes(project.up().ok()) and not changes(project.refresh().ok())

    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "imageDigest": second}})
    assert changes(project.up().ok()), "another digest is another container"
    assert project.outputs()["endpoints"]["chat"]["imageDigest"] == f"{NAME}@{second}" and digests(genoa, runs(genoa)) == [f"{NAME}@{second}"]


def test_a_digest_that_is_not_in_the_registry_leaves_nothing_running(project, hub, genoa, registry):
    models.add(hub)
    known = registry.push(images.zentorch(TAG, build="known"))
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "imageDigest": NOWHERE}})
    refused = project.up().failed()
    assert NOWHERE in refused.text and "manifest unknown" in refused.text and "Traceback" not in refused.text
    assert genoa.engine.containers() == []
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "imageDigest": known}})
    project.up().ok()
    serves, container = project.outputs()["baseUrl"], runs(genoa, "{{.Id}}")
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "imageDigest": NOWHERE}})
    assert "manifest unknown" in project.up().failed().text
    assert (answers(serves), runs(genoa, "{{.Id}}")) == (200, container), "the old one serves on: the image comes first"


def test_without_a_digest_the_one_that_runs_is_recorded(project, hub, genoa, registry):
    models.add(hub)
    given = registry.push(images.zentorch(TAG, build="by-its-tag"), mirror=MIRROR)
    genoa.engine.docker("pull", MIRROR)
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    project.up().ok()
    chat = project.outputs()["endpoints"]["chat"]
    assert (chat["image"], chat["imageDigest"]) == (TAG, f"{NAME}@{given}")
    assert len(digests(genoa, runs(genoa))) == 2, "the mirror's stands first there"
    started = project.resource("pulumi-python:dynamic/amd-vllm:EndpointStart")["outputs"]
    assert (started["image_digest"], f"sha256:{started['image_id']}") == (f"{NAME}@{given}", runs(genoa)), "in the state, beside the image's id"


def test_a_stack_that_is_blocked_is_seen_after_the_pull_and_before_the_start(project, hub, genoa, registry):
    models.add(hub)
    registry.push(images.Image(TAG, images.STOCK))
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    assert "stack not probed yet" in project.preview().ok().text and TAG not in genoa.engine.docker("images", "--format", "{{.Repository}}:{{.Tag}}").stdout
    blocked = project.up().failed()
    assert "[blocked]" in blocked.text and "platform cpu" in blocked.text and "nothing runs" in blocked.text
    assert TAG in genoa.engine.docker("images", "--format", "{{.Repository}}:{{.Tag}}").stdout and genoa.engine.containers(everything=False) == []


def test_a_users_podman_pulls_by_digest(project, hub, make_host):
    host = make_host("genoa-small", docker=False)
    podman, made = Podman(host.namespace, rootless=True), Registry(host).start()
    podman.configure()
    first, second = (made.push_by_podman(images.zentorch(TAG, build=build), podman) for build in ("first", "second"))
    models.add(hub)
    project.configure({"box": host.connection(user=USER)}, {"chat": {**CHAT, "imageDigest": first}})
    up = project.up().ok()
    chat = project.outputs()["endpoints"]["chat"]
    assert f"pulling {NAME}@{first}" in up.text and first != second and chat["imageDigest"] == f"{NAME}@{first}" and answers(chat["baseUrl"]) == 200
    project.configure({"box": host.connection(user=USER)}, {"chat": {**CHAT, "imageDigest": NOWHERE}})
    refused = project.up().failed()
    assert "could not be pulled" in refused.text and "manifest unknown" in refused.text and answers(chat["baseUrl"]) == 200
    project.destroy().ok()
