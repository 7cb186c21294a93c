"""Replaces network addresses by those of the documentation ranges, the same one by the same stand-in everywhere. Pure.

Addresses of this machine only (127.*, ::1, 0.0.0.0, ::) tell nothing and stay.
"""
from __future__ import annotations

import re
from collections import Counter

from planning.detect.text import lines

OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IPV4 = re.compile(rf"(?<![\w.]){OCTET}\.{OCTET}\.{OCTET}\.{OCTET}(?![\w.]*\.\d)(?!\w)")
MAC = re.compile(r"(?<![\w:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:])", re.I)
IPV6 = re.compile(r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4})|(?:[0-9a-f]{1,4}:){1,6}:(?:[0-9a-f]{1,4}:){0,5}[0-9a-f]{1,4})(?![\w:])", re.I)
ROW = re.compile(r"(\s*\d+): [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} (0A)\b")


def addresses(text: str, seen: dict[str, str], done: Counter[str]) -> str:
    """`seen`: stand-ins given so far."""
    def stand_in(match: re.Match[str], kind: str, pattern: str) -> str:
        word = match[0].lower()
        if word.startswith(("127.", "0.0.0.0", "00:00:00:00:00:00", "192.0.2.", "2001:db8:", "02:00:00:")):
            return match[0]
        if word not in seen:
            done[kind] += 1
            seen[word] = pattern.format(len(seen) + 1)
        return seen[word]

    text = MAC.sub(lambda match: stand_in(match, "MAC addresses", "02:00:00:00:00:{:02x}"), text)
    text = IPV6.sub(lambda match: stand_in(match, "IPv6 addresses", "2001:db8::{:x}"), text)
    return IPV4.sub(lambda match: stand_in(match, "IPv4 addresses", "192.0.2.{}"), text)


def proc_net_tcp(text: str, done: Counter[str]) -> str:
    """Only listening sockets, with their ports and no address: the others tell who talks to whom."""
    kept: list[str] = []
    for line in lines(text):
        row = ROW.match(line)
        if "local_address" in line:
            kept.append("  sl  local_address rem_address   st")
        elif row:
            kept.append(f"{row[1]}: 00000000:{row[2]} 00000000:0000 {row[3]}")
        elif line.strip():
            done["connections left out"] += 1
    return "\n".join(kept) + ("\n" if kept else "")
