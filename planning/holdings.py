"""Who holds what on a host: containers of other stacks, endpoints planned before, and what an endpoint's own container has.

From the survey's labels and the documents of earlier plans, giving `Claims`. What an endpoint's own container holds counts
as free for it; what ours holds is a claim, so it is not counted again as a stranger's.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from planning.detect.facts import HostFacts, HostSurvey, OurContainer
from planning.families import family_of
from planning.families.base import Choice, Claims
from planning.place import nodes_of
from planning.plan import from_document


def by_others(stack: str, owner: str, requested: Collection[str], facts: HostFacts, survey: HostSurvey) -> Claims:
    """Running containers that carry our labels and are not of an endpoint that is asked for: another stack's, and those that this run removes, which
    Pulumi does at its end."""
    return Claims.total([_of_container(facts, c) for c in survey.containers
                         if not (c.made_by(stack, owner) and c.endpoint in requested) and c.running is not False])


def _of_container(facts: HostFacts, container: OurContainer) -> Claims:
    nodes = nodes_of(facts, container.cpus) or (() if container.node is None else (container.node,))
    held = {node: container.memory_bytes for node in nodes if container.memory_bytes}
    return Claims(frozenset(container.cpus), frozenset(container.gpus), frozenset({container.port} if container.port else ()), held)


def held_before(document: Mapping[str, Any]) -> Claims:
    """What an endpoint holds by its last plan, so that nobody takes it before the endpoint itself is planned again."""
    plan = from_document(document)
    if plan.placement is None:
        return Claims()
    ports = frozenset({plan.launch.port} if plan.launch else ())
    return Claims.total([family_of(plan.family).claims(Choice(plan.placement, plan.memory)), Claims(ports=ports)])


def own_port(previous: Mapping[str, Any] | None, stack: str, owner: str, name: str, survey: HostSurvey) -> int | None:
    """The port that an endpoint has: by its last plan, else by its container on the host."""
    launch = (previous or {}).get("launch")
    if launch and launch.get("port"):
        return int(launch["port"])
    return next((c.port for c in survey.containers if c.made_by(stack, owner) and c.endpoint == name), None)


def without_own(stack: str, owner: str, name: str, facts: HostFacts, survey: HostSurvey, port: int | None) -> HostSurvey:
    """The survey as one endpoint sees it: the port of its own container is free for it.

    `port`: the port by its last plan. It is its own while its container runs (or nobody can say), else whoever listens is another.
    """
    containers = [c for c in survey.containers if c.made_by(stack, owner) and c.endpoint == name and c.running is not False]
    mine = {c.port for c in containers} | ({port} if containers or facts.docker.reachable is not True else set())
    if survey.used_ports is None:
        return survey
    return replace(survey, used_ports=tuple(used for used in survey.used_ports if used not in mine))
