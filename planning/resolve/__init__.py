"""Resolve: what a model is, from its files, and whether one engine can serve it.

`ModelManifest` holds facts (from a folder, the Hub, a directory on a host); `judge` says what vLLM makes of them.
Names are found in their modules when they are first asked for: who only needs a type does not load the readers.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "ChatTemplate": "manifest", "ModelManifest": "manifest", "ModelSupport": "manifest", "judge": "support", "load_model_dir": "directory",
    "manifest_from_dict": "codec", "manifest_from_files": "assemble", "manifest_to_dict": "codec",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(name)
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
