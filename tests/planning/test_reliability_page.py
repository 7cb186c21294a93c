"""docs/reliability.md and the tests say the same: every row has its test, every test of a fault has a row. And every refusal of
docs/errors.md is what some test waits for."""
from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
WHOLE = ("test_faults", "test_interrupted", "test_interrupted_before", "test_misfits", "test_changes", "test_secrets", "test_looking",
         "test_other_checkout")
"""Files whose tests are all in the table."""


def test_every_fault_has_a_test_and_every_test_a_row():
    rows = re.findall(r"`(test_\w+)::(test_\w+)` \|$", (ROOT / "docs/reliability.md").read_text(encoding="utf-8"), re.M)
    there = {(name, test) for name in {name for name, _ in rows} | set(WHOLE)
             for test in re.findall(r"^def (test_\w+)", FILES[name].read_text(encoding="utf-8"), re.M)}
    assert set(rows) <= there, f"no such test: {sorted(set(rows) - there)}"
    missing = {pair for pair in there if pair[0] in WHOLE} - set(rows)
    assert not missing, f"add a row to docs/reliability.md for {sorted(missing)}"
    assert len(rows) == len(set(rows))


def test_every_refusal_is_waited_for_by_a_test():
    codes = re.findall(r"^\| `([a-z0-9-]+)` \|", (ROOT / "docs/errors.md").read_text(encoding="utf-8").split("\n## Warnings")[0], re.M)
    texts = "\n".join(path.read_text(encoding="utf-8") for path in FILES.values())
    unseen = [code for code in codes if not re.search(rf"[\"'\[]{code}[\"'\]]", texts)]
    assert len(codes) > 90 and not unseen, f"no test waits for {unseen}"
