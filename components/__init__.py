"""Component resources: they declare, and decide nothing. `KINDS` is the configuration's word for each."""
from __future__ import annotations

from components.epyc import EpycVllmEndpoint
from components.host import Host
from components.instinct import InstinctVllmEndpoint

KINDS = {"epyc": EpycVllmEndpoint, "instinct": InstinctVllmEndpoint}

__all__ = ["KINDS", "EpycVllmEndpoint", "Host", "InstinctVllmEndpoint"]
