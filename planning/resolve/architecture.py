"""Which architecture vLLM uses for a config, and what kind of endpoint that gives; or why it uses none.

The order is vLLM's (model_executor/models/registry.py): a registered name, a class of Transformers that its backend can wrap,
a head put on a registered model by the end of the name. config.json must be readable first, which may need code from the repository.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planning.errors import Notes, Refusal, Warn
from planning.resolve import hf_config
from planning.resolve import registry as registries
from planning.resolve.registry import Kind, Registry


@dataclass(frozen=True)
class Found:
    """`kind` None: not one that this vLLM builds; `notes` say why. `asked`: the name in config.json."""

    kind: Kind | None
    asked: str | None
    notes: Notes = Notes()
    engine_args: tuple[str, ...] = ()


def find(model: str, config: Mapping[str, Any], registry: Registry, *, trust_remote_code: bool) -> Found:
    """The architecture for `config`. Refusals: architecture-unsupported, vllm-too-old, needs-consent."""
    names = hf_config.architectures(config)
    if not names:
        return _unnamed(model, config, registry)
    kind = next((k for n in names if (k := _lookup(n, config, registry))), None)
    if kind is None:
        own_code = bool(hf_config.remote_code(config).get("AutoModelForCausalLM") or hf_config.remote_code(config).get("AutoModel"))
        gone = any(n in registry.table["removed"] or n in registry.table["plugins"] for n in names)
        if own_code and trust_remote_code and not gone:
            return Found(None, names[0], Notes.of(Warn("support-unknown", f"{model}: {names[0]} is code of its repository; whether vLLM "
                                                                          f"{registry.vllm_version} can wrap it shows at start-up")))
        return Found(None, names[0], Notes.of(_unsupported(model, names[0], registry)))
    return Found(kind, names[0], Notes.of(_readable(model, config, registry, trust_remote_code)))


def _lookup(name: str, config: Mapping[str, Any], registry: Registry) -> Kind | None:
    known = registry.kind(name)
    if known is None and not config.get("is_encoder_decoder"):     # the backend wraps decoders only
        known = registry.wrapped(name, nested=hf_config.is_nested(config), experts=bool(hf_config.experts(config)))
    return known or registry.converted(name)


def _readable(model: str, config: Mapping[str, Any], registry: Registry, trust_remote_code: bool) -> Refusal | None:
    """A `model_type` that neither vLLM nor Transformers knows needs the repository's configuration class."""
    model_type = hf_config.text(config, "model_type")
    if model_type is None or registry.knows_model_type(model_type):
        return None
    if not hf_config.remote_code(config).get("AutoConfig"):
        return Refusal("architecture-unsupported", f"{model}: vLLM {registry.vllm_version} cannot read its config.json",
                       f"model_type {model_type}, and no code for it in the repository (auto_map)",
                       "a model_type that Transformers or vLLM knows", _alternative())
    if trust_remote_code:
        return None
    return needs_code(model, f"model_type {model_type}, whose configuration class is code in the repository")


def needs_code(model: str, found: str) -> Refusal:
    """The refusal for a model that brings code which runs on the host."""
    return Refusal("needs-consent", f"{model} needs code from its repository, which would run on your host", found,
                   "trustRemoteCode: true", "read the Python files of the repository, pin `revision`, then set trustRemoteCode: true")


def _unsupported(model: str, name: str, registry: Registry) -> Refusal:
    what = f"{model}: vLLM {registry.vllm_version} has no architecture {name}"
    plugin = registry.table["plugins"].get(name)
    last = registry.table["removed"].get(name) or registries.older_with(name, registry.vllm_version)
    newer = registries.newer_with(name, registry.vllm_version)
    needed = "an architecture of its registry"
    if newer:
        return Refusal("vllm-too-old", what, f"vLLM {registry.vllm_version}", f"a newer vLLM, for example {newer}",
                       f"set `image` to one with vLLM {newer} or newer, or {_alternative()}")
    if last:
        return Refusal("architecture-unsupported", what, f"{name}, which was removed after vLLM {last}", needed,
                       f"set `image` to one with vLLM {last}, or {_alternative()}")
    if plugin:
        return Refusal("architecture-unsupported", what, f"{name}, which needs the plugin {plugin}", needed,
                       f"use an image that has the plugin, or {_alternative()}")
    return Refusal("architecture-unsupported", what, name, needed, _alternative())


def _alternative() -> str:
    return f"choose a model that it serves, for example {registries.platforms()['alternatives']['generate']}"


def _unnamed(model: str, config: Mapping[str, Any], registry: Registry) -> Found:
    """config.json names no architecture: vLLM would take Transformers' base class and start a pooling model, unless it is told better."""
    model_type = hf_config.text(config, "model_type")
    endings = ("ForConditionalGeneration", "ForCausalLM") if hf_config.is_nested(config) else ("ForCausalLM", "ForConditionalGeneration")
    key = re.sub(r"[^a-z0-9]", "", (model_type or "").lower())
    for ending in endings:
        for name in registry.table["architectures"]:
            kind = registry.kind(name)
            if key and kind and name.endswith(ending) and re.sub(r"[^a-z0-9]", "", name.removesuffix(ending).lower()) == key:
                said = Warn("architecture-unnamed", f"{model}: config.json names no architecture; vLLM is told {name} (--hf-overrides), "
                                                    "without that it would start it as a pooling model")
                return Found(kind, name, Notes.of(said), ("--hf-overrides", f'{{"architectures": ["{name}"]}}'))
    return Found(None, None, Notes.of(Refusal(
        "architecture-unsupported", f"{model}: config.json names no architecture", f"model_type {model_type or 'absent'}, architectures absent",
        f"an architecture of vLLM {registry.vllm_version}", _alternative())))
