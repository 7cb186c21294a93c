"""Computes how busy each socket is from two samples of /proc/stat about 0.5 s apart. Text in, busy shares 0..1 out.

Sample: lines 'cpu12 user nice system idle iowait irq softirq steal …' between 'sample:1' and 'sample:2'. Idle and iowait are not busy.
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from planning.detect.text import lines


def parse(text: str) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
    """(busy, total) ticks by CPU of the first and of the second sample; both empty unless there are two."""
    samples: list[dict[int, tuple[int, int]]] = []
    for line in lines(text):
        if line.startswith("sample:"):
            samples.append({})
        match = re.match(r"cpu(\d{1,5})((?: \d{1,19}){4,10})\s*$", line)
        if match and samples:
            ticks = [int(word) for word in match[2].split()][:8]
            samples[-1][int(match[1])] = (sum(ticks) - sum(ticks[3:5]), sum(ticks))
    return (samples[0], samples[1]) if len(samples) == 2 else ({}, {})


def by_socket(text: str, socket_of: Mapping[int, int]) -> dict[int, float]:
    """Mean busy share of the CPUs of each socket, rounded to three places; sockets without a measured CPU are left out."""
    before, after = parse(text)
    shares: dict[int, list[float]] = {}
    for cpu, (busy, total) in after.items():
        if cpu in before and cpu in socket_of and total > before[cpu][1]:
            share = (busy - before[cpu][0]) / (total - before[cpu][1])
            shares.setdefault(socket_of[cpu], []).append(min(max(share, 0.0), 1.0))
    return {socket: round(sum(found) / len(found), 3) for socket, found in sorted(shares.items())}
