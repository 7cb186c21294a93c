"""A LaunchSpec under podman or on the host itself: `EndpointProcess`, made and not started; `EndpointStart` starts it.

The image is pulled, and whatever else must be there first, before the old one is touched: it is the program that waits.
"""
from __future__ import annotations

import pulumi

from components.runtimes import Job, fetched, start
from providers.endpoint_process import EndpointProcess
from providers.endpoint_start import EndpointStart


def run(job: Job) -> EndpointStart:
    """One process of one plan, and its start."""
    launch = fetched(job).apply(lambda _: job.plan["launch"]).apply(job.ready)
    made = EndpointProcess(job.name, {
        "name": job.name, "stack": pulumi.get_stack(), "connection": job.host.connection, "launch": launch, "generation": int(job.plan["generation"]),
        "keyed": bool(job.secrets)}, pulumi.ResourceOptions(parent=job.parent, delete_before_replace=True, depends_on=list(job.after)))
    return start(job, made.container_id)
