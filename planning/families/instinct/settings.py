"""The settings of one endpoint before anything is placed: what data says (layers.py), and what the user configures on top.

Fit reads block size, KV cache type and utilisation from here, launch renders all of it: both see the same values.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.arguments import options
from planning.detect.facts import GpuDevice
from planning.errors import Warn
from planning.families.base import Case
from planning.families.instinct.flags import Value, parse
from planning.families.instinct.gpus import hardware_of
from planning.families.instinct.layers import Composed, Layer, Target, compose, merge
from planning.families.instinct.model import Wanted
from planning.launch import on_host
from planning.plan import Engine
from planning.resolve import hf_config
from planning.resolve.registry import for_version
from planning.resolve.support import uses_mla

KEYS = {"max_model_len": "--max-model-len", "max_num_seqs": "--max-num-seqs", "max_num_batched_tokens": "--max-num-batched-tokens",
        "block_size": "--block-size", "dtype": "--dtype", "kv_cache_dtype": "--kv-cache-dtype", "quantization": "--quantization",
        "gpu_memory_utilization": "--gpu-memory-utilization"}


def settings(case: Case, model: Wanted, engine: Engine, gpu: GpuDevice, several: bool = False) -> Composed:
    """All options and variables so far, each with its source."""
    config, request = model.manifest.config, case.request
    mla = config is not None and uses_mla(config, for_version(engine.vllm_version)) and not _recurrent(config)
    target = Target(gpu.gfx or "", hardware_of(gpu), engine.vllm_version, request.features, model.moe, mla, several)
    data = compose(model.match, target)
    own = merge((Layer("configuration", _keys(case), request.env), Layer("extraArgs", parse(request.extra_args))))
    flags = {name: value for name, value in {**data.flags, **own.flags}.items() if value != "none" or name != "--quantization"}
    return Composed(flags, {**data.env, **own.env}, {**data.source, **own.source}, data.left_out)


def _keys(case: Case) -> Mapping[str, Value]:
    request = case.request
    flags: dict[str, Value] = {flag: str(value) for key, flag in KEYS.items() if (value := getattr(request, key)) is not None}
    if request.enforce_eager:
        flags["--enforce-eager"] = True
    if request.chat_template:
        flags["--chat-template"] = on_host(case, request.chat_template)
    if request.trust_remote_code and case.manifest.has_remote_code:
        flags["--trust-remote-code"] = True
    return flags


def _recurrent(config: Mapping[str, Any]) -> bool:
    """Linear attention beside MLA (Kimi-Linear): vLLM sizes the blocks by the state, so none is forced."""
    return any(key in part for part in (config, hf_config.text_part(config)) for key in ("linear_attn_config", "layers_block_type"))


def left_out(case: Case, composed: Composed) -> Warn | None:
    """What the recipe has and this image cannot do."""
    why: dict[str, list[str]] = {}
    for name, reason in composed.left_out.items():
        if reason.startswith(("vLLM", "it needs")):
            why.setdefault(reason, []).append(name)
    text = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in why.items())
    return Warn("option-left-out", f"{case.name}: settings of the recipe are left out: {text}") if text else None


def utilization(composed: Composed) -> float:
    """Share of a GPU's VRAM that vLLM may use."""
    return float(composed.flags["--gpu-memory-utilization"])


def user_options(case: Case) -> frozenset[str]:
    """Options that stand in `extraArgs`."""
    return frozenset(options(case.request.extra_args))
