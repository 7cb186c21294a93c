"""What must be right before an endpoint is touched, once its image is there: its weights fetched (where asked for), and its stack judged.

The stack of a new image is judged here where an old container serves, so that a `blocked` one stops nothing; a new endpoint's is judged by
`EndpointStart`. In preview nothing is done. What was done is in the local record, and not repeated.
"""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi

from components.host import Host
from components.waiting import waited
from planning.request import EndpointRequest
from providers import containers, prefetch, record, stack
from providers.endpoint_start import own_token
from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.ssh import Connection


@dataclass(frozen=True)
class Before:
    """One endpoint that is about to be made or replaced."""

    resource: pulumi.Resource
    name: str
    host: Host
    model: str
    request: EndpointRequest
    plan: Mapping[str, Any]

    async def all(self) -> None:
        """Raises pulumi.RunError when something is not right; the reason is logged on the resource."""
        if self.request.prefetch and not self.model.startswith("/"):
            await self._weights()
        if not pulumi.runtime.is_dry_run():
            await self._old()

    @property
    def _target(self) -> Target:
        return Target.of(self.host.name, self.host.connection)

    async def _weights(self) -> None:
        """Once for each commit and cache."""
        launch, model, target, stack_name = self.plan["launch"], self.model, self._target, pulumi.get_stack()
        revision = self.plan.get("revision") or self.request.revision
        key = prefetch.key_of(target, launch, model, revision)
        if record.read(stack_name, "prefetched", self.name) == key:
            return
        if pulumi.runtime.is_dry_run():
            pulumi.log.info(f"{self.name}: the weights of {model} are fetched before anything is touched", self.resource)
            return
        token = pulumi.Config("amd-vllm").get("hfToken") or own_token() if launch["environment"].get("HF_TOKEN_PATH") else None
        await waited(self.resource, self.name, f"{self.name} has no weights",
                     lambda say: prefetch.fetch(target, self.plan, model, revision, token, say))
        record.write(stack_name, "prefetched", self.name, key)

    async def _old(self) -> None:
        """Where something was made under this name already: the new stack is judged before that is touched. And what runs under another runtime is
        stopped, as it would hold the port and the memory until Pulumi removes it, which is at the end."""
        stack_name, launch = pulumi.get_stack(), self.plan["launch"]
        made_of = launch["labels"].get("amd-vllm.plan")
        if record.read(stack_name, "judged", self.name) == made_of:
            return

        def look(_say: Any) -> tuple[set[str], dict[str, Any]]:
            connection, runtime = Connection(self._target), runtime_of(launch["runtime"])
            before = containers.made_before(connection, stack_name, self.name, launch)
            return before, stack.read(connection, launch["runtime"], launch, runtime.software(connection, launch), stack_name) if before else {}

        before, found = await waited(self.resource, self.name, f"the stack of {self.name} cannot be read", look)
        refusals = stack.judge(self.plan, found).refusals if before else ()
        for refusal in refusals:
            pulumi.log.error(f"{self.name}: {refusal.text()}. What served until now was not touched", self.resource)
        if refusals:
            await asyncio.sleep(0.1)
            raise pulumi.RunError(f"{self.name} is blocked")
        for word in before - {launch["runtime"]}:
            await waited(self.resource, self.name, f"what runs under {word} cannot be stopped", partial(self._stop, word))
        record.write(stack_name, "judged", self.name, made_of)

    def _stop(self, word: str, say: Callable[[str], None]) -> None:
        say(f"stopping what runs under {word}; `up` removes it at its end")
        runtime_of(word).stop(Connection(self._target), self.plan["launch"]["container_name"])
