"""Where benchmarks run: hosts of the tests' bed, the stand-in of the Hub, folders; all of it goes away at the end."""
from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

from tests.e2e.bed.bed import Bed
from tests.e2e.bed.host import Host
from tests.e2e.bed.session import HOSTS
from tests.hub_stand_in import HubStandIn


class Place:
    """Made when it is first needed; a session of the bed holds eight hosts, so more sessions are opened for more."""

    def __init__(self) -> None:
        self._beds: list[tuple[Bed, list[Host]]] = []
        self._root = Path(tempfile.mkdtemp(prefix="amdvllm-bench-"))
        self._numbers = itertools.count(1)
        self.hub = HubStandIn().__enter__()

    def host(self, kind: str = "genoa-small") -> Host:
        if all(len(held) == HOSTS for _, held in self._beds):
            self._beds.append((Bed(), []))
        bed, held = next(each for each in self._beds if len(each[1]) < HOSTS)
        held.append(bed.host(kind))
        return held[-1]

    def remove(self, host: Host) -> None:
        for bed, held in self._beds:
            if host in held:
                held.remove(host)
                bed.remove(host)

    def folder(self, name: str) -> Path:
        """A new one."""
        path = self._root / f"{name}-{next(self._numbers)}"
        path.mkdir()
        return path

    def close(self) -> None:
        for bed, _ in self._beds:
            bed.close()
        self.hub.__exit__()
        shutil.rmtree(self._root, ignore_errors=True)
