"""The EPYC family: one vLLM instance on the cores and memory of one socket, with zentorch where the CPU has AVX-512 BF16."""
from __future__ import annotations

from planning.catalog import load_toml
from planning.families.base import Family
from planning.families.epyc.choose import choose
from planning.families.epyc.claims import claims
from planning.families.epyc.gates import engine
from planning.families.epyc.health import health
from planning.families.epyc.launch import launch
from planning.families.epyc.stack import judge_stack
from planning.families.epyc.suggest import suggestions
from planning.families.epyc.summary import summary
from planning.request import EndpointRequest


def model_of(request: EndpointRequest) -> str:
    """The model of a request, or the default."""
    return request.model or load_toml("epyc.toml")["defaults"]["model"]


FAMILY = Family(kind="epyc", device="cpu", model_of=model_of, engine=engine, choose=choose, launch=launch, health=health,
                summary=summary, suggestions=suggestions, claims=claims, judge_stack=judge_stack)
