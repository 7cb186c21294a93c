"""Plans that matter, as reviewed, in golden.json: one line for each, bytes in whole GiB.

`python -m tests.planning.families.instinct.test_golden_plans` writes the file anew; look at the difference before you commit it.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import plan

FILE = Path(__file__).with_name("golden.json")
HOSTS = {"mi300x-8": ("mi300x", 8), "mi325x-8": ("mi325x", 8), "mi355x-8": ("mi355x", 8), "mi300x-1": ("mi300x", 1)}
OK = {"trustRemoteCode": True}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("Qwen/Qwen3.5-9B", "mi300x-1", {}), ("Qwen/Qwen3.5-35B-A3B", "mi300x-1", {}), ("Qwen/Qwen3.5-122B-A10B", "mi300x-8", {}),
    ("Qwen/Qwen3.5-397B-A17B", "mi300x-8", {}), ("Qwen/Qwen3.5-397B-A17B", "mi355x-8", {}), ("Qwen/Qwen3-235B-A22B-FP8", "mi300x-8", {}),
    ("Qwen/Qwen3-30B-A3B", "mi300x-8", {"tensorParallelSize": 2}), ("Qwen/Qwen3-8B", "mi300x-1", {}), ("Qwen/Qwen3-32B-FP8", "mi300x-1", {}),
    ("deepseek-ai/DeepSeek-R1", "mi300x-8", OK), ("deepseek-ai/DeepSeek-R1", "mi300x-8", {}), ("deepseek-ai/DeepSeek-R1-0528", "mi355x-8", OK),
    ("deepseek-ai/DeepSeek-V3", "mi325x-8", OK), ("deepseek-ai/DeepSeek-V3.2", "mi355x-8", {}), ("deepseek-ai/DeepSeek-V4-Flash", "mi355x-8", {}),
    ("moonshotai/Kimi-K2-Instruct", "mi300x-8", OK), ("moonshotai/Kimi-K2-Instruct", "mi355x-8", OK), ("openai/gpt-oss-20b", "mi300x-1", {}),
    ("openai/gpt-oss-20b", "mi355x-8", {}), ("zai-org/GLM-5", "mi300x-8", {}), ("zai-org/GLM-5", "mi300x-8", {"variant": "fp8"}),
    ("zai-org/GLM-5.1-FP8", "mi300x-8", {}), ("meta-llama/Llama-3.1-8B", "mi300x-1", {}), ("meta-llama/Llama-3.1-70B-Instruct", "mi300x-1", {}),
    ("meta-llama/Llama-3.1-405B-Instruct-FP8", "mi300x-8", {}), ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "mi300x-8", {}),
    ("google/gemma-3-4b-it", "mi300x-1", {}), ("google/gemma-4-E2B-it", "mi300x-1", {}), ("nvidia/Qwen3-235B-A22B-NVFP4", "mi355x-8", {}),
    ("zai-org/GLM-4.5", "mi300x-8", {"weightGib": 668, "maxModelLen": 131072}), ("MiniMaxAI/MiniMax-M2", "mi300x-8", {"weightGib": 214, "maxModelLen": 196608}),
    ("openai/gpt-oss-120b", "mi355x-8", {"weightGib": 61, "maxModelLen": 131072}), ("Qwen/Qwen3-235B-A22B", "mi300x-8", {"weightGib": 438}),
]


def name(case: tuple[str, str, dict[str, Any]]) -> str:
    model, host, keys = case
    return " ".join((model, host, *(f"{key}={json.dumps(value)}" for key, value in keys.items())))


def picture(case: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """What a reviewer looks at: verdict, where, how much, and the command."""
    model, host, keys = case
    found = plan(model, machines.host(*HOSTS[host]), **keys)
    shown: dict[str, Any] = {
        "verdict": found.verdict, "refusals": [f"{r.code}: {r.do}" for r in found.refusals], "suggestions": [s.set for s in found.suggestions],
        "image": f"{found.engine.image.rsplit(':', 1)[1]} ({found.engine.image_from})", "recipe": f"{found.recipe['name']} ({found.recipe['match']})",
        "gpus": list(found.placement.gpus) if found.placement else None}
    if found.memory is not None:
        lines = {line.name: line.bytes for line in found.memory.lines} | {"available": found.memory.available_bytes}
        shown["gib"] = {name: round(size / machines.GIB) for name, size in lines.items()}
        shown["max_model_len"] = found.memory.max_model_len
    if found.launch is not None:
        shown |= {"command": " ".join(found.launch.command), "environment": dict(found.launch.environment), "deadline": found.health.deadline_seconds}
    return {key: value for key, value in shown.items() if value not in ([], None)}


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_plan_is_as_reviewed(case):
    assert picture(case) == json.loads(FILE.read_text(encoding="utf-8"))[name(case)]


def test_nothing_else_is_in_the_file():
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == {name(case) for case in CASES}


if __name__ == "__main__":
    rows = ",\n".join(f" {json.dumps(name(case))}: {json.dumps(picture(case), ensure_ascii=False)}" for case in CASES)
    FILE.write_text("{\n" + rows + "\n}\n", encoding="utf-8")
