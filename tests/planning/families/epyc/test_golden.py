"""Golden plans: synthetic hosts x recorded models, as reviewed JSON. `python -m tests.planning.golden_plans` writes them again."""
from __future__ import annotations

import json

import pytest

from tests.planning.golden_plans import CASES, FOLDER, plan_of


@pytest.mark.parametrize("name", CASES)
def test_golden(name):
    assert json.loads(json.dumps(plan_of(name))) == json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def test_no_golden_file_without_a_case():
    assert {file.stem for file in FOLDER.glob("*.json")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_lines_add_up(name):
    memory = plan_of(name)["memory"]
    if memory:
        assert sum(memory["lines"].values()) == memory["required_bytes"]
