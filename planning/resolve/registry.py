"""What one vLLM version can build: its architectures, from tables that tools/sync-registry generated (data/registry/)."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from planning import catalog
from planning.errors import Warn

_TABLES = "registry"


@dataclass(frozen=True)
class Kind:
    """`architecture` as vLLM names it in its log; `task`: generate, pooling, transcription, draft; `how`: registered, converted, wrapped."""

    architecture: str
    task: str
    multimodal: bool
    how: str = "registered"


@dataclass(frozen=True)
class Registry:
    """The table of `vllm_version`, which may be lower than the one that was asked for (`warning` says so)."""

    vllm_version: str
    table: dict[str, Any]
    transformers: dict[str, Any]
    warning: Warn | None = None

    def kind(self, architecture: str) -> Kind | None:
        value = self.table["architectures"].get(architecture)
        if value is None:
            return None
        task, _, extra = value.partition("+")
        return Kind(architecture, task, extra == "mm")

    def converted(self, architecture: str) -> Kind | None:
        """A head that vLLM puts on a registered model by the end of the name: LlamaForSequenceClassification on LlamaForCausalLM."""
        suffix = next((s for s in self.table["suffixes"] if architecture.endswith(s[0])), None)
        if suffix is None or suffix[1] != "pooling":
            return None
        for other in self.table["suffixes"]:
            base = self.kind(architecture.removesuffix(suffix[0]) + other[0])
            if base is not None and base.task in ("generate", "pooling"):
                return Kind(architecture, "pooling", base.multimodal, "converted")
        return None

    def wrapped(self, architecture: str, *, nested: bool, experts: bool) -> Kind | None:
        """vLLM's Transformers backend takes classes that Transformers marks as compatible."""
        if architecture not in self.transformers["wrappable"]:
            return None
        name = "Transformers" + ("MultiModal" if nested else "") + ("MoE" if experts else "") + "ForCausalLM"
        return Kind(name, "generate", nested, "wrapped")

    def knows_model_type(self, model_type: str) -> bool:
        """Whether config.json can be read without code from the repository."""
        return model_type in self.table["config_model_types"] or model_type in self.transformers["model_types"]

    def length_defaults(self, model_type: str) -> dict[str, int]:
        """Lengths that the config class fills in where config.json says nothing (tokens)."""
        own = self.table["length_defaults"].get(model_type)
        return own or self.transformers["length_defaults"].get(model_type) or {}


def version_key(version: str) -> tuple[int, ...]:
    """'0.25.1', 'v0.25.1', '0.25.1+cpu', '0.26.0rc1' -> the numbers of the release, comparable. () when there is none."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version.strip())
    return tuple(int(p) for p in match.group(1).split(".")) if match else ()


@cache
def versions() -> tuple[str, ...]:
    """The vLLM versions that have a table, lowest first."""
    names = [p.stem for p in (catalog.DATA / _TABLES).glob("*.json")]
    return tuple(sorted((n for n in names if version_key(n)), key=version_key))


@cache
def for_version(version: str) -> Registry:
    """The table of `version`, else of the nearest lower version, else of the lowest one; the last two with a warning."""
    wanted, known = version_key(version), versions()
    lower = [v for v in known if version_key(v) <= wanted]
    chosen = lower[-1] if lower else known[0]
    warning = None
    if version_key(chosen) != wanted:
        side = "the nearest lower one" if lower else "the lowest one there is"
        warning = Warn("vllm-version-unknown", f"No table of architectures for vLLM {version}: judged with {chosen}, {side}; "
                                               "tools/sync-registry makes one from a source tree")
    return Registry(chosen, catalog.load_json(f"{_TABLES}/{chosen}.json"), catalog.load_json(f"{_TABLES}/transformers.json"), warning)


def newer_with(architecture: str, version: str) -> str | None:
    """The lowest version above `version` whose table has the architecture."""
    above = [v for v in versions() if version_key(v) > version_key(version)]
    return next((v for v in above if for_version(v).kind(architecture)), None)


def older_with(architecture: str, version: str) -> str | None:
    """The highest version below `version` whose table has the architecture."""
    below = [v for v in versions() if version_key(v) < version_key(version)]
    return next((v for v in reversed(below) if for_version(v).kind(architecture)), None)


def first_with_cpu_attention(kind: str) -> str | None:
    """The lowest version with a table whose CPU platform has a backend for `kind` (mla, sparse)."""
    return next((v for v in versions() if for_version(v).table["cpu_attention"][kind]), None)


def default_version(device: str) -> str:
    """The vLLM of the image that a family takes when nobody says another: data/epyc.toml, data/instinct.toml."""
    if device == "rocm":
        return str(catalog.load_toml("instinct.toml")["image"]["vllm_version"])
    return str(catalog.load_toml("epyc.toml")["zentorch"]["vllm_version"])


def platforms() -> dict[str, Any]:
    """Facts about platforms that no table of one version holds: data/registry/platforms.json."""
    return catalog.load_json(f"{_TABLES}/platforms.json")
