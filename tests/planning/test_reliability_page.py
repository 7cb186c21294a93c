"""docs/reliability.md and the tests say the same: every row has its test, every test of a fault has a row."""
from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
WHOLE = ("test_faults", "test_interrupted", "test_misfits", "test_changes", "test_secrets")
"""Files whose tests are all in the table."""


def test_every_fault_has_a_test_and_every_test_a_row():
    rows = re.findall(r"`(test_\w+)::(test_\w+)` \|$", (ROOT / "docs/reliability.md").read_text(encoding="utf-8"), re.M)
    there = {(name, test) for name in {name for name, _ in rows} | set(WHOLE)
             for test in re.findall(r"^def (test_\w+)", FILES[name].read_text(encoding="utf-8"), re.M)}
    assert set(rows) <= there, f"no such test: {sorted(set(rows) - there)}"
    missing = {pair for pair in there if pair[0] in WHOLE} - set(rows)
    assert not missing, f"add a row to docs/reliability.md for {sorted(missing)}"
    assert len(rows) == len(set(rows))
