"""Golden plans of the EPYC family: a case is a host, a model and keys; its plan is reviewed JSON below tests/planning/golden.

`python -m tests.planning.golden_plans` writes them again; read the difference before you commit it.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planning.plan import document
from tests.planning.paper import MODEL, plan_one

FOLDER = Path(__file__).resolve().parent / "golden"
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "genoa-dual": ("genoa-dual", {}),
    "genoa-single-4b": ("genoa-single", {"model": "Qwen/Qwen3-4B", "maxModelLen": 32768, "concurrency": 8}),
    "genoa-dual-405b": ("genoa-dual", {"model": "meta-llama/Meta-Llama-3.1-405B", "maxModelLen": 32768}),
    "genoa-dual-mla": ("genoa-dual", {"model": "deepseek-ai/DeepSeek-V2-Lite"}),
    "genoa-dual-embedding": ("genoa-dual", {"model": "BAAI/bge-large-en"}),
    "genoa-dual-tp2": ("genoa-dual", {"model": "meta-llama/Llama-3.1-70B-Instruct", "tensorParallelSize": 2}),
    "turin-30b-a3b": ("turin", {"model": "Qwen/Qwen3-30B-A3B", "throughputFlags": True, "reservedCpus": 2}),
    "turin-dense": ("turin-dense", {}),
    "venice": ("venice", {}),
    "bergamo": ("bergamo", {}),
    "bergamo-unverified": ("bergamo", {"acceptUnverified": True}),
    "milan-dual": ("milan-dual", {}),
    "milan-dual-stock": ("milan-dual", {"acceptStockVllm": True}),
    "nps4": ("nps4", {}),
    "nps4-tp4": ("nps4", {"model": "Qwen/Qwen3-30B-A3B", "tensorParallelSize": 4}),
    "memoryless": ("memoryless", {}),
    "container-limited": ("container-limited", {}),
    "masked-vm": ("masked-vm", {"acceptStockVllm": True}),
    "small-8b": ("small", {"model": "Qwen/Qwen3-8B"}),
    "genoa-dual-gemma": ("genoa-dual", {"model": "google/gemma-3-4b-it", "kvCacheGib": 64}),
}


def plan_of(name: str) -> dict[str, Any]:
    """What is kept of a plan: decisions and numbers, not sentences."""
    on, keys = CASES[name]
    plan = document(plan_one(on, **keys))
    launch = plan["launch"] or {}
    return {"case": {"host": f"synthetic-{on}", "model": keys.get("model", MODEL), "set": {k: v for k, v in keys.items() if k != "model"}},
            "verdict": plan["verdict"], "refusals": [r["code"] for r in plan["refusals"]], "consents": {c["key"]: c["given"] for c in plan["consents"]},
            "warnings": [w["code"] for w in plan["warnings"]], "suggestions": [s["set"] for s in plan["suggestions"]],
            "engine": plan["engine"], "memory": _memory(plan["memory"]), "placement": plan["placement"],
            "launch": {key: launch.get(key) for key in ("runtime", "entrypoint", "command", "environment", "memory_bytes", "cpuset_cpus", "cpuset_mems")},
            "health": plan["health"] and {key: plan["health"][key] for key in ("deadline_seconds", "path", "requires_log")}}


def _memory(memory: dict[str, Any] | None) -> dict[str, Any] | None:
    return memory and {**memory, "lines": {line["name"]: line["bytes"] for line in memory["lines"]}}


def text_of(name: str) -> str:
    """The golden file's text."""
    return json.dumps(plan_of(name), indent=1) + "\n"


if __name__ == "__main__":
    for case in CASES:
        (FOLDER / f"{case}.json").write_text(text_of(case), encoding="utf-8")
