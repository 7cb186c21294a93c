"""The SSH server of a host, and what a client needs to reach it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from .namespace import USER, USER_RUNTIME, Namespace
from .processes import run, start, stop, wait_until

CONFIG = """
Port 22
ListenAddress 0.0.0.0
HostKey {folder}/ssh_host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
LogLevel VERBOSE
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
MaxSessions 10
AllowTcpForwarding yes
Subsystem sftp internal-sftp
Match User {user}
    SetEnv XDG_RUNTIME_DIR={runtime}
"""
"""The last lines are what pam_systemd does."""


def make_key(path: Path) -> None:
    """A key pair without a passphrase."""
    for old in (path, path.with_name(path.name + ".pub")):
        old.unlink(missing_ok=True)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "amd-vllm test bed", "-f", path)


class SshServer:
    """sshd inside a namespace. `log` is its log, level VERBOSE."""

    def __init__(self, namespace: Namespace, client_key: Path) -> None:
        self._namespace, self._client_key = namespace, client_key
        self.folder = namespace.folder
        self.log = self.folder / "sshd.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if not (self.folder / "ssh_host_key").exists():
            make_key(self.folder / "ssh_host_key")
            self.authorize()
        (self.folder / "sshd_config").write_text(CONFIG.format(folder=self.folder, user=USER, runtime=USER_RUNTIME))
        self._process = start(self._namespace.inside("/usr/sbin/sshd", "-D", "-e", "-f", self.folder / "sshd_config"), self.log)
        wait_until(self._listens, f"sshd of {self._namespace.name}", log=self.log)

    def _listens(self) -> bool:
        inside = run("ip", "netns", "exec", self._namespace.name, "cat", "/proc/net/tcp", check=False).stdout
        return any(line.split()[1:4:2] == ["00000000:0016", "0A"] for line in inside.splitlines()[1:])

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Refuse new connections and cut those that are open."""
        if self._process:
            for process in self._processes():
                os.kill(process, signal.SIGKILL)
            stop(self._process)
            self._process = None

    def _processes(self) -> list[int]:
        """The listener and its connections, which would not end with it, by id."""
        listed = run("ip", "netns", "pids", self._namespace.name, check=False).stdout.split()
        ours = []
        for process in map(int, listed):
            try:
                name = Path(f"/proc/{process}/comm").read_text().strip()
            except OSError:
                continue
            if name.startswith("sshd"):
                ours.append(process)
        return ours

    def authorize(self) -> None:
        """Let the client's key in (again)."""
        public = self._client_key.with_name(self._client_key.name + ".pub")
        (self.folder / "authorized_keys").write_bytes(public.read_bytes())

    def remove_authorized_key(self) -> None:
        (self.folder / "authorized_keys").write_text("")

    def change_host_key(self) -> None:
        """As if another machine answered at this address: a new host key, and a client that knows the old one."""
        self.stop()
        make_key(self.folder / "ssh_host_key")
        self.start()

    def public_host_key(self) -> str:
        return " ".join((self.folder / "ssh_host_key.pub").read_text().split()[:2])

    def accepted(self) -> int:
        """SSH connections that were let in since the host was made."""
        return self.log.read_text(errors="replace").count("Accepted publickey") if self.log.exists() else 0
