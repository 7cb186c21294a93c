"""What we read of a recipe of vllm-project/recipes, as pydantic models, and the facts that we keep of it (tools/sync-recipes).

From one parsed YAML document, giving one plain mapping for data/recipes/: only what an AMD Instinct endpoint needs; no prose.
Not imported when an endpoint is planned.
"""
from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from planning.families.instinct.flags import parse

HARDWARE = ("amd", "mi300x", "mi325x", "mi350x", "mi355x", "mi300a")   # recipes' words for what may be an Instinct
Scalar = str | int | float | bool


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Settings(_Read):
    """Arguments and variables, under the two spellings that recipes have for them."""

    args: tuple[Scalar, ...] = ()
    extra_args: tuple[Scalar, ...] = ()
    extra_env: dict[str, Scalar] | None = None
    docker_image: str | None = None


class Mode(Settings):
    variants: tuple[str, ...] = ()
    hardware_overrides: dict[str, Settings] = {}


class Feature(Mode):
    default_mode: str | None = None
    modes: dict[str, Mode] = {}


class Variant(Settings):
    precision: str
    vram_minimum_gb: float
    model_id: str | None = None
    min_vllm_version: str | None = None
    tp: int | dict[str, int] | None = None
    supported_hardware: tuple[str, ...] | None = None
    precision_hardware: dict[str, str] = {}
    default_modes: dict[str, str] = {}
    hardware_overrides: dict[str, Settings] = {}


class Model(_Read):
    model_id: str
    min_vllm_version: str
    architecture: str
    parameter_count: str
    context_length: int | None = None
    base_args: tuple[Scalar, ...]
    base_env: dict[str, Scalar] = {}
    docker_image: str | dict[str, Any] | None = None
    nightly_required: bool = False


class Meta(_Read):
    date_updated: date
    tasks: tuple[str, ...]
    hardware: dict[str, str] = {}


class Recipe(_Read):
    """One file of the recipes, as far as we read it."""

    meta: Meta
    model: Model
    features: dict[str, Feature] | None = None
    variants: dict[str, Variant] = Field(min_length=1)
    hardware_overrides: dict[str, Settings] | None = None
    strategy_overrides: dict[str, Any] | None = None
    omni: dict[str, Any] | None = None


def facts(document: Any) -> dict[str, Any]:
    """The record of one recipe. Raises pydantic.ValidationError when the document does not fit the schema."""
    recipe = Recipe.model_validate(document)
    model = recipe.model
    return _kept({
        "model": model.model_id, "updated": recipe.meta.date_updated.isoformat(), "tasks": list(recipe.meta.tasks),
        "omni": recipe.omni is not None or "omni" in recipe.meta.tasks, "nightly": model.nightly_required,
        "min_vllm_version": model.min_vllm_version, "architecture": model.architecture, "parameters": model.parameter_count,
        "context_length": model.context_length, "image": _image(model.docker_image), "tp": _tp((recipe.strategy_overrides or {}).get("single_node_tp")),
        "flags": parse(model.base_args), "env": _texts(model.base_env), "hardware": _hardware(recipe.hardware_overrides),
        "tested": {name: state for name, state in recipe.meta.hardware.items() if name in HARDWARE},
        "features": {name: _feature(feature) for name, feature in (recipe.features or {}).items()},
        "variants": {name: _variant(variant) for name, variant in recipe.variants.items()},
    })


def _settings(settings: Settings) -> dict[str, Any]:
    return _kept({"flags": parse((*settings.args, *settings.extra_args)), "env": _texts(settings.extra_env), "image": _image(settings.docker_image)})


def _hardware(overrides: Mapping[str, Settings] | None) -> dict[str, Any]:
    return _kept({name: _settings(settings) for name, settings in (overrides or {}).items() if name in HARDWARE})


def _mode(mode: Mode) -> dict[str, Any]:
    return {**_settings(mode), **_kept({"hardware": _hardware(mode.hardware_overrides), "variants": list(mode.variants)})}


def _feature(feature: Feature) -> dict[str, Any]:
    return {**_mode(feature), **_kept({"default_mode": feature.default_mode, "modes": {name: _mode(mode) for name, mode in feature.modes.items()}})}


def _variant(variant: Variant) -> dict[str, Any]:
    return {"precision": variant.precision, "vram_minimum_gb": variant.vram_minimum_gb, **_settings(variant), **_kept({
        "model": variant.model_id, "min_vllm_version": variant.min_vllm_version, "tp": _tp({"tp": variant.tp}),
        "supported": list(variant.supported_hardware or ()), "brand": variant.precision_hardware.get("brand"),
        "modes": variant.default_modes, "hardware": _hardware(variant.hardware_overrides)})}


def _image(image: str | Mapping[str, Any] | None) -> str | None:
    """The image for AMD: the entry `amd`, or the one image for all. `docker pull X` is X."""
    chosen = image.get("amd") if isinstance(image, Mapping) else image
    return chosen.split()[-1] if isinstance(chosen, str) else None


def _tp(strategy: Mapping[str, Any] | None) -> Any:
    value = (strategy or {}).get("tp")
    return {name: tp for name, tp in value.items() if name in HARDWARE} if isinstance(value, Mapping) else value


def _texts(env: Mapping[str, Scalar] | None) -> dict[str, str]:
    return {name: str(value) for name, value in (env or {}).items()}


def _kept(record: dict[str, Any]) -> dict[str, Any]:
    """Without what is empty, absent or false."""
    return {key: value for key, value in record.items() if value not in (None, False, "", [], {})}
