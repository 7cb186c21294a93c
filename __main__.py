"""The program: configuration -> hosts -> endpoints -> outputs."""
from __future__ import annotations

import asyncio
import gc
import signal

import pulumi

from components import KINDS, Host
from planning.request import parse_stack, unknown_keys


async def main() -> pulumi.Inputs:
    """Declares everything. Gives the stack's outputs."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Pulumi interrupts a program that it needs no more: that is no error with a traceback
    gc.freeze()  # modules stay to the end: the collector need not go through them again and again, and at the exit
    config = pulumi.Config()
    stack = parse_stack(config.get_object("hosts"), config.get_object("endpoints"))
    api_keys = config.get_secret_object("apiKeys")
    keyed = config.get_object("apiKeys") or {}
    problems = (*stack.refusals, *unknown_keys(keyed, stack))
    for refusal in problems:
        pulumi.log.error(refusal.text())
    if problems:
        raise pulumi.RunError(f"{len(problems)} problems in the configuration. Nothing was looked at.")

    hosts = {name: Host(name, connection) for name, connection in stack.hosts.items()
             if any(request.host == name for request in stack.endpoints.values())}
    endpoints = {}
    for name, request in stack.endpoints.items():
        settings = request.model_dump(exclude_unset=True, exclude={"kind", "host"})
        key = api_keys.apply(lambda keys, name=name: keys[name]) if name in keyed else None
        endpoints[name] = KINDS[request.kind](name, hosts[request.host], api_key=key, **settings)

    outputs = {"endpoints": {name: endpoint.endpoint for name, endpoint in endpoints.items()}}
    if len(endpoints) == 1:
        (only,) = endpoints.values()
        outputs |= {"baseUrl": only.base_url, "model": only.model}
    await asyncio.sleep(0)  # once its registrations are under way the SDK waits for them; before, for every output, again and again
    return outputs


pulumi.run(main)
