"""Decides why GPUs cannot be used: no card, a card without driver, a driver that this user may not open. Three answers, three remedies.

From the complaints of amd-smi, rocm-smi and rocminfo and from our own look at /dev/kfd and /dev/dri, giving `Access`.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from planning.detect.text import clean, lines, number

COMPLAINTS: tuple[tuple[str, str], ...] = (
    ("no-module", r"amdgpu not found in modules|ROCk module is NOT loaded|/sys/module/amdgpu/initstate: No such file"),
    ("invalid", r"/dev/kfd[^\n]*Invalid argument"),
    ("denied", r"/dev/kfd[^\n]*Permission denied|\d{1,6} device\(s\) denied|missing the following required groups"),
    ("none", r"No AMD GPUs specified|No JSON data to report|^No GPU devices? (found|detected)"),
)


@dataclass
class Access:
    """What stands in the way. `nodes`: 'kfd' or 'renderD128' -> (uid, gid, mode, readable and writable)."""

    complaints: dict[str, str] = field(default_factory=dict)     # kind -> probe that complained
    detail: dict[str, str] = field(default_factory=dict)         # kind -> the line
    nodes: dict[str, tuple[int, int, bool]] = field(default_factory=dict)
    looked: bool = False                                         # our probe of /dev ran to its end

    @property
    def denied_nodes(self) -> list[str]:
        return sorted(name for name, (_, _, usable) in self.nodes.items() if not usable)

    @property
    def kfd_gid(self) -> int | None:
        return self.nodes["kfd"][1] if "kfd" in self.nodes else None

    @property
    def render_gids(self) -> tuple[int, ...]:
        return tuple(sorted({gid for name, (_, gid, _) in self.nodes.items() if name.startswith("renderD")}))


def note_complaints(access: Access, text: str, probe: str) -> None:
    """Adds what a tool's output complains of."""
    body = clean(text)
    for kind, pattern in COMPLAINTS:
        match = re.search(pattern, body, re.M)
        if match:
            access.complaints.setdefault(kind, probe)
            start = body.rfind("\n", 0, match.start()) + 1
            end = body.find("\n", match.end())
            access.detail.setdefault(kind, body[start:end if end >= 0 else None].strip(" •")[:200])


def parse_nodes(access: Access, text: str) -> None:
    """Our probe: 'kfd uid=0 gid=109 usable=1' and 'renderD128 …', then 'scanned:1'."""
    for line in lines(text):
        words = line.split()
        if words == ["scanned:1"]:
            access.looked = True
        if len(words) == 4 and (words[0] == "kfd" or re.fullmatch(r"renderD\d+", words[0])):
            row = dict(word.partition("=")[::2] for word in words[1:])
            uid, gid = number(row.get("uid")), number(row.get("gid"))
            if uid is not None and gid is not None:
                access.nodes[words[0]] = (uid, gid, row.get("usable") == "1")


def remedy(access: Access, user: str | None) -> str:
    """What to do about a missing permission, with the numbers of the groups."""
    gids = sorted({access.nodes[name][1] for name in access.denied_nodes})
    if not gids:
        return "put the user into the groups that own /dev/kfd and /dev/dri/renderD* (usually render and video) and log in again"
    commands = "; ".join(f'sudo usermod -aG "$(getent group {gid} | cut -d: -f1)" {user or "$USER"}' for gid in gids)
    return f"the owning groups are GID {', '.join(map(str, gids))}: {commands}; then log in again"
