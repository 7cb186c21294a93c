"""An image registry on a host of the bed, at 127.0.0.1:5000 there: Docker asks for no certificate on loopback."""

from __future__ import annotations

import subprocess

from .host import Host
from .images import Image
from .podman import Podman
from .processes import run, start, stop, wait_until

ADDRESS = "127.0.0.1:5000"
CONFIG = """
version: 0.1
log: {{level: warn}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}}}
http: {{addr: "{address}"}}
"""


class Registry:
    """Debian's docker-registry, with a store in the host's folder. `login`: a line of an htpasswd file, for who may push and pull."""

    def __init__(self, host: Host, login: str | None = None) -> None:
        self._host, self.folder, self._login = host, host.folder / "registry", login
        self.log = self.folder / "registry.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Registry:
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "config.yml"
        config.write_text(CONFIG.format(folder=self.folder, address=ADDRESS))
        if self._login:
            (self.folder / "htpasswd").write_text(f"{self._login}\n")
            config.write_text(config.read_text() + f"auth: {{htpasswd: {{realm: bed, path: {self.folder}/htpasswd}}}}\n")
        self._process = start(self._host.namespace.inside("docker-registry", "serve", config), self.log)
        wait_until(self._listens, f"the registry of {self._host.name}", log=self.log)
        return self

    def stop(self) -> None:
        if self._process:
            stop(self._process)
            self._process = None

    def push(self, image: Image, mirror: str | None = None) -> str:
        """An image of the stand-in, pushed and taken out of the host's Docker again; gives its digest. `mirror`: pushed under this name too."""
        docker = self._host.engine.docker
        image.load(self._host.engine)
        docker("push", image.name)
        listed = docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", image.name).stdout
        if mirror:
            docker("tag", image.name, mirror)
            docker("push", mirror)
            docker("rmi", mirror)
        docker("rmi", "--force", image.name)
        return listed.strip().partition("@")[2]

    def push_by_podman(self, image: Image, podman: Podman) -> str:
        """The same with Podman, which compresses: the digest is that of what was pushed."""
        file = podman.home / "digest"
        image.load(podman)
        podman.call("push", "--tls-verify=false", "--digestfile", str(file), image.name)
        podman.call("rmi", "--force", image.name)
        return file.read_text().strip()

    def _listens(self) -> bool:
        inside = run("ip", "netns", "exec", self._host.name, "cat", "/proc/net/tcp", check=False).stdout
        return any(line.split()[1:4:2] == ["0100007F:1388", "0A"] for line in inside.splitlines()[1:])
