"""Automatic NUMA balancing of a host, off while an endpoint is up that asks for it: an explicit resource that puts the old value back.

pulumi-command runs it by our own `ssh`: one identity, one trust decision, one connection. The resource is declared by its token, without
pulumi-command's Python package: where that is installed, every operation wants its plugin, and only who asks for this needs it.
"""
from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import pulumi

from planning.errors import Refusal
from providers.transport.address import Target

PLUGIN_VERSION = "1.2.1"  # of pulumi-command; the engine fetches it when the resource is declared
FILE = "/proc/sys/kernel/numa_balancing"
_PUT = r'''
put() {
  { if [ "$(id -u)" = 0 ]; then echo "$1" >"$file"; else echo "$1" | sudo -n tee "$file" >/dev/null; fi; } 2>/dev/null
  [ "$(cat "$file" 2>/dev/null)" = "$1" ] || { printf '%s\n' "$problem" >&2; exit 1; }
}
'''
_OFF = r'file=$1 problem=$2; read -r old || old=; [ -e "$file" ] || { echo 0; exit 0; }; now=$(cat "$file" 2>/dev/null)' + _PUT + r'''[ -n "$old" ] || old=$now
put 0
printf '%s\n' "$old"
'''
_BACK = r'file=$1 problem=$2; read -r old || old=' + _PUT + r'''case $old in [1-9]) ;; *) exit 0 ;; esac
[ "$(cat "$file" 2>/dev/null)" = 0 ] || exit 0    # somebody has set it since: theirs stays
put "$old"
'''


class Command(pulumi.CustomResource):
    """`command:local:Command`: lines for this machine's shell. The last run's standard output is in PULUMI_COMMAND_STDOUT of the next."""

    stdout: pulumi.Output[str]

    def __init__(self, name: str, create: str, delete: str, triggers: list[str], opts: pulumi.ResourceOptions) -> None:
        properties = {"create": create, "update": create, "delete": delete, "triggers": triggers, "stdout": None, "stderr": None}
        super().__init__("command:local:Command", name, properties, pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version=PLUGIN_VERSION)))


def off(name: str, connection: Mapping[str, Any], opts: pulumi.ResourceOptions) -> Command:
    """The resource for one host. Its standard output is the old value, which every later step gets back from the plugin."""
    target = Target.of(name, connection)
    return Command(name, _command(target, _OFF), _command(target, _BACK), [target.address],
                   pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)))


def _command(target: Target, script: str) -> str:
    """A line for this machine's shell: the script on the host, the old value (or nothing) as its input."""
    words = ["sh", "-c", script, "sh", FILE, _problem(target.name).text()]
    there = shlex.join([*target.ssh(), shlex.join(words)] if target.parsed.scheme == "ssh" else words)
    return f'''printf '%s\\n' "${{PULUMI_COMMAND_STDOUT-}}" | {there}'''


def _problem(host: str) -> Refusal:
    return Refusal("no-access", f"{host}: kernel.numa_balancing could not be set", "neither root nor sudo without a password, or a read-only /proc/sys",
                   f"the right to write {FILE}", "connect as root, or allow the user `sudo -n tee` on that file; or remove fixNumaBalancing")
