"""The contract of an accelerator family: a frozen record of functions that `planning.pipeline` calls in one order.

A family is one module (or package) below `planning/families/` and one line in its `__init__`; nothing outside it asks
which family it is. Every function is pure, takes a `Case` (and what earlier steps made) and returns its value and notes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from planning.detect.facts import HostFacts, HostSurvey
from planning.errors import Notes
from planning.plan import Engine, HealthSpec, LaunchSpec, MemoryReport, Placement
from planning.request import EndpointRequest
from planning.resolve.manifest import ModelManifest, ModelSupport


@dataclass(frozen=True)
class Claims:
    """What endpoints planned earlier on the same host hold, of all families. Bytes by NUMA node and by GPU index."""

    cpus: frozenset[int] = frozenset()
    gpus: frozenset[int] = frozenset()
    ports: frozenset[int] = frozenset()
    node_bytes: Mapping[int, int] = field(default_factory=dict)

    @staticmethod
    def total(parts: Iterable[Claims]) -> Claims:
        """All claims together: sets are united, bytes of a node are added up."""
        parts, held = tuple(parts), {}
        for part in parts:
            for node, size in part.node_bytes.items():
                held[node] = held.get(node, 0) + size
        return Claims(frozenset().union(*(p.cpus for p in parts)), frozenset().union(*(p.gpus for p in parts)),
                      frozenset().union(*(p.ports for p in parts)), held)


@dataclass(frozen=True)
class Case:
    """All that is known when one endpoint is planned. `previous`: its own placement so far, kept while it is valid."""

    stack: str
    request: EndpointRequest
    facts: HostFacts
    survey: HostSurvey
    manifest: ModelManifest
    claims: Claims = Claims()
    previous: Mapping[str, Any] | None = None   # the document of its last plan
    name: str = "endpoint"
    has_api_key: bool = False                   # whether, never which
    local: bool = False                         # the host is the machine that plans
    advertise_address: str | None = None        # where readers reach the host, if not at the address we bind to
    own_port: int | None = None                 # the port it has already
    generation: int = 0                         # of its container, carried over from the last plan
    owner: str = ""                             # of the state that the stack is in; "" where there is none
    absent: frozenset[str] = frozenset()        # paths that the configuration names and the host does not have

    @property
    def container_name(self) -> str:
        return f"vllm-{self.stack}-{self.name}"


@dataclass(frozen=True)
class Choice:
    """The result of fit and place together: where it goes and what it needs there."""

    placement: Placement
    memory: MemoryReport | None
    tuning: Mapping[str, Any] = field(default_factory=dict)   # family-private values that launch needs (kv_cache_gib …)


@dataclass(frozen=True)
class Family:
    """`kind` is the configuration's word (epyc, instinct), `device` vLLM's (cpu, rocm)."""

    kind: str
    device: str
    model_of: Callable[[EndpointRequest], str]     # which model's manifest a request needs: its own, a variant's, or the default
    engine: Callable[[Case], tuple[Engine | None, Mapping[str, Any] | None, Notes]]        # gates; image; recipe record
    choose: Callable[[Case, Engine, ModelSupport], tuple[Choice | None, Notes]]           # fit + place
    launch: Callable[[Case, Engine, ModelSupport, Choice, int, str], tuple[LaunchSpec, Notes]]   # …, port, bind address
    health: Callable[[Case, Engine, ModelSupport, Choice], HealthSpec]
    summary: Callable[[Case, Engine | None, ModelSupport | None, Choice | None], tuple[tuple[str, str], ...]]
    suggestions: Callable[[Case, Notes], Iterable[tuple[Mapping[str, Any], str]]]         # candidates; the pipeline tries them
    claims: Callable[[Choice], Claims]                                                     # what a fitting endpoint holds
    judge_stack: Callable[[Mapping[str, Any], Mapping[str, Any] | None], Notes]           # plan's document, stack read (None: unknown)


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is loaded when it is first called, or by its `load`: who only asks which model it is loads no planner."""
    def call(*given: Any) -> Any:
        return getattr(import_module(module), name)(*given)
    call.load = lambda: import_module(module)
    return call
