"""The bed of one test session: its slot, its hosts, its folder; `close` leaves nothing."""

from __future__ import annotations

import os
import re
import shutil

from . import cleaning
from .client import Client
from .engine import DockerEngine
from .host import Host
from .processes import BedError
from .session import open_session

NEEDED = ("ip", "unshare", "nsenter", "setpriv", "dockerd", "docker", "docker-registry", "newuidmap", "loginctl", "dbus-daemon",
          "numactl", "ssh", "ssh-keygen", "iptables", "lscpu")


class Bed:
    """Makes hosts and engines, and takes all of them down."""

    def __init__(self) -> None:
        os.environ["PATH"] += ":/usr/sbin:/sbin"          # some environments of root lack them
        lacking = [name for name in NEEDED if not shutil.which(name)]
        if lacking:
            raise BedError(f"the test bed needs {', '.join(lacking)}: run `tools/setup --e2e`, or leave the end-to-end tests out with SKIP_E2E=1")
        cleaning.clean_dead()
        self.session = open_session()
        cleaning.clean_slot(self.session.slot)
        self.session.make_folder()
        self.folder = self.session.folder
        self.client = Client(self.folder)
        self._hosts: list[Host] = []
        self._engines: list[DockerEngine] = []

    def host(self, kind: str = "genoa-small", memory_bytes: int | None = None, docker: bool = True, systemd: bool = False) -> Host:
        """A new host, running. Kinds: `profiles.PROFILES`. `systemd`: it is the first process there, with logind."""
        host = Host(self.session, self.client, kind, memory_bytes, docker, systemd)
        self._hosts.append(host)
        return host.open()

    def remove(self, host: Host) -> None:
        """Take one host down before the session ends; its number is free again."""
        self._hosts.remove(host)
        host.close()
        cleaning.clean_names(re.compile(f"^{re.escape(host.name)}$"))
        shutil.rmtree(host.folder, ignore_errors=True)
        self.session.give_back(host.namespace.number)

    def engine(self) -> DockerEngine:
        """A Docker engine beside the tests, on this machine's own network, with a socket of its own."""
        name = self.session.name(0)
        engine = DockerEngine(self.folder / "docker", self.folder / "docker.sock", name)
        self._engines.append(engine)
        engine.start()
        return engine

    def close(self) -> list[str]:
        """Take everything down; gives what could not be removed (nothing, or the bed has a bug)."""
        for engine in self._engines:
            engine.remove_containers()
            engine.stop()
        for host in self._hosts:
            host.close()
        cleaning.clean_slot(self.session.slot)
        left = cleaning.left_of(self.session.slot)
        self.session.close()
        return left
