"""`EndpointProcess`: an engine under a runtime that pulumi-docker does not reach (podman, host): made, not started, and taken away.

Inputs: `name` (endpoint), `stack`, `connection`, `launch` and `generation` (of the plan), `keyed` (whether it has an API key). Found by `check`:
`key_print` (`providers.key_print`); by create: `container_id`. Secrets come by `configure()`. A change makes a new one, after the old one is gone.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import CheckFailure, CheckResult, CreateResult, DiffResult, ReadResult, Resource

from planning.errors import Refusal
from providers import run
from providers.base import StepProvider, checked, refreshed
from providers.containers import clear
from providers.endpoint_start import own_token
from providers.key_print import print_of
from providers.runtimes import Secrets, runtime_of
from providers.runtimes.base import LABEL, labels_of
from providers.transport.address import Target
from providers.transport.errors import CommandFailed, TransportError
from providers.transport.ssh import Connection


class EndpointProcessProvider(StepProvider):
    compared = ("connection",)
    replaced = ("launch", "generation", "key_print")

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        """A key that did not come refuses in preview already."""
        key = run.api_key(news["name"]) if news.get("keyed") else None
        if news.get("keyed") is True and not key:
            return CheckResult(news, [CheckFailure("keyed", _no_key(news["name"]).text())])
        return checked(news, key_print=print_of(key, (olds or {}).get("key_print")))

    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        found = super().diff(id_, olds, news)
        return DiffResult(found.changes, found.replaces, delete_before_replace=True)

    def create(self, props: dict[str, Any]) -> CreateResult:
        launch, connection = props["launch"], _connection(props)
        clear(connection, props["stack"], {props["name"]: launch})  # what an interrupted run made and nobody recorded
        made = runtime_of(launch["runtime"]).create(connection, {**launch, "environment": launch.get("environment") or {}}, _secrets(props))
        return CreateResult(props["name"], {**props, "container_id": made})

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        try:
            seen = _mine(_connection(props), props)
        except TransportError as error:
            print(f"{props['name']}: not looked at: {error}", flush=True)
            return refreshed(id_, props)
        if seen is None:
            return ReadResult("", {})
        known = {key: value for key, value in props.items() if key not in ("__provider", "container_id")}
        return ReadResult(id_, dict(props), known)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        connection = _connection(props)
        seen = _mine(connection, props)
        if seen is not None:
            runtime_of(props["launch"]["runtime"]).remove(connection, props["container_id"])


def _connection(props: Mapping[str, Any]) -> Connection:
    return Connection(Target.of(props["connection"]["name"], props["connection"]))


def _mine(connection: Connection, props: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """State of the very one that was made here; None where it is gone, also when another has taken its name."""
    identity = props["container_id"]
    seen = runtime_of(props["launch"]["runtime"]).inspect(connection, [identity])[identity]
    ours = seen is not None and seen["Id"] == identity and labels_of(seen).get(f"{LABEL}endpoint") == props["name"]
    return seen if ours else None


def _no_key(name: str) -> Refusal:
    return Refusal("no-api-key", f"{name} was declared with an API key", "none in the stack's configuration",
                   "amd-vllm:apiKeys, which reaches this runtime without passing through the state",
                   f"pulumi config set --secret --path apiKeys.{name}")


def _secrets(props: Mapping[str, Any]) -> Secrets:
    """Raises CommandFailed where an API key was declared and none arrived: an endpoint is never opened by a lost key."""
    key = run.api_key(props["name"]) if props.get("keyed") else None
    if props.get("keyed") and not key:
        raise CommandFailed(_no_key(props["name"]))
    wanted = (props["launch"].get("environment") or {}).get("HF_TOKEN_PATH")
    return Secrets(key, (run.hf_token() or own_token()) if wanted else None)


class EndpointProcess(Resource, module="amd-vllm", name="EndpointProcess"):
    container_id: pulumi.Output[str]

    def __init__(self, resource_name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(EndpointProcessProvider(), resource_name, {**inputs, "key_print": None, "container_id": None}, opts)
