"""The error tree of the edges.

    TransportError            carries a `Refusal`: what, found, needed, do
     ├─ HostUnreachable       no route, no name, no answer in time, connection lost
     ├─ HostRefused           key refused, host key unknown or changed
     └─ CommandFailed         the host answered, the command did not do its work

Every text in a refusal is printable and short (`planning.errors`), and none holds a secret.
"""
from __future__ import annotations

from planning.errors import Refusal


class TransportError(Exception):
    """Something at the edge failed for a reason that a user can mend."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text())
        self.refusal = refusal


class HostUnreachable(TransportError):
    """Nobody answers at the address, or the connection was lost."""


class HostRefused(TransportError):
    """The host, or our trust in it, says no."""


class CommandFailed(TransportError):
    """A command on the host failed."""
