"""What runs an engine, one module for each runtime, all with the same functions: nothing outside asks which runtime it is.

`runtime_of` gives the `Runtime` for the plan's word: docker and podman speak through their own commands, host through a
state folder and a supervisor. All of them describe what they run as `docker inspect` does.
"""
from __future__ import annotations

from importlib import import_module

from providers.runtimes.base import Runtime, Secrets

REGISTRY = {
    "docker": "providers.runtimes.docker",
    "podman": "providers.runtimes.podman",
    "host": "providers.runtimes.host",
}


def runtime_of(name: str) -> Runtime:
    """The runtime of a plan's `launch.runtime`. Raises KeyError for an unknown one."""
    return import_module(REGISTRY[name]).RUNTIME


__all__ = ["REGISTRY", "Runtime", "Secrets", "runtime_of"]
