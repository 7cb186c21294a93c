"""Step health of the EPYC family: the one request that proves the endpoint, and how long the start may take."""
from __future__ import annotations

from planning.catalog import load_toml
from planning.families.base import Case, Choice
from planning.families.epyc.stack import wanted_stack
from planning.handoff import prompt, served_name
from planning.plan import Engine, HealthSpec
from planning.resolve.manifest import ModelSupport
from planning.units import GIB


def health(case: Case, engine: Engine, support: ModelSupport, choice: Choice) -> HealthSpec:
    """A deterministic generation on the primary endpoint. On the zentorch path the log must show that zentorch is active."""
    data = load_toml("epyc.toml")
    path, body = prompt(served_name(case), support.primary_endpoint == "chat_completions", data["health"]["smoke_tokens"], 0)
    proof = data["zentorch"]["proof"] if engine.backend == "zentorch" else None
    return HealthSpec(case.request.wait_seconds or _deadline(choice, data["health"]), "/v1" + path, body, proof, wanted_stack(case, engine))


def _deadline(choice: Choice, data) -> int:
    memory = choice.memory
    weights = (memory.weights_bytes_per_rank or 0) * choice.placement.tensor_parallel_size / GIB if memory else 0
    return data["tries"] * data["seconds_between"] + round(max(0.0, weights - data["patient_from_gib"]) * data["seconds_per_gib_beyond"])
