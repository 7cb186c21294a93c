"""How a host is reached: its address and the ssh options that belong to a connection.

One set of options serves our own `ssh`, the docker provider's (`ssh_opts`) and forwards, so there is one identity, one
trust decision and one multiplexed connection per host. Nothing here opens anything.
"""
from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planning.addresses import REACHED, Address, parse_address
from planning.errors import Refusal
from planning.secrecy import shown

CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Target:
    """How one host is reached: the host keys of the configuration that concern the connection."""

    name: str
    address: str
    identity_file: str | None = None
    known_hosts: str | None = None
    accept_new_host_key: bool = False

    @classmethod
    def of(cls, name: str, keys: Mapping[str, Any]) -> Target:
        """From a provider's properties or parsed configuration (snake case)."""
        return cls(name, keys["address"], keys.get("identity_file"), keys.get("known_hosts"), bool(keys.get("accept_new_host_key")))

    @property
    def parsed(self) -> Address:
        parsed = parse_address(self.address)
        if parsed is None:
            raise ValueError(self.address)
        return parsed

    def ssh_options(self) -> list[str]:
        """Options for every `ssh` process. `~` is left to ssh, so that the same text is right for everybody who shares state."""
        keys = {"BatchMode": "yes", "ConnectTimeout": CONNECT_SECONDS, "ServerAliveInterval": 5, "ServerAliveCountMax": 3,
                "StrictHostKeyChecking": "accept-new" if self.accept_new_host_key else "yes", "LogLevel": "ERROR",
                "ControlMaster": "auto", "ControlPath": self.control_path, "ControlPersist": 60,
                **({"UserKnownHostsFile": self.known_hosts} if self.known_hosts else {}),
                **({"IdentityFile": self.identity_file, "IdentitiesOnly": "yes"} if self.identity_file else {})}
        return [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]

    def ssh(self, *options: str) -> list[str]:
        """The words of an `ssh` process to this host, without the command."""
        address = self.parsed
        login = [*(["-l", address.user] if address.user else []), *(["-p", str(address.port)] if address.port else [])]
        return ["ssh", *self.ssh_options(), *options, *login, "--", str(address.host).strip("[]")]

    @property
    def control_path(self) -> str:
        """Short (a unix socket path ends at 104 bytes), and its own for each way of reaching a host."""
        own = "\0".join(map(str, (self.address, self.identity_file, self.known_hosts, self.accept_new_host_key)))
        return f"~/.ssh/amd-vllm-{hashlib.sha256(own.encode()).hexdigest()[:16]}"


def bad_address(name: str, text: str) -> Refusal:
    return Refusal("bad-value", f"host {name}: address", shown(text), REACHED, "correct `address:`")
