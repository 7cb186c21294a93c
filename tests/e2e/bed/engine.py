"""A Docker engine of the bed: inside a host's namespaces, or beside the test session on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from .processes import run, start, stop, wait_until

OPTIONS = ("--iptables=false", "--ip6tables=false", "--storage-driver=vfs", "--exec-opt=native.cgroupdriver=cgroupfs")
"""No packet rules. vfs works on every file system; the images are small."""
NO_BRIDGE = ("--bridge=none",)
"""Containers use the host's network, as vLLM's on CPUs do."""
BRIDGE = ("--bip=172.29.213.1/24", "--fixed-cidr=172.29.213.0/24")
"""A bridge in a network namespace of the host's own; ports are published by Docker's proxy process."""


class DockerEngine:
    """A dockerd of our own. `inside` puts a command line into the place where it runs."""

    def __init__(self, folder: Path, socket: Path, cgroup: str, inside: Callable[..., list[str]] = lambda *words: list(map(str, words)),
                 inner_socket: Path | None = None, bridge: bool = False) -> None:
        self._network = BRIDGE if bridge else NO_BRIDGE
        self.folder, self.socket, self._cgroup, self._inside = folder, socket, cgroup, inside
        self._inner_socket = inner_socket or socket
        self.log = folder / "dockerd.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For DOCKER_HOST, from this side."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it and wait until it answers. Raises BedError with the end of its log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["dockerd", "--host", f"unix://{self._inner_socket}", "--data-root", self.folder / "data", "--exec-root", self.folder / "exec",
                   "--pidfile", self.folder / "dockerd.pid", "--cgroup-parent", f"/{self._cgroup}", *OPTIONS, *self._network]
        self._process = start(self._inside(*command), self.log)
        wait_until(lambda: self._process.poll() is not None or self.answers(), f"dockerd of {self._cgroup}", seconds=60, log=self.log)
        if not self.answers():
            self.docker("version")

    def answers(self) -> bool:
        return self.socket.exists() and self.docker("version", "--format", "{{.Server.Version}}", check=False).returncode == 0

    def stop(self) -> None:
        """End it; its containers end with the namespace they are in, or are removed first where there is none."""
        if self._process:
            stop(self._process, patience=20)
            self._process = None

    def docker(self, *words: str, check: bool = True, timeout: float = 120, **options) -> subprocess.CompletedProcess[str]:
        """`docker …` on this engine."""
        return run("docker", "--host", self.url, *words, check=check, timeout=timeout, **options)

    call = docker

    def containers(self, everything: bool = True) -> list[str]:
        """Names of the containers."""
        words = ["ps", "--format", "{{.Names}}"] + (["--all"] if everything else [])
        return self.docker(*words).stdout.split()

    def remove_containers(self) -> None:
        for name in self.containers():
            self.docker("rm", "--force", name)
