"""Names: exact, without a date or version at the end, legacy, generic; variants by their own Hub name."""
from __future__ import annotations

import pytest

from planning.families.instinct.recipe import base, find


@pytest.mark.parametrize(("model", "origin", "recipe", "variant"), [
    ("Qwen/Qwen3.5-9B", "exact", "Qwen/Qwen3.5-9B", "default"),
    ("qwen/qwen3.5-9b", "exact", "Qwen/Qwen3.5-9B", "default"),
    ("google/gemma-4-31B-it", "exact", "google/gemma-4-31B-it", "default"),
    ("deepseek-ai/DeepSeek-R1-0528", "exact", "deepseek-ai/DeepSeek-R1", "r1_0528"),
    ("Qwen/Qwen3-235B-A22B-FP8", "exact", "Qwen/Qwen3-235B-A22B-Instruct-2507", "fp8"),
    ("deepseek-ai/DeepSeek-V4-Flash", "exact", "deepseek-ai/DeepSeek-V4-Flash", "fp8"),
    ("deepseek-ai/DeepSeek-V4-Flash-0731", "exact", "deepseek-ai/DeepSeek-V4-Flash", "default"),
    ("thinkingmachines/Inkling-Small", "exact", "thinkingmachines/Inkling-Small-NVFP4", "bf16"),
    ("moonshotai/Kimi-K2-Instruct-0905", "similar", "moonshotai/Kimi-K2-Instruct", "default"),
    ("deepseek-ai/DeepSeek-V3-0324", "similar", "deepseek-ai/DeepSeek-V3", "default"),
    ("google/gemma-4-31B-it-v1.1", "similar", "google/gemma-4-31B-it", "default"),
    ("deepseek-ai/DeepSeek-V5", "generic", "", None),
    ("Qwen/Qwen3-235B-A22B", "legacy", "Qwen/Qwen3-235B-A22B", None),
    ("Qwen/Qwen3-0.6B", "legacy", "Qwen/Qwen3-0.6B", None),
    ("someone/new-model", "generic", "", None),
    ("zai-org/GLM-6", "generic", "", None),
    ("/models/mine", "generic", "", None),
])
def test_names(model, origin, recipe, variant):
    found = find(model)
    assert (found.origin, found.record["model"], found.variant) == (origin, recipe, variant)


@pytest.mark.parametrize(("name", "stem"), [("o/m-0905", "o/m"), ("o/m-2507", "o/m"), ("o/m-20250101", "o/m"), ("o/m-2025-01-31", "o/m"), ("o/m-v2", "o/m"),
                                            ("o/m-v0.3", "o/m"), ("o/glm-5", "o/glm-5"), ("o/phi-2", "o/phi-2"), ("o/m-7b", "o/m-7b")])
def test_only_dates_and_versions_are_stripped(name, stem):
    assert base(name) == stem
