"""A LaunchSpec under podman or on the host itself: `EndpointProcess`, made and not started; `EndpointStart` starts it.

The image is pulled, and whatever else must be there first, before the old one is touched: it is the program that waits.
"""
from __future__ import annotations

from typing import Any

import pulumi

from components.runtimes import Job, start
from components.waiting import waited
from providers.endpoint_process import EndpointProcess
from providers.endpoint_start import EndpointStart
from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.ssh import Connection


def run(job: Job) -> EndpointStart:
    """One process of one plan, and its start."""
    launch = pulumi.Output.from_input(job.plan["launch"]).apply(lambda launch: _fetched(job, launch)).apply(job.ready)
    made = EndpointProcess(job.name, {
        "name": job.name, "stack": pulumi.get_stack(), "connection": job.host.connection, "launch": launch, "generation": int(job.plan["generation"]),
        "keyed": bool(job.secrets)}, pulumi.ResourceOptions(parent=job.parent, delete_before_replace=True, depends_on=list(job.after)))
    return start(job, made.container_id)


async def _fetched(job: Job, launch: dict[str, Any]) -> dict[str, Any]:
    """The launch, when its image is on the host."""
    if not pulumi.runtime.is_dry_run():
        connection = Connection(Target.of(job.host.name, job.host.connection))
        await waited(job.parent, job.name, f"{job.name} has no image", lambda say: runtime_of(launch["runtime"]).fetch(connection, launch, say))
    return launch
