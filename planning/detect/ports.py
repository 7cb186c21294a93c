"""Reads which TCP ports are taken: `ss -ltn` of any age, and /proc/net/tcp{,6}. Text in, port numbers out."""
from __future__ import annotations

import re

from planning.detect.text import lines

LISTEN = "0A"


def parse_ss(text: str) -> tuple[list[tuple[str, str]], bool]:
    """(address, port as printed) of every listener, and whether the output is a list at all (old versions answer -H with usage).

    Columns shift with a Netid column and with padding; the local address is the first word that ends in ':port' or ':name'.
    """
    found: list[tuple[str, str]] = []
    seen_header = False
    for line in lines(text):
        words = line.split()
        if words[:1] in (["State"], ["Netid"]):
            seen_header = True
        elif "LISTEN" in words[:2]:
            local = next((word for word in words if re.search(r":(\d{1,5}|[a-z][\w.-]*)$", word)), None)
            if local:
                address, _, port = local.rpartition(":")
                found.append((re.sub(r"%[\w.-]+", "", address).strip("[]"), port))
    return found, seen_header or bool(found)


def parse_proc_net(text: str) -> tuple[tuple[int, ...], bool]:
    """Listening ports of /proc/net/tcp and tcp6, and whether the table's header is there."""
    ports: set[int] = set()
    header = False
    for line in lines(text):
        header = header or "local_address" in line
        match = re.match(r"\s*\d+:\s+[0-9A-F]{8,32}:([0-9A-F]{4})\s+[0-9A-F]{8,32}:[0-9A-F]{4}\s+([0-9A-F]{2})\b", line)
        if match and match[2] == LISTEN:
            ports.add(int(match[1], 16))
    return tuple(sorted(ports)), header
