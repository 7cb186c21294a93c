"""Everybody speaks before anybody fails, and nothing is launched before all plans are known: the barrier of one program run.

An endpoint `joins` when it is declared and `speaks` when its plan is there. `speaks` returns when all have spoken, or
raises once for all when somebody was refused (each refusal has been logged on its own resource by then). An endpoint whose
plan is unknown in preview `leaves`: it cannot be waited for.
"""
from __future__ import annotations

import asyncio

import pulumi


class Barrier:
    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._refused: set[str] = set()
        self._changed = asyncio.Event()

    def join(self, name: str) -> None:
        self._waiting.add(name)

    def leave(self, name: str) -> None:
        self._waiting.discard(name)
        self._changed.set()

    async def speak(self, name: str, refused: bool) -> None:
        """Raises pulumi.RunError when somebody was refused, after all have spoken."""
        if refused:
            self._refused.add(name)
        self.leave(name)
        while self._waiting:
            self._changed.clear()
            await self._changed.wait()
        if self._refused:
            await asyncio.sleep(0.1)  # log lines are on their way to the engine; the first failure ends the run
            raise pulumi.RunError(f"{len(self._refused)} refused: {', '.join(sorted(self._refused))}. Nothing was launched.")
