"""The program: configuration -> hosts -> endpoints -> outputs."""
from __future__ import annotations

import asyncio
import gc
import signal
from typing import Any

import pulumi
from pulumi.runtime.config import is_config_secret

from components import KINDS, Host
from planning.errors import Refusal
from planning.request import parse_stack, unknown_keys

MAPS = {"hosts": False, "endpoints": False, "apiKeys": True}    # whether its values are secrets


def read(config: pulumi.Config) -> tuple[dict[str, Any], list[Refusal]]:
    """The maps of the configuration; what is no map of plain or of secret values as it should be is refused without its text."""
    found, problems = {}, []
    for key, secret in MAPS.items():
        name = config.full_key(key)
        try:
            found[key] = config.get_object(key)
        except pulumi.ConfigTypeError:
            problems.append(Refusal("bad-value", name, "no map", "a map from name to " + ("key" if secret else "keys"),
                                    f"set it with `pulumi config set {'--secret ' if secret else ''}--path {key}.NAME…`"))
        if is_config_secret(name) and not secret:
            problems.append(Refusal("bad-value", name, "a secret value", "plain values: what is in here is shown and kept in clear",
                                    "set it without --secret; secrets have places of their own: amd-vllm:hfToken and amd-vllm:apiKeys"))
    return found, problems


async def main() -> pulumi.Inputs:
    """Declares everything. Gives the stack's outputs."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Pulumi interrupts a program that it needs no more: that is no error with a traceback
    gc.freeze()  # modules stay to the end: the collector need not go through them again and again, and at the exit
    config = pulumi.Config()
    found, problems = read(config)
    if not problems:
        stack, keyed = parse_stack(found["hosts"], found["endpoints"]), found["apiKeys"] or {}
        problems = [*stack.refusals, *unknown_keys(keyed, stack)]
    for refusal in problems:
        pulumi.log.error(refusal.text())
    if problems:
        raise pulumi.RunError(f"{len(problems)} problems in the configuration. Nothing was looked at.")

    api_keys = config.get_secret_object("apiKeys")
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
