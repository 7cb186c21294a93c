"""State that the program, or an older version of it, wrote under one Python minor is refreshed, updated and destroyed under others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e import models
from tests.e2e.bed import pythons
from tests.e2e.bed.project import CHECKOUT, PROGRAM
from tests.e2e.models import CHAT
from tests.e2e.test_endpoint import changes
from tests.e2e.test_faults import declared

OWN = Path(sys.executable).resolve()
OLDER = "d0f8c0d2b0a0bc576cf8f3b94a5f371d5307696e"
"""The last version whose state holds facts and plans as objects."""


def not_tested(why: str) -> None:
    """Told at the end of the run; in CI a failure."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(why)


@pytest.fixture(scope="module")
def route() -> list[Path]:
    """The newest and the oldest other Python here, as environments of the program."""
    found = pythons.others()
    if not found:
        not_tested(f"no Python beside 3.{sys.version_info.minor} and from 3.10 on is here: `uv python install 3.13`, pyenv or your distribution gives one")
    return [pythons.environment(found[minor], CHECKOUT / "requirements.txt") for minor in dict.fromkeys((max(found), min(found)))]


def pickles(project) -> dict[str, str]:
    """URN -> the stored text of its dynamic provider."""
    found = {each["urn"]: each["inputs"]["__provider"] for each in project.resources() if "__provider" in each.get("inputs", {})}
    assert len(found) >= 5
    return found


def test_state_goes_from_one_python_minor_to_another_and_back(project, hub, genoa, route):
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    with pythons.Interpreters(project.folder) as ran:
        project.up().ok()
    assert ran.seen == {OWN}
    first = pickles(project)
    for environment in (*route, CHECKOUT / ".venv"):
        project.use(environment)
        with pythons.Interpreters(project.folder) as ran:
            assert not changes(project.refresh().ok())
            project.preview("--expect-no-changes").ok()
            if environment == route[0]:
                project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "maxNumSeqs": 8}})
                assert changes(project.up().ok())
                declared(project, genoa)
        assert ran.seen == {(environment / "bin/python").resolve()}, "the program and its providers ran under that Python and no other"
        assert pickles(project) == first, "the same text under each"
    gone(project, genoa, route[0])


def test_state_of_an_older_version_goes_on_under_this_one_and_another_minor(project, hub, genoa, route):
    archive = subprocess.run(["git", "-C", CHECKOUT, "archive", OLDER, *PROGRAM], capture_output=True, check=False)
    if archive.returncode:
        not_tested(f"the history of this checkout does not reach {OLDER[:7]}: {archive.stderr.decode().strip()}")
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    program(project, None)
    subprocess.run(["tar", "-x", "-C", project.folder], input=archive.stdout, check=True)
    project.up().ok()
    first, container = pickles(project), project.resource("EndpointHealth::chat")["outputs"]["container_id"]
    program(project, CHECKOUT)
    project.use(route[0])
    project.refresh().ok()
    project.up().ok()
    declared(project, genoa)
    assert project.resource("EndpointHealth::chat")["outputs"]["container_id"] == container, "a newer version of the program is no outage"
    assert pickles(project) == first
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "maxNumSeqs": 8}})
    project.up().ok()
    declared(project, genoa)
    gone(project, genoa, route[0])


def program(project, source: Path | None) -> None:
    """The program in the project's folder is the one of `source`, or none."""
    for name in PROGRAM:
        shutil.rmtree(project.folder / name, ignore_errors=True)
        (project.folder / name).unlink(missing_ok=True)
        if source:
            (shutil.copytree if (source / name).is_dir() else shutil.copy2)(source / name, project.folder / name)


def gone(project, host, environment: Path) -> None:
    project.use(environment)
    project.destroy().ok()
    assert not project.resources() and not host.engine.containers()
