"""View: one section of a model's config.json, read as Transformers reads it.

A key that is absent has the default of its config class (data/config-defaults.json, generated from Transformers), a key may be stored
under the class's own name (`n_embd` for `hidden_size`), and an explicit null is no value at all: it never falls back to the default.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planning.catalog import load_json, load_toml

DEFAULTS = "config-defaults.json"
TEXT_SECTIONS = ("thinker_config", "text_config", "llm_config", "language_config", "decoder_config", "text_model_config")
MOST = 1e12          # more than any size in a config; larger ones, infinities and NaN are no numbers here
_MISSING = object()


def class_entry(model_type: str | None) -> Mapping[str, Any]:
    """{"d": defaults, "am": attribute map, "sub": {section: model type}} of a model type; empty for one that Transformers does not have."""
    table = load_json(DEFAULTS)
    name = load_toml("vllm-capacity.toml")["same_config"].get(model_type or "", model_type)
    return table.get(name or "", {})


def synonyms(key: str) -> tuple[str, ...]:
    """Names that configs without a class in Transformers use for the same thing."""
    return tuple(load_toml("vllm-capacity.toml")["synonyms"].get(key, ()))


@dataclass(frozen=True)
class View:
    """`raw`: the section as published. `model_type` decides defaults and names. `root`: the whole config.json."""

    raw: Mapping[str, Any] = field(repr=False)
    model_type: str
    root: Mapping[str, Any] = field(repr=False)
    _found: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)   # each layer asks for the same keys

    def __contains__(self, key: str) -> bool:
        return self._find(key) is not _MISSING

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, its class default, or `default` where there is neither (or an explicit null)."""
        value = self._find(key)
        return default if value is _MISSING or value is None else value

    def number(self, *keys: str, default: int = 0) -> int:
        """The first of several keys that holds a number; a list of numbers counts as its first (Ernie's experts)."""
        for key in keys:
            value = self.get(key)
            if isinstance(value, list) and value and isinstance(value[0], (int, float)):
                value = value[0]
            if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MOST:
                return int(value)
        return default

    def real(self, key: str, default: float) -> float:
        """The number under a key, `default` for anything else (and for zero)."""
        value = self.get(key)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < abs(value) < MOST else default

    def listed(self, key: str) -> tuple[Any, ...]:
        """The entries of a published list, () for anything else."""
        value = self.raw.get(key)
        return tuple(value) if isinstance(value, list) else ()

    @property
    def architectures(self) -> tuple[str, ...]:
        """Names of the architectures, () where there are none."""
        return tuple(name for name in self.listed("architectures") if isinstance(name, str))

    def _find(self, key: str) -> Any:
        if key not in self._found:
            self._found[key] = self._look_up(key)
        return self._found[key]

    def _look_up(self, key: str) -> Any:
        entry = class_entry(self.model_type)
        names = (key, entry.get("am", {}).get(key, key), *synonyms(key))
        for name in names:
            if name in self.raw:
                return self.raw[name]
        defaults = entry.get("d", {})
        return next((defaults[name] for name in names if name in defaults), _MISSING)

    def section(self, *names: str) -> View | None:
        """A nested section (`vision_config`), with the class that Transformers gives it; None where the model has none."""
        subs = class_entry(self.model_type).get("sub", {})
        for name in names:
            raw = self.raw.get(name)
            if isinstance(raw, Mapping):
                return View(raw, str(raw.get("model_type") or subs.get(name) or ""), self.root)
            if name not in self.raw and name in subs:
                return View({}, subs[name], self.root)
        return None


def open_config(config: Mapping[str, Any]) -> View:
    """The root section of a parsed config.json."""
    return View(config, str(config.get("model_type") or ""), config)


def text_view(root: View) -> View:
    """The section of the language model: nested, or the root itself (flat configs of older Qwen2-VL take the text class of theirs)."""
    view = root
    for name in TEXT_SECTIONS:
        nested = view.section(name)
        if nested is None:
            continue
        if not nested.raw and view.raw.get("hidden_size"):
            return View(view.raw, nested.model_type, root.root)
        view = nested
    return view
