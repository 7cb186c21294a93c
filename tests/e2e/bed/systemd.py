"""A real systemd as the first process of a host, with logind: users linger and have their `systemd --user`.

It sees only the units that are written here, copies of the distribution's for D-Bus, logind and user managers; none of this machine's services.
It lives in a cgroup namespace, below a cgroup of the host's name.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from .processes import BedError

SYSTEMD = Path("/lib/systemd/systemd")
UNITS = SYSTEMD.parent / "system"
TAKEN = ("dbus.service", "dbus.socket", "systemd-logind.service", "user@.service", "user-runtime-dir@.service", "user.slice")
EMPTY = ("sysinit", "basic", "sockets", "shutdown", "local-fs", "network", "nss-user-lookup", "paths", "timers", "slices", "emergency")
TARGET = "[Unit]\nDefaultDependencies=no\nRequires=dbus.socket systemd-logind.service\nAfter=systemd-logind.service\n"

_JOIN = '''name=$1; shift
for group in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ ! -d "$group" ] || { found=1; mkdir -p "$group/$name"; echo $$ >"$group/$name/cgroup.procs"; }
done
[ -n "${found:-}" ] || { mkdir -p "/sys/fs/cgroup/$name"; echo $$ >"/sys/fs/cgroup/$name/cgroup.procs"; }
exec "$@"'''
_CGROUPS = '''if [ -d /sys/fs/cgroup/systemd ]; then
  mount -t tmpfs none /sys/fs/cgroup; mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
  mount -t cgroup -o none,name=systemd systemd /sys/fs/cgroup/systemd; mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
else mount -t cgroup2 cgroup2 /sys/fs/cgroup; fi'''


def joined(name: str, command: list[str]) -> list[str]:
    """The command line, run in the cgroup of that name."""
    return ["sh", "-e", "-c", _JOIN, "sh", name, *command]


def write_units(folder: Path) -> None:
    """The unit files. Raises BedError where the distribution's are not there."""
    lacking = [name for name in (SYSTEMD, *(UNITS / name for name in TAKEN)) if not name.exists()]
    if lacking or not list(Path("/lib").glob("*/security/pam_systemd.so")):
        raise BedError(f"systemd with logind and its PAM module (libpam-systemd, dbus) is not whole here: {lacking or 'pam_systemd.so'} is not there")
    folder.mkdir()
    for name in TAKEN:
        text = (UNITS / name).read_text()
        (folder / name).write_text("".join(f"{line}\n" for line in text.splitlines() if not line.startswith("PrivateTmp=")))  # /tmp is this machine's
    for name in EMPTY:
        (folder / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    (folder / "bed.target").write_text(TARGET)


def script(units: Path, state: Path) -> list[str]:
    """The end of what the host's first process does: it becomes systemd."""
    variables = ["container=amd-vllm-bed", f"SYSTEMD_UNIT_PATH={units}", "SYSTEMD_GENERATOR_PATH=/nonexistent",
                 "SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/nonexistent"]
    return [f"mount --bind {state} /var/lib/systemd", _CGROUPS, "mkdir -p /run/dbus", "touch /run/namespace-ready",
            shlex.join(["exec", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *variables, str(SYSTEMD), "--system", "--unit=bed.target",
                        "--log-target=console", "--show-status=no"])]
