"""What a recipe sets, composed: layers of options and variables laid over each other in one order; the later one wins.

    amd-vllm's default < AMD's data for the gfx < recipe < its variant < recipe on AMD < recipe on this GPU < variant on AMD
    < variant on this GPU < features < AMD's override for the model < AMD's mandatory variables < rules (MLA, MoE)

What the plan decides (tensor parallel size, context, devices) and what the user configures come on top, in launch.py.
Every option and variable remembers the layer that set it.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from planning.catalog import load_json, load_toml
from planning.families.instinct.flags import Flags
from planning.families.instinct.recipe import Match
from planning.resolve.registry import version_key


@dataclass(frozen=True)
class Layer:
    """One source of settings. `source` is what the preview shows."""

    source: str
    flags: Flags = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Composed:
    """The settings that won, and who set each. `left_out`: name -> why a setting of the recipe is not taken over."""

    flags: Flags
    env: Mapping[str, str]
    source: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """What composing depends on beside the recipe. `several`: more than one GPU; `features` None: the default ones."""

    gfx: str
    hardware: str | None
    vllm_version: str
    features: tuple[str, ...] | None = None
    moe: bool = False
    mla: bool = False
    several: bool = False


def merge(layers: Iterable[Layer]) -> Composed:
    """Lay the layers over each other, in their order."""
    flags, env, source = {}, {}, {}
    for layer in layers:
        flags.update(layer.flags)
        env.update(layer.env)
        source.update(dict.fromkeys((*layer.flags, *layer.env), layer.source))
    return Composed(flags, env, source)


@lru_cache(maxsize=4096)
def compose(match: Match, target: Target) -> Composed:
    """Everything that data says about this model on this GPU. `match` counts by identity: `recipe.find` caches it."""
    layers = (*_recipe_layers(match, target), *_gfx_rules(match, target))
    kept, left_out = _taken_over(layers, target)
    composed = merge((*kept, *_rules(merge(kept).flags, target)))
    return Composed(_tools_together(_in_image(composed.flags)), composed.env, composed.source, left_out)


def _recipe_layers(match: Match, target: Target) -> Iterable[Layer]:
    record, source = match.record, match.source
    variant = record.get("variants", {}).get(match.variant, {})
    named = f"{source}, variant {match.variant}"
    overrides = load_json("gpu-overrides.json")["gfx"].get(target.gfx, {})
    yield Layer("amd-vllm's default", {"--gpu-memory-utilization": str(load_toml("memory-budget.toml")["gpu"]["gpu_memory_utilization"])})
    yield Layer(f"AMD's data for {target.gfx}", {}, overrides.get("env", {}))
    yield _layer(source, record)
    yield _layer(named, variant)
    yield from _on_hardware(source, record, target)
    yield from _on_hardware(named, variant, target)
    for name in chosen_features(match, target):
        yield from _feature(f"{source}, {name}", record["features"][name], variant.get("modes", {}).get(name), target)


def chosen_features(match: Match, target: Target) -> tuple[str, ...]:
    """Features of the recipe that are on: those asked for, else tool calling and reasoning."""
    wanted = load_toml("instinct.toml")["compose"]["default_features"] if target.features is None else target.features
    return tuple(name for name in wanted if name in match.record.get("features", {}))


def _feature(source: str, feature: Mapping[str, Any], wanted_mode: str | None, target: Target) -> Iterable[Layer]:
    mode = feature.get("modes", {}).get(wanted_mode or feature.get("default_mode"), {})
    for part in (feature, mode):
        yield _layer(source, part)
        yield from _on_hardware(source, part, target)


def _on_hardware(source: str, part: Mapping[str, Any], target: Target) -> Iterable[Layer]:
    for name in ("amd", target.hardware):
        if name in part.get("hardware", {}):
            yield _layer(f"{source} on {name}", part["hardware"][name])


def _layer(source: str, part: Mapping[str, Any]) -> Layer:
    return Layer(source, part.get("flags", {}), part.get("env", {}))


def _gfx_rules(match: Match, target: Target) -> Iterable[Layer]:
    """AMD's corrections for one model on one gfx, and what the gfx must have, whatever a recipe says."""
    config = load_json("gpu-overrides.json")["gfx"].get(target.gfx, {})
    for override in config.get("model_overrides", ()):
        if match.model.lower().startswith(override["match"].lower()):
            yield Layer(f"AMD's override for {override['match']} on {target.gfx}", {}, override["env"])
    yield Layer(f"AMD's workaround for {target.gfx}", {}, config.get("mandatory_env", {}))


def _rules(flags: Flags, target: Target) -> Iterable[Layer]:
    """MLA wants blocks of one token where nothing else is set; MoE on several GPUs the multiprocessing executor."""
    rules = load_toml("instinct.toml")["compose"]
    if target.mla and "--block-size" not in flags:
        yield Layer("AMD's rule for MLA models", {"--block-size": rules["mla_block_size"]})
    if target.moe and target.several and "--distributed-executor-backend" not in flags:
        yield Layer("AMD's rule for MoE models on several GPUs", {"--distributed-executor-backend": rules["moe_executor"]})


def _taken_over(layers: Iterable[Layer], target: Target) -> tuple[list[Layer], dict[str, str]]:
    """The layers without what is never taken over, what this vLLM does not know, and parser plugins that the image lacks."""
    data, left_out, kept = load_toml("instinct.toml"), {}, []
    gone = {row["name"]: f"vLLM has not known it since {row['since']} at the latest" for row in data["removed"]
            if version_key(row["since"]) <= version_key(target.vllm_version)}
    for layer in layers:
        plugin = next((name for name in data["plugins"]["options"] if name in layer.flags), None)
        reasons = {**gone, **data["not_taken"]}
        if plugin:
            reasons.update(dict.fromkeys(layer.flags, f"it needs the file {layer.flags[plugin]}, which is not in the image"))
        left_out.update({name: why for name, why in reasons.items() if name in layer.flags or name in layer.env})
        kept.append(Layer(layer.source, _without(layer.flags, reasons), _without(layer.env, reasons)))
    return kept, left_out


def _without(values: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    return {name: value for name, value in values.items() if name not in names} if names.keys() & values.keys() else values


def _in_image(flags: Flags) -> Flags:
    """Chat templates that a recipe names in vLLM's source tree are at another place in the image."""
    template = flags.get("--chat-template")
    if not isinstance(template, str) or not template.startswith("examples/"):
        return flags
    return {**flags, "--chat-template": f"{load_toml('instinct.toml')['image']['examples']}/{template.removeprefix('examples/')}"}


def _tools_together(flags: Flags) -> Flags:
    """vLLM takes --enable-auto-tool-choice only together with --tool-call-parser: both or neither."""
    if "--tool-call-parser" in flags:
        return {**flags, "--enable-auto-tool-choice": True}
    return {name: value for name, value in flags.items() if name != "--enable-auto-tool-choice"}
