"""`Host`: one machine. Its facts, one plan for all endpoints declared on it, and (where one runs there) the docker provider that reaches it.

Endpoints are declared one by one; the plan is registered when the program has been read to its end, so their order does not matter.
"""
from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pulumi
import pulumi_docker as docker

from components import numa_balancing
from components.together import together
from planning.errors import Refusal
from planning.request import EndpointRequest, HostConnection
from providers.host_plan import HostPlan
from providers.host_probe import HostProbe
from providers.model_manifest import ModelManifest
from providers.packed import unpacked
from providers.transport.address import Target, parse_address


class Host(pulumi.ComponentResource):
    """A host that endpoints run on. `address` and the rest are the host keys of the configuration, in snake case.

    An address may be another resource's output: its endpoints are then planned and judged in the update.
    """

    summary: pulumi.Output[str]

    def __init__(self, name: str, connection: HostConnection | Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("amd-vllm:index:Host", name, None, opts)
        _no_docker_context(name)
        keys = connection.model_dump() if isinstance(connection, HostConnection) else dict(connection)
        self.name, self.child = name, pulumi.ResourceOptions(parent=self)
        self.connection = {"name": name, **{key: keys.get(key) for key in ("address", "identity_file", "known_hosts")},
                           "accept_new_host_key": bool(keys.get("accept_new_host_key"))}
        self._advertise = keys.get("advertise_address")
        self.late = any(isinstance(value, pulumi.Output) for value in self.connection.values())
        self._known = pulumi.Output.from_input(self.connection).apply(self._connect)
        self.probe = HostProbe(name, self.connection, self.child)
        self._requests: dict[str, dict[str, Any]] = {}
        self._models: dict[str, Any] = {}
        self._keyed: list[str] = []
        self._plan: asyncio.Future | None = None
        self.planned: list[HostPlan] = []  # outlives the containers: what is left when a destroy is interrupted is still planned
        self._numa: pulumi.Resource | None = None
        self.said: set[str] = set()  # warnings that were attached to this host
        self.summary = together(self.probe.summary, self.probe.warnings, self.probe.problem, self.probe.pending).apply(self._say)
        self.register_outputs({"summary": self.summary})

    def plan_for(self, endpoint: str, request: EndpointRequest, model: str, keyed: bool) -> pulumi.Output[dict]:
        """The endpoint's own plan. May be called until the program has been read to its end, or awaits something."""
        if self._plan is None:
            self._plan = asyncio.get_event_loop().create_future()
            asyncio.ensure_future(self._register())  # runs when the program has been read to its end
        if self.planned:
            raise pulumi.RunError(f"{endpoint} comes too late: declare all endpoints of {self.name} before the program awaits anything")
        if endpoint in self._requests:
            raise pulumi.RunError(f"two endpoints on {self.name} are called {endpoint}")
        self._requests[endpoint] = request.model_dump(mode="json", by_alias=True, exclude_unset=True)
        self._models[endpoint] = self._manifest(model, request.revision)
        self._keyed += [endpoint] if keyed else []
        planned = pulumi.Output.from_input(self._plan).apply(lambda host_plan: together(host_plan.plans, self._known))
        return planned.apply(lambda found: unpacked(found[0])[endpoint])

    @cached_property
    def docker(self) -> docker.Provider:
        """Reaches the host's Docker. A plugin process of its own, so it is declared for the first endpoint that runs there; for who has a plan."""
        return docker.Provider(self.name, host=_docker_host(self.connection), ssh_opts=_ssh_options(self.connection), opts=self.child)

    def numa_balancing_off(self) -> pulumi.Resource:
        """One for all endpoints here that ask for it, declared when the first of them is; for who has a plan."""
        self._numa = self._numa or numa_balancing.off(self.name, self.connection, self.child)
        return self._numa

    def _manifest(self, model: str, revision: str) -> dict[str, Any]:
        """Which manifest an endpoint needs. A model on the Hub is read once for all hosts, a directory once for its host."""
        local = model.startswith("/")
        name = f"{model}@{self.name}" if local else f"{model}@{revision}"
        resource = _manifests.get(name) or _manifests.setdefault(
            name, ModelManifest(name, model, revision, self.connection if local else None, self.child if local else None))
        return {"model": model, "requested_revision": revision, "connection": self.connection if local else None,
                "revision": resource.manifest.apply(lambda manifest: (unpacked(manifest) or {}).get("revision"))}

    def _connect(self, connection: dict[str, Any]) -> bool:
        """From here on `connection` holds plain values: who has a plan may use them."""
        self.connection = dict(connection)
        return True

    async def _register(self) -> None:
        self.planned = [HostPlan(self.name, {
            "stack": pulumi.get_stack(), "name": self.name, "connection": self.connection, "advertise_address": self._advertise,
            "requests": dict(sorted(self._requests.items())), "models": dict(sorted(self._models.items())), "keyed": sorted(self._keyed),
        }, pulumi.ResourceOptions(parent=self, depends_on=[self.probe]))]
        self._plan.set_result(self.planned[0])

    def _say(self, found: list[Any]) -> str:
        summary, warnings, problem, pending = found
        if pending:
            pulumi.log.warn(f"{self.name}: its address is not known yet; facts and plans come with the update", self)
        elif problem:
            pulumi.log.error(Refusal(**problem).text(), self)
        else:
            pulumi.log.info(summary, self)
        for warning in warnings or ():
            self.said.add(warning["message"])
            pulumi.log.warn(f"[{warning['code']}] {warning['message']}", self)
        return summary


def _no_docker_context(name: str) -> None:
    """The docker provider lets DOCKER_CONTEXT override even an explicit host."""
    context = os.environ.get("DOCKER_CONTEXT")
    if context:
        raise pulumi.RunError(Refusal("bad-value", f"{name}: DOCKER_CONTEXT is set", context,
                                      "no DOCKER_CONTEXT: it overrides the host of every docker provider",
                                      "unset it: `env -u DOCKER_CONTEXT pulumi ...`").text())


_manifests: dict[str, ModelManifest] = {}


def _docker_host(connection: Mapping[str, Any]) -> str:
    """What the docker provider connects to: as the `docker` command does on this machine, where it is the host. A bad or recorded address
    gets the local socket too, which preview never opens."""
    address = parse_address(connection["address"])
    if address and address.scheme == "ssh":
        return address.url
    own = os.environ.get("DOCKER_HOST", "")
    return own if own.startswith("unix://") else "unix:///var/run/docker.sock"


def _ssh_options(connection: Mapping[str, Any]) -> list[str]:
    address = parse_address(connection["address"])
    return Target.of(connection["name"], connection).ssh_options() if address and address.scheme == "ssh" else []
