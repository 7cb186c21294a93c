"""`HostProbe`: the facts of one host, read at preview time. `read` shows drift of the hardware.

Inputs: `name` and the host's connection keys. Found by `check`: `facts` (packed, empty if it could not be read),
`summary` (one line), `warnings` and `problem` (why there are no facts; empty values stand for none, as the engine
drops None and takes it for unknown). A host that cannot be read is a value, not an error.
"""
from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import pulumi
from pulumi.dynamic import CheckResult, ReadResult, Resource

from planning.detect.facts import HostFacts
from planning.errors import printable
from providers import run
from providers.base import StepProvider, checked, refreshed, unknown
from providers.model_manifest import read_ahead
from providers.packed import packed, unpacked
from providers.transport.address import Target

MOST_CHANGES = 10


class HostProbeProvider(StepProvider):
    packed = ("facts",)
    compared = ("facts", "problem", "address", "identity_file", "known_hosts", "accept_new_host_key")

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        if unknown(news):
            return checked(news, facts="", summary="", warnings=[], problem={}, pending=True)
        target = Target.of(news["name"], news)
        run.once(("planner",), _load_planner)
        if not (olds or {}).get("facts"):
            run.survey_of(target)  # a new host: something will be placed there, so look while others are checked
            read_ahead()
        return checked(news, **_found(target), pending=False)

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        found = _found(Target.of(props["name"], props))
        if found["problem"]:
            found["facts"] = props.get("facts")  # what a host was does not change because it is away
        for line in [*_changes(unpacked(props.get("facts")) or {}, unpacked(found["facts"]) or {})][:MOST_CHANGES]:
            print(f"{props['name']}: {line}", flush=True)
        return refreshed(id_, props, **found)


def _changes(before: Any, after: Any, name: str = "") -> Iterator[str]:
    """Facts that are not what they were, one line each: `memory.total_bytes was 8, is 4`. Absent and None are the same."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _changes(before.get(key), after.get(key), f"{name}.{key}" if name else str(key))
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after)):
            yield from _changes(old, new, f"{name}[{index}]")
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        yield f"{name} were {len(before)}, are {len(after)}"
    elif before != after:
        yield printable(f"{name} was {before!r}, is {after!r}", 200)


def _load_planner() -> None:
    """What comes next is loaded while the hosts are asked."""
    from planning.families import REGISTRY, family_of
    from planning.pipeline import plan_host  # noqa: F401

    for kind in {keys.get("kind") for keys in run.endpoints().values()} & set(REGISTRY):
        for step in vars(family_of(kind)).values():
            getattr(step, "load", lambda: None)()
    gc.freeze()  # modules stay to the end: the collector need not go through them again and again, and at the exit


def kept(facts: HostFacts) -> dict[str, Any]:
    """What is stored and compared: not what we change ourselves (images that are there, the model cache's content, NUMA balancing)."""
    from planning import detect

    storage = replace(facts.storage, hf_cache_exists=None, models_at=None)
    return detect.facts_to_dict(replace(facts, storage=storage, images=None, gpus=replace(facts.gpus, numa_balancing=None)))


def _found(target: Target) -> dict[str, Any]:
    from planning import detect

    reading = run.facts_of(target).result()
    if reading.problem:
        return {"facts": "", "summary": f"{target.name}: not read", "warnings": [], "problem": asdict(reading.problem)}
    return {"facts": packed(kept(reading.facts)), "summary": detect.summary(reading.facts),
            "warnings": [asdict(warning) for warning in reading.facts.warnings], "problem": {}}


class HostProbe(Resource, module="amd-vllm", name="HostProbe"):
    facts: pulumi.Output[Any]  # one text; in an older state the value itself
    summary: pulumi.Output[str]
    warnings: pulumi.Output[list]
    problem: pulumi.Output[dict]
    pending: pulumi.Output[bool]

    def __init__(self, resource_name: str, connection: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        found = dict.fromkeys(("facts", "summary", "warnings", "problem", "pending"))
        super().__init__(HostProbeProvider(), resource_name, {**connection, **found}, opts)
