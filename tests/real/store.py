"""A Docker engine whose store outlives the test: 7 GB are imported once, and live outside the checkout."""
from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.e2e.bed.engine import OPTIONS, DockerEngine
from tests.e2e.bed.processes import run, start, wait_until
from tests.real import image


class StoredEngine(DockerEngine):
    """As the bed's engine, with layers (`overlay2`) instead of copies, and the store in the image's cache folder.

    One session at a time has the store; a second one waits. Containers of a killed session are removed first.
    """

    def __init__(self, folder: Path, socket: Path, cgroup: str, inside: Callable[..., list[str]], inner_socket: Path) -> None:
        super().__init__(folder, socket, cgroup, inside, inner_socket)
        self.store = image.cache() / "docker"
        self.store.mkdir(parents=True, exist_ok=True)
        self._lock = open(self.store.parent / "lock", "w")  # noqa: SIM115 (held until `stop`)

    def start(self) -> None:
        """Start it, with the image in its store. Raises BedError."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.store / "containers", ignore_errors=True)  # their restart policy would start them
        options = [option for option in OPTIONS if not option.startswith("--storage-driver")]
        command = ["dockerd", "--host", f"unix://{self._inner_socket}", "--data-root", self.store, "--exec-root", self.folder / "exec",
                   "--pidfile", self.folder / "dockerd.pid", "--cgroup-parent", f"/{self._cgroup}", "--storage-driver=overlay2", *options]
        self._process = start(self._inside(*command), self.log)
        wait_until(lambda: self._process.poll() is not None or self.answers(), f"dockerd of {self._cgroup}", seconds=120, log=self.log)
        self.docker("version")
        image.load(self)

    def stop(self) -> None:
        if self._process:
            self.remove_containers()
        super().stop()
        run(*self._inside("umount", "-q", "-R", self.store / "overlay2"), check=False)
        fcntl.flock(self._lock, fcntl.LOCK_UN)
