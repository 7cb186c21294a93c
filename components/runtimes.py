"""Runtime -> the module that declares what runs an engine there. Each has `run(job)`, which gives the `EndpointStart`."""
from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pulumi

from components.host import Host
from components.waiting import waited
from providers import record
from providers.endpoint_start import EndpointStart
from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.ssh import Connection

REGISTRY = {
    "docker": "components.container",
    "podman": "components.process",
    "host": "components.process",
}


@dataclass(frozen=True)
class Job:
    """One endpoint that is to run. `secrets`: variables that only exist as secrets. `ready`: awaited between the image and what uses it;
    gives its argument back. `after`: what outlives the container."""

    name: str
    plan: Mapping[str, Any]
    host: Host
    secrets: Mapping[str, pulumi.Output[str]]
    parent: pulumi.Resource
    ready: Callable[[Any], Awaitable[Any]]
    after: Sequence[pulumi.Resource] = ()


def run(job: Job) -> EndpointStart:
    """Declares everything of the plan's runtime; `EndpointStart.container_id` is known when it was started."""
    return import_module(REGISTRY[job.plan["launch"]["runtime"]]).run(job)


def fetched(job: Job) -> pulumi.Output[str]:
    """The name of the image, when it is on the host: pulled there by the host's own command, so with the registry login that the host has.

    Once for each plan: an `up` that changes nothing, or is about others (`--target`), asks no host for it. The local record remembers.
    """
    launch, stack_name = job.plan["launch"], pulumi.get_stack()
    made_of = f"{job.host.connection['address']} {launch['labels'].get('amd-vllm.plan')}"

    async def fetch(image: str) -> str:
        if pulumi.runtime.is_dry_run():
            return image
        if not (record.read(stack_name, "proven", job.name) and record.read(stack_name, "fetched", job.name) == made_of):
            connection = Connection(Target.of(job.host.name, job.host.connection))
            await waited(job.parent, job.name, f"{job.name} has no image", lambda say: runtime_of(launch["runtime"]).fetch(connection, launch, say))
            record.write(stack_name, "fetched", job.name, made_of)
        return image

    return pulumi.Output.from_input(launch["image"]).apply(fetch)


def start(job: Job, container_id: pulumi.Output[str]) -> EndpointStart:
    """The gate and the start, the same for all runtimes."""
    plan, launch = job.plan, job.plan["launch"]
    judged = {"name": plan["name"], "family": plan["family"], "engine": plan.get("engine"), "health": {"stack": plan["health"].get("stack") or {}},
              "launch": {key: launch.get(key) for key in ("image", "container_name", "entrypoint", "devices", "group_add")}}
    return EndpointStart(job.name, {
        "name": job.name, "stack_name": pulumi.get_stack(), "connection": job.host.connection, "container_id": container_id, "runtime": launch["runtime"],
        "plan": judged,
        "cpuset_mems": launch.get("cpuset_mems"), "token_path": launch["environment"].get("HF_TOKEN_PATH")}, pulumi.ResourceOptions(parent=job.parent))
