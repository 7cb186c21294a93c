"""How long a start is waited for: until its deadline, and where that is long, only while its log says something new."""
from __future__ import annotations

import time

from planning.errors import Refusal


class Patience:
    """Made when the waiting begins. `stall_seconds`: None where only the deadline counts."""

    def __init__(self, endpoint: str, deadline_seconds: int, stall_seconds: int | None) -> None:
        self._endpoint, self._deadline, self._stall = endpoint, deadline_seconds, stall_seconds
        self._began, self._moved, self._tail = time.monotonic(), 0.0, ()

    @property
    def elapsed(self) -> float:
        """Seconds since the waiting began."""
        return time.monotonic() - self._began

    def over(self, found: str, tail: tuple[str, ...]) -> Refusal | None:
        """Why there is no more waiting. `found`: what keeps it from being ready; `tail`: the end of the log now."""
        elapsed = self.elapsed
        if tail != self._tail:
            self._tail, self._moved = tail, elapsed
        still, do = elapsed - self._moved, "look at the log; a larger `waitSeconds:` waits longer"
        if self._stall is not None and still > self._stall:
            return Refusal("deadline", f"{self._endpoint}: the start makes no progress", f"no new line in the log for {still:.0f} s, {found}",
                           f"a new line within {self._stall} s", do)
        if elapsed > self._deadline:
            return Refusal("deadline", f"{self._endpoint}: no answer in time", f"{elapsed:.0f} s, {found}", f"an answer within {self._deadline} s", do)
        return None
