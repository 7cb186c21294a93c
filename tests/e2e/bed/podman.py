"""Podman on a host of the bed: root's, with a store of the host's own."""

from __future__ import annotations

import subprocess

from .namespace import Namespace
from .processes import run, start, stop, wait_until


class Podman:
    """Needs no daemon; `start_api` opens the socket that speaks Docker's interface."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self.socket = namespace.folder / "run" / "podman" / "podman.sock"
        self._service: subprocess.Popen[bytes] | None = None

    def call(self, *words: str, check: bool = True, timeout: float = 120, **options) -> subprocess.CompletedProcess[str]:
        """`podman …` on the host."""
        return run(*self._namespace.inside("podman", *words), check=check, timeout=timeout, **options)

    def start_api(self) -> None:
        """`podman system service` at /run/podman/podman.sock, where systemd would have it."""
        self.socket.parent.mkdir(parents=True, exist_ok=True)
        command = self._namespace.inside("podman", "system", "service", "--time", "0", "unix:///run/podman/podman.sock")
        self._service = start(command, self._namespace.folder / "podman.log")
        wait_until(self.socket.exists, f"podman's socket on {self._namespace.name}", log=self._namespace.folder / "podman.log")

    def stop_api(self) -> None:
        if self._service:
            stop(self._service)
            self._service = None
            self.socket.unlink(missing_ok=True)

    def containers(self) -> list[str]:
        """Names of all containers."""
        return self.call("ps", "--all", "--format", "{{.Names}}").stdout.split()

    def remove_containers(self) -> None:
        for name in self.containers():
            self.call("rm", "--force", name)
