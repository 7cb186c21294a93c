"""Reads rocminfo: GPU agents in HIP's order, CPU agents with their name and threads. Text in, Listing and dicts out.

CPU or GPU is decided by Device Type, never by the name: an MI300A's CPU is called "AMD Instinct MI300A Accelerator".
A list of names only (`rocminfo | grep Name`) has no Device Type; there an agent named gfx… is a GPU.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect.listing import Listing, device_id, gfx_name, pci_from_location
from planning.detect.text import clean, is_cut, known, lines

_FIELDS = {"Marketing Name": "marketing", "Device Type": "type", "Chip ID": "chip", "BDFID": "bdfid", "Node": "node",
           "Compute Unit": "units", "Domain": "domain"}


def parse(text: str) -> Listing:
    """GPU agents; the index is HIP's order, which need not be that of amd-smi."""
    gpus = [agent for agent in _agents(text) if _is_gpu(agent)] if not _gap(text) else []
    listing = Listing(complete=bool(gpus) and _whole(text))
    for index, agent in enumerate(gpus):
        listing.put(index, "gfx", gfx_name(agent.get("name")))
        listing.put(index, "market_name", known(agent.get("marketing")))
        listing.put(index, "hip_index", index)
        chip, location = _first_number(agent.get("chip")), _first_number(agent.get("bdfid"))
        listing.put(index, "device_id", device_id(chip) if chip else None)
        listing.put(index, "pci", pci_from_location(location, _first_number(agent.get("domain")) or 0) if location else None)
        listing.put(index, "vram_bytes", agent.get("pool"))
        listing.put(index, "compute_units", _first_number(agent.get("units")))
    return listing


def cpu_agents(text: str) -> list[dict[str, Any]]:
    """CPU agents: name, compute_units (hardware threads, not cores), whole (the list is not cut behind them)."""
    agents = _agents(text)
    whole = _whole(text) or any(_is_gpu(agent) for agent in agents)
    return [{"name": known(agent.get("marketing")) or known(agent.get("name")), "compute_units": _first_number(agent.get("units")),
             "whole": whole} for agent in agents if _is_cpu(agent)]


def _whole(text: str) -> bool:
    return not is_cut(text) and "*** Done ***" in text and not _gap(text)


def _gap(text: str) -> bool:
    """Whether an agent is missing in between: then nobody knows which GPU is which."""
    body = clean(text)
    agents = [int(number) for number in re.findall(r"^Agent (\d{1,4})[ \t]*$", body, re.M)]
    names = len(re.findall(r"^  Name:", body, re.M))
    return bool(agents) and (agents != list(range(1, len(agents) + 1)) or names > len(agents))


def _is_gpu(agent: dict[str, Any]) -> bool:
    return agent["type"] == "GPU" if agent.get("type") else bool(re.fullmatch(r"gfx[0-9a-f]+", agent.get("name", "")))


def _is_cpu(agent: dict[str, Any]) -> bool:
    return agent["type"] == "CPU" if agent.get("type") else bool(agent.get("name")) and not _is_gpu(agent)


def _agents(text: str) -> list[dict[str, Any]]:
    """One dict per agent. A new one begins at 'Agent N', or at a Name of two blanks' indent when there are no such lines."""
    agents: list[dict[str, Any]] = []
    numbered = bool(re.search(r"^Agent \d+\s*$", text, re.M))
    first_pool = False
    for line in lines(text):
        match = re.match(r"( *)([A-Z][\w .()/-]*?):(.*)", line)
        if re.match(r"Agent \d+\s*$", line) or (not numbered and match and match[2] == "Name" and len(match[1]) == 2):
            agents.append({})
        if not match or not agents:
            continue
        agent, key, value = agents[-1], match[2], match[3].strip()
        if key == "Name" and len(match[1]) == 2:
            agent.setdefault("name", value)
        elif key in _FIELDS and len(match[1]) == 2:
            agent.setdefault(_FIELDS[key], value)
        elif key == "Segment":
            first_pool = value.startswith("GLOBAL")
        elif key == "Size" and first_pool and "pool" not in agent:
            size = re.match(r"(\d{1,15})\(0x[0-9a-f]+\) KB", value)
            if size:
                agent["pool"] = int(size[1]) * 1024
    return agents


def _first_number(text: object) -> int | None:
    match = re.match(r"(\d{1,15})\b", str(text or ""))
    return int(match[1]) if match else None
