"""Fixtures of the end-to-end tests. Whatever cannot be made is a failure; SKIP_E2E=1 leaves all of these tests out."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.bed import Bed
from tests.e2e.bed.engine import DockerEngine
from tests.e2e.bed.host import Host
from tests.e2e.bed.hub import HubDoor
from tests.e2e.bed.project import Project
from tests.e2e.bed.pulumi_run import Running
from tests.hub_stand_in import HubStandIn

HERE = Path(__file__).resolve().parent
ZENTORCH = images.zentorch("amdih/zendnn_zentorch:vllm_v0.25.1_zentorch_v2.11.0.3_ubuntu22.04_2026_ww30")
STOCK = images.stock("vllm/vllm-openai-cpu:v0.25.1-x86_64")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """SKIP_E2E=1: said by the user, so it is a skip and no failure."""
    if os.environ.get("SKIP_E2E") == "1":
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="SKIP_E2E=1"))


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """The bed: `bed.host(kind=…)` makes a host. At its end nothing may be left."""
    made = Bed()
    try:
        yield made
    finally:
        left = made.close()
    assert not left, f"the test bed left behind: {left}"


@pytest.fixture(scope="session")
def docker_engine(bed: Bed) -> DockerEngine:
    """A Docker engine on this machine's own network, not on a host of the bed."""
    return bed.engine()


@pytest.fixture(scope="session")
def _genoa(bed: Bed) -> Host:
    host = bed.host("genoa-small")
    for image in (ZENTORCH, STOCK):
        image.load(host.engine)
    return host


@pytest.fixture(scope="session")
def _milan(bed: Bed) -> Host:
    host = bed.host("milan-small")
    STOCK.load(host.engine)
    return host


@pytest.fixture
def genoa(_genoa: Host) -> Iterator[Host]:
    """A host with EPYC 9654, 2 cores, avx512_bf16; both pinned images (the stand-in) in its Docker. Mended after each test."""
    yield _genoa
    _genoa.mend()


@pytest.fixture
def milan(_milan: Host) -> Iterator[Host]:
    """A host with EPYC 7763, no AVX-512, the stock image. Mended after each test."""
    yield _milan
    _milan.mend()


@pytest.fixture
def make_host(bed: Bed) -> Iterator[Callable[..., Host]]:
    """`make_host("xeon-small", memory_bytes=…, docker=False)`: a host for this test alone."""
    made: list[Host] = []

    def make(kind: str = "genoa-small", **options: object) -> Host:
        made.append(bed.host(kind, **options))
        return made[-1]
    yield make
    for host in made:
        bed.remove(host)


@pytest.fixture
def hub() -> Iterator[HubStandIn]:
    """A stand-in for the Hub: `hub.add("org/name", {"config.json": …})`; `hub.requests` holds what was asked."""
    with HubStandIn() as made:
        yield made


@pytest.fixture
def make_project(bed: Bed, hub: HubStandIn) -> Iterator[Callable[..., Project]]:
    """`make_project()`, or `make_project(on=host)` to run Pulumi on that host (`address: local`)."""
    made: list[Project] = []
    doors: list[HubDoor] = []

    def make(on: Host | None = None) -> Project:
        url = hub.url
        if on:
            doors.append(HubDoor(hub, f"{on.namespace.subnet}.1"))
            url = doors[-1].url
        made.append(Project(bed.folder / f"project-{next(_numbers)}", url, on))
        return made[-1]
    yield make
    for project in made:
        project.close()
    for door in doors:
        door.close()


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    """A stack of its own on a copy of the program, with the Hub stand-in as its Hub."""
    return make_project()


@pytest.fixture
def served(project: Project, hub: HubStandIn, genoa: Host) -> Project:
    """A project whose endpoint `chat` is up on the genoa host, over SSH."""
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": models.CHAT})
    project.up().ok()
    return project


@pytest.fixture
def begin(project: Project) -> Iterator[Callable[[str], Running]]:
    """`begin("up")`: started, and ended with the test at the latest."""
    made: list[Running] = []

    def start(operation: str) -> Running:
        made.append(project.begin(operation, "--yes"))
        return made[-1]
    yield start
    for running in made:
        running.kill()


_numbers = itertools.count(1)
