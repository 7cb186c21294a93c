"""The registry of accelerator families: configuration's `kind` -> the module that holds its `FAMILY`. One line each."""
from __future__ import annotations

from importlib import import_module

from planning.families.base import Family

REGISTRY = {
    "epyc": "planning.families.epyc",
    "instinct": "planning.families.instinct",
}


def family_of(kind: str) -> Family:
    """The family of a `kind`; its module is imported when it is first asked for. Raises KeyError for an unknown kind."""
    return import_module(REGISTRY[kind]).FAMILY
