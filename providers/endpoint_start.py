"""`EndpointStart`: what must happen between a created container and a running one: the Hub token as a file, memory nodes, start.

Inputs: `name` (endpoint), `connection`, `runtime`, `container_id`, `cpuset_mems`, `token_path` (None: no token wanted). Nothing to delete:
the container is pulumi-docker's.
"""
from __future__ import annotations

import io
import tarfile
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, Resource, UpdateResult

from planning.errors import Refusal
from providers import containers, run
from providers.base import StepProvider
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection


class EndpointStartProvider(StepProvider):
    compared = ("cpuset_mems",)
    replaced = ("container_id",)

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props["name"], _start(props))

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(_start(news))


def _start(props: dict[str, Any]) -> dict[str, Any]:
    connection = Connection(Target.of(props["connection"]["name"], props["connection"]))
    if props.get("token_path"):
        _hand_over_token(connection, props)
    started = containers.start(connection, props["runtime"], props["container_id"], props.get("cpuset_mems"))
    return {**props, "started_at": started}


def _hand_over_token(connection: Connection, props: dict[str, Any]) -> None:
    """Copies the token into the container as a file, through stdin: never in an argument, the environment or state."""
    token = run.hf_token() or _own_token()
    if not token:
        return
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        entry = tarfile.TarInfo(props["token_path"].lstrip("/"))
        entry.size, entry.mode = len(token.encode()), 0o400
        tar.addfile(entry, io.BytesIO(token.encode()))
    result = connection.run('"$1" cp - "$2:/"', arguments=[props["runtime"], props["container_id"]], stdin=data.getvalue())
    if result.status:
        raise CommandFailed(Refusal("runtime-failed", f"{connection.target.name}: the Hub token could not be put into the container", result.stderr[-300:],
                                    f"`{props['runtime']} cp` that works", "look at the runtime's own log on the host"))


def _own_token() -> str | None:
    from huggingface_hub import get_token

    return get_token()


class EndpointStart(Resource, module="amd-vllm", name="EndpointStart"):
    container_id: pulumi.Output[str]
    started_at: pulumi.Output[str]

    def __init__(self, resource_name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(EndpointStartProvider(), resource_name, {**inputs, "started_at": None}, opts)
