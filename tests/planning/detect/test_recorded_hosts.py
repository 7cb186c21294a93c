"""Every recorded host of tests/hosts gives what is known of it, all of it, and nothing wrong where the files do not tell."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from planning.detect import cpulist, facts_from_dict, facts_to_dict, summary, survey_from_dict, survey_to_dict
from tests.planning.detect.expectations import HOSTS, MEANING, Host, read

NAMES = sorted(path.parent.name for path in HOSTS.glob("*/case.json") if '"shows"' in path.read_text())


@pytest.fixture(scope="module")
def hosts() -> dict[str, Host]:
    return {name: read(name) for name in NAMES}


def _cases() -> list[tuple[str, str]]:
    return [(name, key) for name in NAMES for key in json.loads((HOSTS / name / "case.json").read_text())["expect"]]


def _same(key: str, found: object, expected: object) -> bool:
    if key.startswith("numa_node") and isinstance(expected, str):
        return found == cpulist.parse(expected)
    return found == expected


def test_all_64_are_here() -> None:
    assert len(NAMES) >= 64


@pytest.mark.parametrize(("name", "key"), _cases())
def test_expectation(hosts: dict[str, Host], name: str, key: str) -> None:
    assert key in MEANING, f"tests/hosts/{name}/case.json expects '{key}', and expectations.py does not say what that is"
    expected = hosts[name].case["expect"][key]
    found = MEANING[key](hosts[name])
    assert _same(key, found, expected), f"{name}: {key} is {found!r}, expected {expected!r}"


@pytest.mark.parametrize("name", [name for name in NAMES if "not_in_the_files" in (HOSTS / name / "case.json").read_text()])
def test_what_the_files_do_not_tell_stays_unknown(hosts: dict[str, Host], name: str) -> None:
    host = hosts[name]
    for key in host.case["not_in_the_files"]:
        if key in {"gfx", "instinct"}:
            assert all(device[key] is None for device in host.gpus["devices"]), key
        else:
            assert MEANING[key](host) is None, key


@pytest.mark.parametrize("name", NAMES)
def test_warnings(hosts: dict[str, Host], name: str) -> None:
    host = hosts[name]
    found = {note["code"] for note in host.doc["warnings"]}
    assert found >= set(host.case.get("warnings", []))
    assert "witnesses-disagree" not in found - set(host.case.get("warnings", [])), host.doc["warnings"]
    assert all(note["message"] and "None" not in note["message"].split("taken")[0].replace(", None", "") for note in host.doc["warnings"])


@pytest.mark.parametrize("name", NAMES)
def test_facts_and_survey_survive_state(hosts: dict[str, Host], name: str) -> None:
    host = hosts[name]
    assert facts_from_dict(_as_state(facts_to_dict(host.facts))) == host.facts
    assert survey_from_dict(_as_state(survey_to_dict(host.survey))) == host.survey


@pytest.mark.parametrize("name", NAMES)
def test_summary_is_one_line(hosts: dict[str, Host], name: str) -> None:
    line = summary(hosts[name].facts)
    assert line.startswith(f"{name}: ") and "\n" not in line and "None" not in line


def _as_state(value: object) -> object:
    """What Pulumi's engine gives back: JSON, numbers as floats, keys in another order."""
    def floats(part: object) -> object:
        if isinstance(part, int) and not isinstance(part, bool):
            return float(part)
        if isinstance(part, list):
            return [floats(item) for item in part]
        if isinstance(part, dict):
            return {key: floats(item) for key, item in reversed(part.items())}
        return part
    return floats(json.loads(json.dumps(value)))


def test_every_folder_says_what_it_is() -> None:
    for name in NAMES:
        case = json.loads((HOSTS / name / "case.json").read_text())
        assert case["shows"] and case["published"], name
        assert any(Path(HOSTS / name).iterdir())
