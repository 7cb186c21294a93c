"""Addresses: how a host is reached (`ssh://user@host:port`, `local`, `recorded:DIR`), where a server listens, where readers find it. Pure."""
from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

REACHED = "`ssh://user@host:port`, `local` or `recorded:DIR`"
_SSH = re.compile(r"ssh://(?:(?P<user>[A-Za-z_][\w.-]{0,63})@)?(?P<host>[A-Za-z0-9][\w.-]{0,252}|\[[0-9A-Fa-f:.]+(?:%\w+)?\])(?::(?P<port>\d{1,5}))?/?\Z")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)*(?!\d+\.?\Z){_LABEL}\.?\Z")
_WITH_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::(\d{1,5}))?\Z")


@dataclass(frozen=True)
class Address:
    """A parsed address of a host. `scheme`: ssh, local or recorded; `path` only for recorded."""

    scheme: str
    user: str | None = None
    host: str | None = None
    port: int | None = None
    path: str | None = None

    @property
    def url(self) -> str:
        user, port = f"{self.user}@" if self.user else "", f":{self.port}" if self.port else ""
        return f"ssh://{user}{self.host}{port}"


def parse_address(text: str) -> Address | None:
    """None for what is no address (a password in it, an option in disguise, a shell word, a path with a scheme that nobody knows)."""
    if text == "local":
        return Address("local")
    if text.startswith("recorded:") and len(text) > len("recorded:"):
        return Address("recorded", path=text.removeprefix("recorded:"))
    match = _SSH.match(text)
    if match is None or match["port"] and not 0 < int(match["port"]) < 65536:
        return None
    return Address("ssh", match["user"], match["host"], int(match["port"]) if match["port"] else None)


def ip(text: str) -> IPv4Address | IPv6Address | None:
    """None for what is no IP address, or one with a zone. An IPv4 address in the clothes of IPv6 is one of IPv4."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return None if "%" in text else getattr(found, "ipv4_mapped", None) or found


def host_and_port(text: str) -> tuple[str, int | None] | None:
    """An IP address, one in brackets or a DNS name, each with `:port` or without; None for anything else."""
    whole, match = ip(text), _WITH_PORT.match(text)
    if whole or match is None:
        return (str(whole), None) if whole else None
    host, port = match[1].strip("[]"), int(match[2]) if match[2] else None
    known = ip(host) or (_NAME.match(host) and match[1] == host)
    return (str(ip(host) or host), port) if known and (port is None or 0 < port < 65536) else None


def bracketed(host: str) -> str:
    """As it stands before a `:port`: brackets around IPv6."""
    return f"[{host}]" if ":" in host else host
