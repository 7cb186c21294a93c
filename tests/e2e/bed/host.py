"""A host of the bed: namespaces, SSH, Docker, and the ways to break it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .client import Client
from .engine import DockerEngine
from .namespace import Namespace
from .podman import Podman
from .processes import BedError, run
from .session import Session
from .ssh_server import SshServer


class Host:
    """Reached at `ssh://root@ADDRESS`; `engine` is its Docker, None with `docker=False`."""

    def __init__(self, session: Session, client: Client, kind: str = "genoa-small", memory_bytes: int | None = None,
                 docker: bool = True, systemd: bool = False) -> None:
        self._client = client
        self.kind = kind
        self.namespace = Namespace(session, kind, memory_bytes, systemd)
        self.name, self.address, self.folder = self.namespace.name, self.namespace.address, self.namespace.folder
        self.ssh = SshServer(self.namespace, client.identity_file)
        self.engine = DockerEngine(self.folder / "docker", self.folder / "run" / "docker.sock", self.name, self.namespace.inside,
                                   Path("/run/docker.sock"), bridge=self.namespace.has_gpus) if docker else None
        self.podman = Podman(self.namespace)

    def open(self) -> Host:
        """Start everything; a second or two. Raises BedError."""
        self.namespace.open()
        self.ssh.start()
        self._client.trust(self.address, self.ssh.public_host_key())
        if self.engine:
            self.engine.start()
        return self

    def close(self) -> None:
        """Kill everything on the host. The session's cleaning removes the rest."""
        self.namespace.close()

    # -- for the program under test

    @property
    def url(self) -> str:
        """As `address` of a host in the stack configuration."""
        return f"ssh://root@{self.address}"

    def connection(self, user: str = "root", **more: object) -> dict[str, object]:
        """An entry of `amd-vllm:hosts`."""
        return {"address": f"ssh://{user}@{self.address}", "identityFile": str(self._client.identity_file),
                "knownHosts": str(self._client.known_hosts), **more}

    def run_local(self, *command: str, environment: dict[str, str] | None = None, check: bool = True, timeout: float = 600,
                  cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command on the host, as somebody who sits at it: for `HOST=local`."""
        words = self.namespace.inside("env", f"--chdir={cwd or Path.cwd()}", *command)
        return run(*words, check=check, timeout=timeout, env={**os.environ, "HOME": str(self.namespace.home), **(environment or {})})

    def over_ssh(self, *command: str, check: bool = True, user: str = "root", timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command through SSH, in a connection of its own."""
        return run("ssh", "-F", self._client.config_file, f"{user}@{self.address}", *command, check=check, timeout=timeout)

    # -- to count

    def mark(self) -> int:
        """The number of SSH connections so far: give it to `connections_since`."""
        return self.ssh.accepted()

    def connections_since(self, mark: int) -> int:
        return self.ssh.accepted() - mark

    # -- what the host's kernel says

    @property
    def numa_balancing(self) -> Path:
        """The file behind /proc/sys/kernel/numa_balancing of a host with GPUs: a test writes and reads it."""
        return self.folder / "profile" / "numa_balancing"

    # -- to break and mend

    def cut_network(self) -> None:
        """The cable is out: nothing answers, nothing is refused."""
        run("ip", "link", "set", self.name, "down")

    def restore_network(self) -> None:
        run("ip", "link", "set", self.name, "up")

    def drop_port(self, port: int) -> None:
        """A firewall that drops packets to a port of the host."""
        self._rule("--append", port)

    def open_port(self, port: int) -> None:
        self._rule("--delete", port)

    def _rule(self, verb: str, port: int) -> None:
        words = ["iptables", "--wait", verb, "INPUT", "--in-interface", "eth0", "--protocol", "tcp", "--dport", str(port), "--jump", "DROP"]
        run(*self.namespace.inside(*words))

    def stop_docker(self) -> None:
        """dockerd is down; `start_docker` brings it back."""
        self._needs_engine().stop()

    def start_docker(self) -> None:
        self._needs_engine().start()

    def mend(self) -> None:
        """As new for the next test: network, SSH and Docker are back, and no container is left."""
        self.restore_network()
        run(*self.namespace.inside("iptables", "--wait", "--flush"))
        if not self.ssh.running:
            self.ssh.start()
        self.ssh.authorize()
        self._client.trust(self.address, self.ssh.public_host_key())
        if self.engine:
            if not self.engine.answers():
                self.engine.start()
            self.engine.remove_containers()

    def _needs_engine(self) -> DockerEngine:
        if not self.engine:
            raise BedError(f"{self.name} was made with docker=False")
        return self.engine
