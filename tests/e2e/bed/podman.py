"""Podman on a host of the bed: root's, with a store of the host's own, or rootless, its user's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .namespace import USER_ID, USER_RUNTIME, Namespace
from .processes import run, start, stop, wait_until

SETTINGS = {  # podman's own limits ask for more than a user may
    "containers.conf": '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n',
    "registries.conf": '[[registry]]\nlocation = "127.0.0.1:5000"\ninsecure = true\n',  # the bed's own, `registry.Registry`
    "storage.conf": '[storage]\ndriver = "vfs"\n',
}


class Podman:
    """Needs no daemon; `start_api` opens the socket that speaks Docker's interface. `rootless`: that of the user `ops`."""

    def __init__(self, namespace: Namespace, rootless: bool = False) -> None:
        self._namespace, self._rootless = namespace, rootless
        self.socket = namespace.folder / "run" / "podman" / "podman.sock"
        self._service: subprocess.Popen[bytes] | None = None

    def call(self, *words: str, check: bool = True, timeout: float = 120, **options) -> subprocess.CompletedProcess[str]:
        """`podman …` on the host."""
        return run(*self._namespace.inside(*self._as_user(), "podman", *words), check=check, timeout=timeout, **options)

    @property
    def home(self) -> Path:
        return self._namespace.folder / ("ops" if self._rootless else "home")

    def _as_user(self) -> list[str]:
        if not self._rootless:
            return []
        home = self.home
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "env", f"--chdir={home}", f"HOME={home}",
                f"XDG_RUNTIME_DIR={USER_RUNTIME}"]

    def configure(self) -> None:
        """The user's settings, before the first use."""
        folder = self.home / ".config" / "containers"
        folder.mkdir(parents=True)
        for name, text in SETTINGS.items():
            (folder / name).write_text(text)
        for each in (folder.parent, folder):
            os.chown(each, USER_ID, USER_ID)

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
