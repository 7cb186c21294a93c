"""The Instinct family: vLLM's ROCm image on one or several AMD Instinct GPUs, configured by recipes and AMD's data."""
from __future__ import annotations

from planning.families.base import Choice, Claims, Family
from planning.families.instinct.choose import choose
from planning.families.instinct.gates import engine, model_of
from planning.families.instinct.health import health
from planning.families.instinct.launch import launch
from planning.families.instinct.stack import judge_stack
from planning.families.instinct.suggest import suggestions
from planning.families.instinct.summary import summary


def claims(choice: Choice) -> Claims:
    """What a fitting endpoint holds: its GPUs, whole."""
    return Claims(gpus=frozenset(choice.placement.gpus))


__all__ = ["FAMILY", "claims", "model_of"]

FAMILY = Family(kind="instinct", device="rocm", model_of=model_of, engine=engine, choose=choose, launch=launch, health=health,
                summary=summary, suggestions=suggestions, claims=claims, judge_stack=judge_stack)
