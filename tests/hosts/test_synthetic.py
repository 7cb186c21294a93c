"""The synthetic hosts are what their generator writes, and say that they are synthetic."""
from __future__ import annotations

import json

import pytest

from tests.hosts.synthetic import HERE, HOSTS, files


@pytest.mark.parametrize("name", HOSTS)
def test_files_are_current(name):
    folder = HERE / f"synthetic-{name}"
    assert {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()} == files(name, HOSTS[name])


@pytest.mark.parametrize("name", HOSTS)
def test_marked_synthetic(name):
    assert json.loads((HERE / f"synthetic-{name}" / "case.json").read_text(encoding="utf-8"))["synthetic"] is True
