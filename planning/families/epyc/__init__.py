"""The EPYC family: one vLLM instance on the cores and memory of one socket, with zentorch where the CPU has AVX-512 BF16."""
from __future__ import annotations

from planning.catalog import load_toml
from planning.families.base import Family, later
from planning.request import EndpointRequest


def model_of(request: EndpointRequest) -> str:
    """The model of a request, or the default."""
    return request.model or load_toml("epyc.toml")["defaults"]["model"]


FAMILY = Family(kind="epyc", device="cpu", model_of=model_of, **{step: later(f"{__name__}.{module}", step) for step, module in {
    "engine": "gates", "choose": "choose", "launch": "launch", "health": "health", "summary": "summary", "suggestions": "suggest",
    "claims": "claims", "judge_stack": "stack"}.items()})
