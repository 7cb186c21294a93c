"""Precisions on a gfx, and the models that come in several: what a GPU computes natively, variants, quantised siblings, estimates.

From recipes, data/gpu-overrides.json and data/instinct.toml. Nothing is looked up on the Hub here: known are the quantised
models that recipes and data name; their size is estimated from the base model's until their own manifest is read.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from planning.catalog import load_json, load_toml
from planning.families.instinct.recipe import Match, find, quantised
from planning.identity import Same
from planning.resolve import quantization
from planning.resolve.manifest import ModelManifest


def precision_of(manifest: ModelManifest, match: Match) -> str:
    """By the checkpoint itself, else by what the recipe says of it."""
    return _stored(Same(manifest), match)


@lru_cache(maxsize=1024)
def _stored(document: Same, match: Match) -> str:
    manifest: ModelManifest = document.value
    stored = quantization.read(manifest.config or {}, manifest.weight_format)
    if stored is not None:
        return stored.format or stored.method
    variant = match.record.get("variants", {}).get(match.variant, {})
    if variant and (manifest.config is None or "--quantization" in variant.get("flags", {})):
        return variant["precision"]
    return {"float16": "fp16", "float32": "fp32"}.get(str((manifest.config or {}).get("torch_dtype") or (manifest.config or {}).get("dtype")), "bf16")


def standing(gfx: str | None, precision: str) -> str:
    """How a gfx computes in a precision: native, converted, emulated, unsupported, unlisted."""
    data = load_toml("instinct.toml")["precision"].get(precision, {"word": precision})
    listed = load_json("gpu-overrides.json")["gfx"].get(gfx, {}).get("precision", {})
    for state in ("unsupported", "native", "emulated"):
        if data["word"] in listed.get(state, ()):
            return state
    if data["word"] == "fp8":
        return "native" if "fp8_ocp" in listed.get("native", ()) else "converted" if "fp8_fnuz" in listed.get("native", ()) else "unlisted"
    return "unlisted"


def native_words(gfx: str | None) -> str:
    listed = load_json("gpu-overrides.json")["gfx"].get(gfx, {}).get("precision", {})
    return " or ".join((*listed.get("native", ("bf16", "fp16")), *(f"{name} (emulated)" for name in listed.get("emulated", ()))))


def variant_lines(match: Match, gfx: str | None) -> str:
    lines = [f"variant: {name} ({match.variant_model(name)})" for name in usable_variants(match, gfx) if name != match.variant]
    return f"set {' or '.join(lines)}" if lines else "choose the model in bf16 or fp8 (model: …)"


@lru_cache(maxsize=1024)
def usable_variants(match: Match, gfx: str | None) -> tuple[str, ...]:
    """Variants that may run on a gfx, in the procedure's order: of the recipe's provider first, AMD's own last; smaller ones last within that."""
    def rank(name: str) -> tuple:
        owner = match.variant_model(name).split("/")[0].lower()
        return (owner != match.record["model"].split("/")[0].lower()) + (owner == "amd"), -bits(variants[name]["precision"])
    variants = match.record.get("variants", {})
    good = [name for name, v in variants.items() if standing(gfx, v["precision"]) != "unsupported" and v.get("brand") != "NVIDIA"
            and (not v.get("supported") or any(s.startswith("mi") for s in v["supported"]))]
    return tuple(sorted(good, key=rank))


@lru_cache(maxsize=1024)
def alternatives(match: Match, gfx: str | None) -> tuple[tuple[str, str], ...]:
    """Configuration lines that take a quantised form of the model, each with its precision, in the procedure's order.

    Variants of its recipe; quantised models of the same provider; AMD's Quark models. Known are those that recipes and
    data/instinct.toml name, as nothing is looked up on the Hub here.
    """
    variants = match.record.get("variants", {})
    lines = {match.variant_model(name).lower(): (f"variant: {name} ({match.variant_model(name)})", variants[name]["precision"])
             for name in usable_variants(match, gfx) if name != match.variant}
    owner, _, name = match.model.lower().partition("/")
    quark = [(row["model"], row["precision"]) for row in load_toml("instinct.toml")["quark"]]
    for prefix, known in ((f"{owner}/{name}-", quantised()), (f"amd/{name}-", (*quantised(), *quark))):
        for model, precision in known:
            if model.lower().startswith(prefix) and standing(gfx, precision) != "unsupported":
                lines.setdefault(model.lower(), (f"model: {model}", precision))
    return tuple(lines.values())


def bits(precision: str) -> float:
    """Bits of one weight as stored, scales included; 16 for a precision that the table does not have."""
    return load_toml("instinct.toml")["precision"].get(precision, {}).get("bits", 16.0)


@lru_cache(maxsize=1024)
def estimate(base: Same, chosen: Match) -> ModelManifest:
    """The base model's manifest as if it were stored in the variant's precision: bytes scaled by bits per weight."""
    manifest: ModelManifest = base.value
    target = chosen.record["variants"][chosen.variant]["precision"]
    ratio = bits(target) / bits(precision_of(manifest, find(manifest.id)))
    size = manifest.weights_bytes or (manifest.tensors or {}).get("total_bytes") or (manifest.parameters or 0) * 2
    scaled = int(size * ratio) or None
    config = manifest.config and {key: value for key, value in manifest.config.items() if key not in ("quantization_config", "compression_config")}
    if config is not None and target not in ("bf16", "fp16"):
        config["quantization_config"] = load_toml("instinct.toml")["precision"].get(target, {}).get("config", {"quant_method": target})
    tensors: Mapping | None = {"total_bytes": scaled, "dtypes": {}, "source": f"estimated from {manifest.id}"} if scaled else None
    return replace(manifest, id=chosen.model, revision=None, config=config, weights_bytes=scaled, tensors=tensors, parameters=None, download_bytes=scaled)
