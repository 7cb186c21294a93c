"""`python -m planning`: exit statuses, one JSON document, bad words, and no module that a verb does not need."""
from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from planning.__main__ import main
from tests.planning.paper import MODELS, TESTS

HOST, MODEL = str(TESTS / "hosts/synthetic-genoa-dual"), str(MODELS / "Qwen__Qwen3-0.6B")
PLAN = ["plan", "--family", "epyc", "--host", HOST, "--model", MODEL]


def answer(capsys, words):
    status = main(words)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_plan_fits(capsys):
    status, out, err = answer(capsys, [*PLAN, "--json", "--name", "chat", "--set", "port=9000", "--set", 'env={"VLLM_LOGGING_LEVEL": "DEBUG"}'])
    plan = json.loads(out)
    assert (status, err, plan["verdict"], plan["name"], plan["launch"]["port"]) == (0, "", "fits", "chat", 9000)
    assert {"verdict", "refusals", "consents", "warnings", "suggestions", "engine", "recipe", "memory", "placement", "launch", "health", "handoff"} <= set(plan)


def test_plan_refused(capsys):
    status, out, _ = answer(capsys, [*PLAN, "--json", "--set", "kvCacheGib=5000"])
    assert status == 1 and json.loads(out)["refusals"][0]["code"] == "memory"


def test_a_table_for_people(capsys):
    status, out, _ = answer(capsys, PLAN)
    assert status == 0 and "chat" not in out and "required" in out and "Base" not in out and "base URL" in out


@pytest.mark.parametrize("word", ["nope=1", "maxModelLen=abc", "maxModelLen=true", "maxModelLen=-1", "maxModelLen=1e3", "port=70000", "kind=epyc", "model=x",
                                  "host=x", "noequals", "=1", "dtype=int8", "gpus=[0]", "env=[1]", "env={\"A\": 1}", "cores=0", "port=null=3", "extraArgs=7",
                                  "acceptStockVllm=yes", "kvCacheGib=1.5", "socket=NaN", "maxModelLen=" + "9" * 40])
def test_bad_keys_and_values_are_one_refusal(capsys, word):
    status, out, err = answer(capsys, [*PLAN, "--json", "--set", word])
    plan = json.loads(out)
    assert (status, err) == (1, "") and {refusal["code"] for refusal in plan["refusals"]} == {"bad-value"}
    assert all(all(refusal.values()) for refusal in plan["refusals"])


def test_all_bad_values_at_once(capsys):
    _, out, _ = answer(capsys, [*PLAN, "--json", "--set", "prot=1", "--set", "maxModelLen=abc", "--set", "kind=x"])
    plan = json.loads(out)
    assert len(plan["refusals"]) == 3 and any("did you mean port?" in refusal["do"] for refusal in plan["refusals"])


@pytest.mark.parametrize("words, key", [(["detect", HOST], "cpu"), (["resolve", MODEL], "launchable"),
                                        (["capacity", MODEL, "--kv-cache-gib", "1", "--max-model-len", "4096"], "kv_cache_num_blocks")])
def test_every_verb_answers_with_one_document(capsys, words, key):
    status, out, err = answer(capsys, [*words, "--json"])
    assert (status, err) == (0, "") and key in json.loads(out)
    assert answer(capsys, words)[1].strip()


@pytest.mark.parametrize("words", [[*PLAN[:3], "--host", "/nonexistent", *PLAN[5:]], [*PLAN[:5], "--model", "/nonexistent"], ["plan", "--family", "epyc"],
                                   ["plan", "--stack", "/nonexistent.yaml"], ["plan", "--stack", "x", "--family", "epyc"]])
def test_unreadable_input_is_status_2(capsys, words):
    status, out, err = answer(capsys, words)
    assert status == 2 and out == "" and err.startswith("python -m planning plan: ") and "Traceback" not in err


@pytest.mark.parametrize("words", [[], ["nope"], ["plan", "--nope"], ["plan", "--family", "arm"]])
def test_bad_usage_is_status_2(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_stack_file(tmp_path, capsys):
    file = tmp_path / "Pulumi.paper.yaml"
    file.write_text(f'config:\n  amd-vllm:hosts:\n    h: {{address: "recorded:{HOST}"}}\n  amd-vllm:endpoints:\n    a: {{kind: epyc, host: h}}\n'
                    "    b: {kind: epyc, host: h, model: Qwen/Qwen3-0.6B, maxModelLen: 2048}\n    c: {kind: epyc, host: h, blockSize: 10}\n")
    status, out, _ = answer(capsys, ["plan", "--stack", str(file), "--models", str(MODELS), "--json"])
    endpoints = json.loads(out)["endpoints"]
    assert status == 1 and {name: plan["verdict"] for name, plan in endpoints.items()} == {"a": "fits", "b": "fits", "c": "refused"}
    assert endpoints["a"]["placement"]["socket"] != endpoints["b"]["placement"]["socket"]
    assert endpoints["a"]["launch"]["container_name"] == "vllm-paper-a"


def test_stack_file_with_a_real_host_is_status_2(tmp_path, capsys):
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text("config:\n  amd-vllm:hosts: {h: {address: local}}\n  amd-vllm:endpoints: {a: {kind: epyc, host: h}}\n")
    assert answer(capsys, ["plan", "--stack", str(file)])[0] == 2


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=TESTS.parent, capture_output=True, text=True, check=True).stdout


def test_capacity_does_not_import_pydantic():
    assert fresh("import sys, planning.__main__ as m; m._parser('capacity'); print('pydantic' in sys.modules)") == "False\n"


def test_plan_starts_quickly():
    """The goal is 0.6 s on an idle machine; processor time is what a busy one can be held to."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "planning", *PLAN, "--json"], cwd=TESTS.parent, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_a_reader_that_goes_away_is_no_error():
    run = subprocess.run(f"{sys.executable} -m planning {' '.join(PLAN)} --json | head -1", shell=True, cwd=TESTS.parent, capture_output=True, text=True)
    assert run.stdout == "{\n" and run.stderr == ""
