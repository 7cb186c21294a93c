"""One host, both families: GPUs do not disturb an EPYC endpoint, claims and ports are shared, nobody asks which family it is."""
from __future__ import annotations

import ast
from pathlib import Path

import planning
from planning.pipeline import plan_host
from planning.plan import document
from planning.request import parse_endpoint
from tests.planning.paper import host, model

HOST = "turin-9575f-dual-mi355x-x8-smt-offline"
ENDPOINTS = {"cpu": {"kind": "epyc", "model": "Qwen/Qwen3-0.6B"}, "gpu": {"kind": "instinct", "model": "Qwen/Qwen3-8B"},
             "other": {"kind": "instinct", "model": "Qwen/Qwen3-8B"}}


def plans(endpoints, previous={}):
    facts, survey = host(HOST)
    requests = {name: parse_endpoint(name, {"host": HOST, **keys})[0] for name, keys in endpoints.items()}
    return plan_host("dev", facts, survey, requests, {name: model(request.model) for name, request in requests.items()}, previous)


def test_one_of_each_on_one_host():
    made = plans(ENDPOINTS)
    assert {name: plan.verdict for name, plan in made.items()} == dict.fromkeys(ENDPOINTS, "fits")
    assert len({plan.launch.port for plan in made.values()}) == 3
    assert made["cpu"].placement.cpuset_cpus and not made["cpu"].placement.gpus
    assert not set(made["gpu"].placement.gpus) & set(made["other"].placement.gpus)


def test_they_do_not_move_for_each_other():
    first = {name: document(plan) for name, plan in plans({"gpu": ENDPOINTS["gpu"]}).items()}
    second = {name: document(plan) for name, plan in plans(ENDPOINTS, first).items()}
    assert second["gpu"] == first["gpu"]
    assert {name: document(plan) for name, plan in plans(ENDPOINTS, second).items()} == second


def test_no_family_is_asked_for_by_name_outside_the_families():
    words = {"epyc", "instinct"}
    for file in sorted(Path(planning.__file__).parent.rglob("*.py")):
        if "families" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            assert not any(isinstance(side, ast.Constant) and side.value in words for side in compared), f"{file}:{node.lineno}"
