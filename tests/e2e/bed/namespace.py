"""A machine made of Linux namespaces: network, mounts, processes, host name, with the files of a CPU profile bound in.

The first process inside is a shell that waits. When it ends, the kernel kills everything that runs inside and drops
every mount; it ends when our Python process does, as each process of the chain dies with its parent.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from . import gpus, profile_files, systemd
from .processes import BedError, children, run, start, stop, wait_until
from .profiles import PROFILES, real_memory_bytes
from .session import Session

PODMAN_STORE = "/var/lib/containers"
USER = "ops"
USER_ID = 20213
"""A user of the host who may log in and may not use Docker. Rootless podman works for it."""
USER_RUNTIME = f"/run/user/{USER_ID}"
SUBORDINATE = f"{USER}:{USER_ID * 100}:65536\n"


class Namespace:
    """The namespaces of one host, and the way into them."""

    def __init__(self, session: Session, profile: str, memory_bytes: int | None, with_systemd: bool = False) -> None:
        self.number = number = session.take_number()
        self.name, self.subnet = session.name(number), session.subnet(number)
        self.address = f"{self.subnet}.2"
        self.folder = session.folder / f"host-{number}"
        self.home = Path(pwd.getpwuid(0).pw_dir)
        self._profile = PROFILES[profile]
        self._memory = memory_bytes or real_memory_bytes()  # written down once: the real MemTotal of a virtual machine may change
        self._with_systemd = with_systemd
        self._holder: subprocess.Popen[bytes] | None = None
        self.process_id = 0

    def open(self) -> None:
        """Make the network, then the rest. Raises BedError."""
        runtime = USER_RUNTIME.lstrip("/")
        for part in ("run", "home", "ops", "profile", "containers", "bare-proc", "bare-sys", "systemd", runtime):
            (self.folder / part).mkdir(parents=True)
        (self.folder / runtime).chmod(0o700)
        for part in ("ops", runtime):
            os.chown(self.folder / part, USER_ID, USER_ID)
        self._write_profile()
        self._write_accounts()
        self._open_network()
        (self.folder / "init.sh").write_text(self._script())
        command = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if self._with_systemd:
            command = systemd.joined(self.name, [*command, "--cgroup"])
        self._holder = start(["nsenter", f"--net=/run/netns/{self.name}", *command, "sh", "-e", self.folder / "init.sh"], self.folder / "init.log")
        ready = self.folder / "run" / "namespace-ready"
        wait_until(lambda: ready.exists() or self._holder.poll() is not None, f"namespaces of {self.name}", log=self.folder / "init.log")
        if not ready.exists():
            raise BedError(f"namespaces of {self.name}: {(self.folder / 'init.log').read_text()}")
        self.process_id = children(self._holder.pid)[0]
        if self._with_systemd:
            wait_until(lambda: run(*self.inside("loginctl", "list-users"), check=False).returncode == 0, f"logind of {self.name}",
                       log=self.folder / "init.log")

    def close(self) -> None:
        """End everything inside; the caller's cleaning removes what stays on disk."""
        if self._holder:
            stop(self._holder, patience=0)

    @property
    def has_gpus(self) -> bool:
        return bool(self._profile.gpus)

    def inside(self, *command: str | Path) -> list[str]:
        """The command line that runs `command` inside as root."""
        return ["nsenter", "-t", str(self.process_id), "--mount", "--net", "--uts", "--ipc", "--pid", "--", *map(str, command)]

    def _open_network(self) -> None:
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "address", "add", f"{self.subnet}.1/24", "dev", self.name)
        run("ip", "link", "set", self.name, "up")
        for words in (("link", "set", "lo", "up"), ("address", "add", f"{self.address}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            run("ip", "-n", self.name, *words)

    def _write_profile(self) -> None:
        gpu_files = gpus.files(self._profile.gpus, self._profile.nodes) if self._profile.gpus else {}
        for name, text in {**profile_files.files(self._profile, self._memory), **gpu_files}.items():
            path = self.folder / "profile" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.folder / "profile" / "lscpu").chmod(0o755)

    def _write_accounts(self) -> None:
        """This machine's accounts with one more, and root able to log in by key whatever this machine says."""
        shadow = [line for line in Path("/etc/shadow").read_text().splitlines() if not line.startswith(("root:", f"{USER}:"))]
        (self.folder / "shadow").write_text("\n".join(["root:*:20000::::::", *shadow, f"{USER}:*:20000::::::"]) + "\n")
        (self.folder / "shadow").chmod(0o600)
        passwd = [line for line in Path("/etc/passwd").read_text().splitlines() if not line.startswith(f"{USER}:")]
        entry = f"{USER}:x:{USER_ID}:{USER_ID}::{self.folder}/ops:/bin/sh"
        (self.folder / "passwd").write_text("\n".join([*passwd, entry]) + "\n")
        (self.folder / "group").write_text(f"{Path('/etc/group').read_text()}{USER}:x:{USER_ID}:\n")
        (self.folder / "subordinate").write_text(SUBORDINATE)

    def _script(self) -> str:
        """What the first process inside does. Our own caches stay visible, so that Pulumi can run in here too."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amd-vllm"
        folder, profile = self.folder, self.folder / "profile"
        binds = [(profile / "proc/cpuinfo", "/proc/cpuinfo"), (profile / "cpu", "/sys/devices/system/cpu"),
                 (profile / "node", "/sys/devices/system/node"), (profile / "lscpu", Path(shutil.which("lscpu") or "/usr/bin/lscpu").resolve()),
                 (folder / "passwd", "/etc/passwd"), (folder / "shadow", "/etc/shadow"), (folder / "containers", PODMAN_STORE),
                 (folder / "group", "/etc/group"), (folder / "subordinate", "/etc/subuid"), (folder / "subordinate", "/etc/subgid"),
                 (profile / "proc/meminfo", "/proc/meminfo")]
        lines = [f"hostname {self.name}", f"mkdir -p {PODMAN_STORE}", "for file in /etc/subuid /etc/subgid; do [ -e $file ] || touch $file; done"]
        lines += ["mkdir -p /dev/mqueue", "mountpoint -q /dev/mqueue || mount -t mqueue mqueue /dev/mqueue"]  # systemd does it on real machines
        # the kernel lets a user's container mount /proc and /sys only where there are such without other mounts on them
        lines += [f"mount -t proc proc {folder}/bare-proc", f"mount -t sysfs sysfs {folder}/bare-sys"]
        for kept in (cache, Path(sys.base_prefix)):  # a Python below the home directory is the one of our .venv
            if kept.is_relative_to(self.home) and kept.exists():
                inner = folder / "home" / kept.relative_to(self.home)
                lines += [f"mkdir -p {shlex.quote(str(inner))}", f"mount --bind {shlex.quote(str(kept))} {shlex.quote(str(inner))}"]
        lines += [f"mkdir -p {folder}/run/sshd {folder}/run/amd-vllm-profile {folder}/run/lock", f"cp {profile}/lscpu* {folder}/run/amd-vllm-profile/"]
        lines += [f"mount --bind {source} {target}" for source, target in binds]
        lines += gpus.script(folder) if self._profile.gpus else []
        lines += [f"mount --rbind {folder}/home {self.home}", f"mount --bind {folder}/run /run"]
        if self._with_systemd:
            systemd.write_units(folder / "units")
            lines += systemd.script(folder / "units", folder / "systemd")
        else:
            lines += ["touch /run/namespace-ready", "while :; do sleep 3600 & wait $!; done"]
        return "\n".join(lines) + "\n"
