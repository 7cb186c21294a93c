"""State that the program wrote under one Python minor is refreshed, updated and destroyed under others; what is stored is the same text in all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e import models
from tests.e2e.bed import pythons
from tests.e2e.bed.project import CHECKOUT
from tests.e2e.test_endpoint import changes
from tests.e2e.test_faults import CHAT, declared

OWN = Path(sys.executable).resolve()


@pytest.fixture(scope="module")
def route() -> list[Path]:
    """The newest and the oldest other Python here, as environments of the program."""
    found = pythons.others()
    if not found:
        told = f"no Python beside 3.{sys.version_info.minor} and from 3.10 on is here: `uv python install 3.13`, pyenv or your distribution gives one"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(told)
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
    project.use(route[0])
    project.destroy().ok()
    assert not project.resources() and not genoa.engine.containers()
