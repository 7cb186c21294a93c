"""Step health of the Instinct family: the warm-up request that proves the endpoint, and how long the start may take."""
from __future__ import annotations

from planning.catalog import load_toml
from planning.families.base import Case, Choice
from planning.families.instinct.stack import wanted_stack
from planning.handoff import served_name
from planning.plan import Engine, HealthSpec
from planning.resolve.manifest import ModelSupport


def health(case: Case, engine: Engine, support: ModelSupport, choice: Choice) -> HealthSpec:
    """A short deterministic generation, which also makes HIP compile its kernels."""
    data = load_toml("instinct.toml")["health"]
    chat = support.primary_endpoint == "chat_completions"
    asked = {"messages": [{"role": "user", "content": data["prompt"]}]} if chat else {"prompt": data["prompt"]}
    body = {"model": served_name(case), **asked, "max_tokens": data["max_tokens"], "temperature": 0}
    weights, waited = weights_bytes(choice), case.request.wait_seconds
    return HealthSpec(waited or deadline_seconds(weights), "/v1/chat/completions" if chat else "/v1/completions", body, stack=wanted_stack(case),
                      stall_seconds=None if waited or not _large(weights) else data["stall_seconds"])


def weights_bytes(choice: Choice) -> int | None:
    """Weights of all ranks together."""
    memory = choice.memory
    return None if memory is None or memory.weights_bytes_per_rank is None else memory.weights_bytes_per_rank * choice.placement.tensor_parallel_size


def deadline_seconds(weights: int | None) -> int:
    """Ten minutes for small weights; above, a bound on waiting as long as the container runs and its log goes on."""
    data = load_toml("instinct.toml")["health"]
    return data["large_deadline_seconds"] if _large(weights) else data["small_deadline_seconds"]


def _large(weights: int | None) -> bool:
    """Unknown counts as large."""
    return weights is None or weights >= load_toml("instinct.toml")["health"]["small_weights_bytes"]
