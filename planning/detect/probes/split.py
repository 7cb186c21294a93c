"""Takes the output of the probe script apart again: text by section name, and the exit status of each as one more section.

Anything before the header (a banner, a message of the day) is passed over. Sections that we do not know are kept; a section
whose end is missing was cut with the connection and is left out, its status says so.
"""
from __future__ import annotations

import re

from planning.detect.probes.script import CUT_STATUS, HEADER

STATUS_FILE = "probe-status.txt"


def split(stdout: str) -> dict[str, str]:
    """Section name -> text, with `probe-status.txt` ('name status' lines). Empty when the header is missing."""
    head = re.search(rf"^{HEADER} ([0-9a-f]{{4,40}}|\d{{4,40}})\r?$", stdout, re.M)
    if not head:
        return {}
    nonce = re.escape(head[1])
    begin = re.compile(rf"^=={nonce} BEGIN ([\w.+-]{{1,80}})\r?\n", re.M)
    sections: dict[str, str] = {}
    statuses: list[str] = []
    at = head.end()
    while match := begin.search(stdout, at):
        name = match[1]
        end = re.compile(rf"\r?\n=={nonce} END {re.escape(name)} (\d{{1,3}})\r?(?:\n|$)").search(stdout, match.end() - 1)
        if not end:
            statuses.append(f"{name} {CUT_STATUS}")
            break
        sections[name] = stdout[match.end():max(end.start(), match.end())]
        statuses.append(f"{name} {end[1]}")
        at = end.end() - 1
    sections[STATUS_FILE] = "".join(f"{line}\n" for line in statuses)
    return sections
