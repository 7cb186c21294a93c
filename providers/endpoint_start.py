"""`EndpointStart`: what must happen between something made and something running: the Hub token as a file, the stack gate,
memory nodes, start.

Inputs: `name` (endpoint), `stack_name`, `connection`, `runtime`, `container_id`, `cpuset_mems`, `token_path` (None: no token wanted), `plan` (the part
of it that the gate judges). Found: `started_at`, `image_id`, `image_digest`, `stack` (empty: unknown), `warnings`. Nothing to delete: what
was started belongs to who made it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, Resource, UpdateResult

from providers import record, run, stack
from providers.base import StepProvider
from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection


class EndpointStartProvider(StepProvider):
    compared = ("cpuset_mems", "container_id")

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props["name"], _start(props, {}))

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(_start(news, olds))


def _start(props: dict[str, Any], olds: Mapping[str, Any]) -> dict[str, Any]:
    connection, runtime = Connection(Target.of(props["connection"]["name"], props["connection"])), runtime_of(props["runtime"])
    token = (run.hf_token() or own_token()) if props.get("token_path") else None
    if token:
        runtime.hand_over(connection, props["container_id"], props["token_path"], token)
    gate = _judged(connection, props, olds)
    started = runtime.start(connection, props["container_id"], props.get("cpuset_mems"))
    record.write(props["stack_name"], "started", props["name"], props["container_id"])
    return {**props, **gate, "started_at": started}


def _judged(connection: Connection, props: Mapping[str, Any], olds: Mapping[str, Any]) -> dict[str, Any]:
    """What is in the image, read once for each image id, and judged. Raises CommandFailed with nothing running."""
    plan, runtime = props["plan"], runtime_of(props["runtime"])
    software = runtime.software(connection, plan["launch"], props["container_id"])
    same = software.image_id is not None and olds.get("image_id") == software.image_id and olds.get("connection") == props["connection"]
    found = olds.get("stack") if same and olds.get("stack") else stack.read(connection, props["runtime"], plan["launch"], software, props["stack_name"])
    notes = stack.judge(plan, found)
    if notes.refusals:
        first = notes.refusals[0]
        raise CommandFailed(replace(first, do=f"{first.do}. {plan['launch']['container_name']} was made and not started: nothing runs"))
    return {"image_id": software.image_id or "", "image_digest": software.digest_of(runtime.image_name(plan["launch"]["image"])), "stack": found,
            "warnings": [asdict(warning) for warning in notes.warnings]}


def own_token() -> str | None:
    """The token that the Hub client finds by itself."""
    from huggingface_hub import get_token

    return get_token()


class EndpointStart(Resource, module="amd-vllm", name="EndpointStart"):
    container_id: pulumi.Output[str]
    started_at: pulumi.Output[str]
    image_digest: pulumi.Output[str]
    stack: pulumi.Output[dict]
    warnings: pulumi.Output[list]

    def __init__(self, resource_name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        found = dict.fromkeys(("started_at", "image_id", "image_digest", "stack", "warnings"))
        super().__init__(EndpointStartProvider(), resource_name, {**inputs, **found}, opts)
