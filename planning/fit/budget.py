"""The memory budget of one rank as named lines of bytes that add up: CPU workers on a NUMA node, and GPUs.

Weights and KV cache come from `planning.fit.capacity`; the rest is data (data/memory-budget.toml) and an estimate of the activations.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planning.catalog import load_toml
from planning.fit.cache import DTYPE_BYTES
from planning.fit.config_view import open_config, text_view
from planning.fit.cpu_budget import headroom_bytes, server_bytes, worker_base_bytes
from planning.fit.decoder import decoder_layers
from planning.fit.layer_kinds import Experts, Mlp, share
from planning.fit.serving_defaults import model_dtype
from planning.plan import Line

TABLE = "memory-budget.toml"


def required_bytes(lines: Iterable[Line]) -> int:
    """The sum of the lines."""
    return sum(line.bytes for line in lines)


def cpu_lines(*, weights_bytes: int, kv_cache_bytes: int, activation_bytes: int = 0, ranks: int = 1, headroom: int | None = None) -> tuple[Line, ...]:
    """One CPU rank's lines. `kv_cache_bytes`: the configured space. `ranks`: among how many the server processes' memory is shared.
    `headroom`: bytes left to the system on the node, None for the procedure's 16 GiB."""
    return (Line("weights", weights_bytes), Line("kv-cache", kv_cache_bytes), Line("activations", activation_bytes),
            Line("runtime", worker_base_bytes()), Line("servers", share(server_bytes(), ranks)),
            Line("headroom", headroom_bytes() if headroom is None else headroom))


def gpu_lines(*, weights_bytes: int, kv_cache_bytes: int, activation_bytes: int = 0, enforce_eager: bool = False, headroom: int = 0) -> tuple[Line, ...]:
    """One GPU rank's lines. `kv_cache_bytes`: one request of max_model_len. Activations, graphs and runtime together are never less than the
    reserve of AMD's procedure, less the graphs where there are none; `headroom`: what should be left for the KV cache beyond one request."""
    data = load_toml(TABLE)["gpu"]
    graphs = 0 if enforce_eager else data["graph_bytes"]
    reserve = data["reserve_bytes"] - (data["graph_bytes"] if enforce_eager else 0)
    runtime = max(0, reserve - graphs - activation_bytes)
    return (Line("weights", weights_bytes), Line("kv-cache", kv_cache_bytes), Line("activations", activation_bytes), Line("graphs", graphs),
            Line("runtime", runtime), Line("headroom", headroom))


def gpu_available_bytes(total_bytes: int, free_bytes: int | None = None, utilization: float | None = None) -> int:
    """What vLLM may use of a GPU: utilisation x total, and never more than is free now (vllm/v1/worker/gpu_worker.py refuses to start otherwise)."""
    part = int((load_toml(TABLE)["gpu"]["gpu_memory_utilization"] if utilization is None else utilization) * total_bytes)
    return part if free_bytes is None else min(part, free_bytes)


def left_for_kv(left_bytes: int) -> str:
    """AMD's judgement of what is left for the KV cache: "comfortable", "tight" (start, and try enforce_eager if it runs out), "too-little"."""
    data = load_toml(TABLE)["gpu"]
    return "comfortable" if left_bytes >= data["comfortable_bytes"] else "tight" if left_bytes >= data["tight_bytes"] else "too-little"


def activation_bytes(config: Mapping[str, Any], *, max_num_batched_tokens: int, max_num_seqs: int, tensor_parallel_size: int = 1,
                     dtype: str | None = None) -> int | None:
    """Peak activations of one rank in vLLM's profile run, an estimate within a factor of two; None where the config does not tell the sizes.

    tokens x (4 hidden + widest MLP of a rank, routed copies included) x element, or the float32 logits of the sampler run if they are more.
    """
    data = load_toml(TABLE)["activations"]
    text = text_view(open_config(config))
    layers, hidden, vocab = decoder_layers(text), text.number("hidden_size"), text.number("vocab_size")
    if not layers or not hidden:
        return None
    routed = text.number("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_top_k", default=1)
    widest = max((mlp_elements(mlp, routed, tensor_parallel_size) for layer in layers for mlp in layer.mlps), default=hidden)
    forward = max_num_batched_tokens * (data["hidden_copies"] * hidden + widest) * DTYPE_BYTES.get(model_dtype(config, dtype), 2)
    return max(forward, data["logit_copies"] * max_num_seqs * vocab * 4)


def mlp_elements(mlp: Mlp | Experts, routed: int, tp: int) -> int:
    """Elements that one token has alive in an MLP on one rank: gate and up, what is between, and for experts every routed copy with its output."""
    width = (mlp.matrices) * share(mlp.width, tp)
    return routed * (width + mlp.hidden) if isinstance(mlp, Experts) else width
