"""Which recipe a model has: exact name, name without a date or version at its end, AMD's legacy models, else the generic one.

From data/recipes and data/gpu-overrides.json, giving a `Match`. All four kinds have one shape, so composing asks only once.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from planning.catalog import load_json

SUFFIX = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|v\d+(?:\.\d+)*)\Z")
Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Match:
    """`model`: what is served. `origin`: exact, similar, legacy, generic. `variant`: the recipe's variant that this model is, if any."""

    model: str
    record: Record
    origin: str
    variant: str | None = None

    @property
    def source(self) -> str:
        """How flags and variables of it are labelled."""
        return {"legacy": f"AMD's data for {self.record['model']}", "generic": "the generic configuration"}.get(self.origin, f"recipe {self.record['model']}")

    def variant_model(self, variant: str) -> str:
        """The Hub model of a variant."""
        return self.record["variants"][variant].get("model") or self.record["model"]


@lru_cache(maxsize=1024)
def find(model: str) -> Match:
    """The recipe of a Hub model (or of a directory: the generic one)."""
    name = model.lower()
    if name in _index("models"):
        record = _index("models")[name]
        return Match(model, record, "exact", _own_variant(record, record["model"]))
    if name in _index("variants"):
        record, variant = _index("variants")[name]
        return Match(model, record, "exact", variant)
    if base(name) in _index("models"):
        record = _index("models")[base(name)]
        return Match(model, record, "similar", _own_variant(record, record["model"]))
    overrides = load_json("gpu-overrides.json")
    legacy = next((entry for entry in overrides["legacy_models"] if entry["model"].lower() == name), None)
    return Match(model, legacy or overrides["generic"], "legacy" if legacy else "generic")


@lru_cache(maxsize=1024)
def with_variant(match: Match, variant: str) -> Match:
    """The same recipe for another of its variants; the model is the variant's."""
    return Match(match.variant_model(variant), match.record, match.origin, variant)


def base(model: str) -> str:
    """`moonshotai/kimi-k2-instruct-0905` -> `moonshotai/kimi-k2-instruct`: a date or a version at the end is left out."""
    return SUFFIX.sub("", model)


def provenance() -> Mapping[str, Any]:
    """Where the recipes are from: repository, commit, date."""
    return load_json("recipes/index.json")["source"]


def records() -> tuple[Record, ...]:
    """All recipes."""
    return tuple(record for provider in load_json("recipes/index.json")["providers"] for record in load_json(f"recipes/{provider}.json"))


@lru_cache(maxsize=1)
def quantised() -> tuple[tuple[str, str], ...]:
    """Quantised Hub models that recipes name as variants, with their precision."""
    return tuple((variant["model"], variant["precision"]) for record in records() for variant in record["variants"].values()
                 if "model" in variant and variant["precision"] not in ("bf16", "fp16"))


def _own_variant(record: Record, model: str) -> str | None:
    """The variant whose weights are those of `model`: the default one if it is, else the first."""
    variants = record["variants"]
    same = [name for name, variant in variants.items() if (variant.get("model") or record["model"]) == model]
    return "default" if "default" in same else next(iter(same), None)


@cache
def _index(kind: str) -> Mapping[str, Any]:
    """Lower-case model id -> record (models), or (record, variant) (variants)."""
    if kind == "models":
        return {record["model"].lower(): record for record in records()}
    return {variant["model"].lower(): (record, name) for record in records() for name, variant in reversed(record["variants"].items())
            if "model" in variant}
