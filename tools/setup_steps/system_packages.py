"""What the end-to-end tests need from the distribution: Docker and a registry, Podman, systemd, OpenSSH's server, iproute2, iptables."""

import os
import shutil
import subprocess
from pathlib import Path

from .progress import SetupError, done, say

NEEDED = {
    "dockerd": "docker.io", "docker": "docker.io", "podman": "podman", "sshd": "openssh-server", "ssh": "openssh-client",
    "docker-registry": "docker-registry", "ip": "iproute2", "iptables": "iptables", "unshare": "util-linux",
    "nsenter": "util-linux", "setpriv": "util-linux", "newuidmap": "uidmap", "loginctl": "libpam-systemd", "dbus-daemon": "dbus",
    "numactl": "numactl",
}
"""Program -> Debian's package."""


def missing() -> dict[str, str]:
    """The programs that are not here, with their packages."""
    folders = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/local/sbin"])
    return {program: package for program, package in NEEDED.items() if not shutil.which(program, path=folders)}


def install() -> None:
    """Install what is missing. Raises SetupError where that is not ours to do."""
    lacking = missing()
    if not lacking:
        return
    packages = sorted(set(lacking.values()))
    if os.geteuid() != 0 or not _is_debian():
        raise SetupError(f"the end-to-end tests need {', '.join(sorted(lacking))}, not found here. "
                         f"Install them (Debian, Ubuntu, as root: apt-get install {' '.join(packages)}), "
                         "or run `SKIP_E2E=1 make test`")
    say(f"end-to-end tests: installing {', '.join(packages)} from the distribution")
    _apt("update", "-qq")
    _apt("install", "-y", "-qq", *packages)
    if set(missing()) == {"docker"}:                                  # newer distributions have the client in a package of its own
        _apt("install", "-y", "-qq", "docker-cli")
    if missing():
        raise SetupError(f"installed, but still not found: {', '.join(sorted(missing()))}")
    done("end-to-end tests: packages are there")


def _is_debian() -> bool:
    return shutil.which("apt-get") is not None and Path("/etc/debian_version").exists()


def _apt(*arguments: str) -> None:
    # policy-rc.d answers 101: a package must not start a service on somebody's machine; the tests start their own
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        ran = subprocess.run(["apt-get", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    finally:
        if ours:
            policy.unlink()
    if ran.returncode:
        raise SetupError(f"`apt-get {' '.join(arguments)}` failed:\n" + "\n".join(ran.stdout.splitlines()[-15:]))
