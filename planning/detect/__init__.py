"""Detection: what a host is, from what its commands printed. `read_host` is the entry; docs/detection.md tells the rules.

Names are found in their modules when they are first asked for: who only needs a type does not load the parsers.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "document": "documents", "facts_from_dict": "codec", "facts_to_dict": "codec", "load_recording": "recording", "probes": "probes",
    "read_host": "read", "summary": "one_line", "survey_from_dict": "codec", "survey_to_dict": "codec",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(name)
    module = import_module(f"{__name__}.{_MODULES[name]}")
    found = globals()[name] = module if name == "probes" else getattr(module, name)
    return found
