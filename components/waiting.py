"""Minutes of work, in a thread of the program and never in a provider: with progress and failure on the resource that waits."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pulumi

from planning.errors import printable
from providers.transport.errors import TransportError


async def waited(resource: pulumi.Resource, name: str, failed: str, work: Callable[[Callable[[str], None]], Any]) -> Any:
    """The result of `work(say)`. A TransportError is logged on the resource and ends the run with `failed`."""
    loop = asyncio.get_running_loop()

    def say(line: str) -> None:  # called in the waiting thread
        loop.call_soon_threadsafe(pulumi.log.info, f"{name}: {printable(line)}", resource)

    try:
        return await asyncio.to_thread(work, say)
    except TransportError as error:
        pulumi.log.error(f"{name}: {error}", resource)
        await asyncio.sleep(0.1)
        raise pulumi.RunError(failed) from None
