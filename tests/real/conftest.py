"""Fixtures of the tests with the real vLLM. They are collected only when this folder is named: `make test-real`."""
from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.bed.bed import Bed
from tests.e2e.bed.checkout import Checkout
from tests.e2e.bed.host import Host
from tests.real import image, tiny_model
from tests.real.store import StoredEngine

HERE = Path(__file__).resolve().parent
_numbers = itertools.count(1)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Seven gigabytes and minutes: not part of `python -m pytest tests`."""
    named = [Path(str(word).split("::")[0]).resolve() for word in config.args]
    return None if any(path == HERE or HERE in path.parents for path in named) else True


@pytest.fixture(scope="session", autouse=True)
def _progress(request: pytest.FixtureRequest) -> Iterator[None]:
    """Minutes pass while the image is built: its progress is shown although pytest keeps what tests print."""
    keeper, before = request.config.pluginmanager.getplugin("capturemanager"), image.told

    def shown(line: str) -> None:
        with keeper.global_and_fixture_disabled():
            before(line)
    image.told = shown
    yield
    image.told = before


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """The test bed. At its end nothing may be left."""
    made = Bed()
    try:
        yield made
    finally:
        left = made.close()
    assert not left, f"the test bed left behind: {left}"


@pytest.fixture(scope="session")
def milan(bed: Bed) -> Iterator[Host]:
    """A host that says EPYC 7763, with the real vLLM under the name of the stock image in its Docker."""
    host = bed.host("milan-small", docker=False)
    host.engine = StoredEngine(host.folder / "docker", host.folder / "run" / "docker.sock", host.name, host.namespace.inside, Path("/run/docker.sock"))
    host.engine.start()
    yield host
    host.engine.stop()


@pytest.fixture(scope="session")
def model(bed: Bed) -> Path:
    """The tiny model's directory, the same path on this side and on the host."""
    return tiny_model.write(bed.folder / "models" / "tiny")


@pytest.fixture(scope="module")
def make_project(bed: Bed) -> Iterator[Callable[..., Checkout]]:
    """`make_project()`, or `make_project(on=host)` to run make and Pulumi on that host."""
    made: list[Checkout] = []

    def make(on: Host | None = None) -> Checkout:
        made.append(Checkout(bed.folder / f"project-{next(_numbers)}", on=on))
        return made[-1]
    yield make
    for project in made:
        project.close()


@pytest.fixture(scope="session")
def openai() -> Path:
    """A folder with the `openai` client, pinned in client.txt, for a Python of ours."""
    folder = image.cache() / f"client-{sys.version_info.major}.{sys.version_info.minor}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--upgrade", "--target", part,
                        "--requirement", HERE / "client.txt"], check=True)
        part.rename(folder)
    return folder
