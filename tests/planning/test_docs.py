"""Pages that must say what the code says: schemas, the configuration table, all codes, and the tests that docs/epyc.md names."""
from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator

from planning.plan import EndpointPlan, document
from tests.planning.paper import TESTS, plan_one

ROOT = TESTS.parent
SAYS = {"Refusal", "Warn", "warn", "_warn"}
CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")


def test_schemas_and_configuration_table_are_current():
    run = subprocess.run([sys.executable, "tools/sync-schema", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def codes_in_code() -> Iterator[tuple[str, str]]:
    """(code, file) for every refusal and warning that is made with a constant code, in code and in data."""
    for package in ("planning", "providers", "components"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                called = getattr(getattr(node, "func", None), "id", None) or getattr(getattr(node, "func", None), "attr", None)
                if called in SAYS and node.args and isinstance(node.args[0], ast.Constant) and CODE.match(str(node.args[0].value)):
                    yield node.args[0].value, str(file.relative_to(ROOT))
    for file in sorted((ROOT / "data").glob("*.toml")):
        for code in re.findall(r'^code = "([a-z0-9-]+)"', file.read_text(encoding="utf-8"), re.M):
            yield code, str(file.relative_to(ROOT))


def test_every_code_is_explained():
    explained = set(re.findall(r"^\| `([a-z0-9-]+)` \|", (ROOT / "docs/errors.md").read_text(encoding="utf-8"), re.M))
    missing = {code: file for code, file in codes_in_code() if code not in explained}
    assert not missing, f"add a row to docs/errors.md for each of {missing}"


def test_codes_that_the_contract_names_are_explained():
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    for code in ["not-epyc", "needs-consent", "memory", "architecture-unsupported", "not-generative", "no-chat-template",
                 "gated", "blacklisted", "vllm-too-old", "precision-unsupported", "no-gpu", "gfx-unsupported", "no-runtime", "no-access",
                 "port-taken", "no-cores", "metadata-missing", "unknown-fact", "bad-value"]:
        assert f"| `{code}` |" in page


EPYC_TESTS = {
    "planning/families/epyc/test_epyc_": ("gates", "stack"), "planning/families/epyc/test_": ("placing", "launching", "fitting", "golden"),
    "planning/test_": ("pipeline", "launch", "handoff", "main"), "planning/resolve/test_": ("support",),
    "planning/health/test_": ("answers", "state", "log_cases", "comparison", "memory"),
    "e2e/test_": ("endpoint", "runtimes", "digests", "rootless", "user_service", "interrupted"),
}


def test_tests_that_the_epyc_table_names_exist():
    page = (ROOT / "docs/epyc.md").read_text(encoding="utf-8")
    short = {name: ROOT / f"tests/{start}{name}.py" for start, names in EPYC_TESTS.items() for name in names}
    short["resolved"] = ROOT / "tests/planning/resolve/test_models.py"
    for name, test in re.findall(r"\b(\w+)::(test_\w+)", page):
        assert f"def {test}(" in short[name].read_text(encoding="utf-8"), f"{name}::{test}"
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ") and "| statement |" not in line]
    assert len(rows) > 80
    for statement, where, test in rows:
        assert "::test_" in test or (test == "–" and where.startswith(("not the job", "["))), statement


def test_tests_that_the_instinct_table_names_exist():
    page = (ROOT / "docs/instinct.md").read_text(encoding="utf-8")
    short = {"gates": "instinct_gates", "sets": "gpu_sets", "fit": "gpu_fit", "launch": "gpu_launch", "match": "recipe_match", "compose": "composition",
             "sync": "recipe_sync", "all": "all_recipes", "golden": "golden_plans"}
    files = {name: ROOT / f"tests/planning/families/instinct/test_{file}.py" for name, file in short.items()} | {"e2e": ROOT / "tests/e2e/test_instinct.py"}
    for name, test in re.findall(r"\b(\w+)::(test_\w+)", page):
        assert f"def {test}(" in files[name].read_text(encoding="utf-8"), f"{name}::{test}"
    for path in re.findall(r"`(tests/[\w/.-]+)`", page):
        assert (ROOT / path).exists(), path


def test_a_plan_is_what_its_schema_says():
    from pydantic import TypeAdapter

    text = json.dumps(document(plan_one("genoa-dual")))
    assert document(TypeAdapter(EndpointPlan).validate_json(text)) == json.loads(text)
    schema = json.loads((ROOT / "docs/schema/plan.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == set(json.loads(text))
