"""Where benchmarks run: hosts of the tests' bed, the stand-in of the Hub, folders; all of it goes away at the end."""
from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

from tests.e2e.bed.bed import Bed
from tests.e2e.bed.host import Host
from tests.hub_stand_in import HubStandIn


class Place:
    """Made when it is first needed; a session of the bed holds eight hosts, so more sessions are opened for more."""

    def __init__(self) -> None:
        self._beds: list[Bed] = []
        self._held = 0
        self._root = Path(tempfile.mkdtemp(prefix="amdvllm-bench-"))
        self._numbers = itertools.count(1)
        self.hub = HubStandIn().__enter__()

    def host(self, kind: str = "genoa-small") -> Host:
        if self._held % 8 == 0:
            self._beds.append(Bed())
        self._held += 1
        return self._beds[-1].host(kind)

    def folder(self, name: str) -> Path:
        """A new one."""
        path = self._root / f"{name}-{next(self._numbers)}"
        path.mkdir()
        return path

    def close(self) -> None:
        for bed in self._beds:
            bed.close()
        self.hub.__exit__()
        shutil.rmtree(self._root, ignore_errors=True)
