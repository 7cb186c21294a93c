"""The data is well-formed and the page in docs says the same."""
from __future__ import annotations

import re
from pathlib import Path

from planning.catalog import load_toml
from planning.health.guide import codes, page

ROOT = Path(__file__).resolve().parents[3]
ENTRIES = [*load_toml("log-causes.toml")["cause"], *load_toml("log-causes.toml")["died"],
           *load_toml("health-causes.toml")["state"], *load_toml("health-causes.toml")["answer"]]


def test_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8") == page()


def test_every_entry_has_cause_fix_and_source() -> None:
    for entry in ENTRIES:
        assert all(entry[key].strip() and not entry[key].endswith(".") for key in ("what", "needed", "do", "from")), entry
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry["code"])
    assert all(f"`{code}`" in page() for code in codes())


def test_phases_are_known_and_placeholders_have_values() -> None:
    phases = {entry["name"] for entry in load_toml("log-phases.toml")["phase"]}
    for entry in load_toml("log-causes.toml")["cause"]:
        assert entry["phase"] in phases and entry.get("during", "load") in phases
        groups = set(re.compile(entry.get("match", "")).groupindex)
        assert set(re.findall(r"\{(\w+)\}", entry["what"] + entry["needed"] + entry["do"])) <= groups


def test_patterns_are_bounded() -> None:
    for entry in load_toml("log-causes.toml")["cause"]:
        assert not re.search(r"(?<!\\)[*+](?!\\)", entry.get("match", "")), entry["match"]
