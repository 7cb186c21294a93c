"""How the cost grows with the fleet: previews of recorded hosts, previews and updates of namespace hosts with real sshd."""
from __future__ import annotations

from argparse import Namespace
from typing import Any

from bench.place import Place
from bench.processes import Cost
from bench.results import Row, middle
from bench.stack import CHECKOUT, Stack
from tests.e2e import models
from tests.e2e.bed.host import Host
from tests.e2e.conftest import ZENTORCH

RECORDED = CHECKOUT / "tests" / "hosts" / "synthetic-genoa-dual"
ENDPOINTS = {1: 1, 8: 8, 32: 64, 128: 256}
"""Hosts -> endpoints; two on each from 32 on."""
MODELS = (models.TINY, "Qwen/Qwen3-4B")
MIB, LIMIT_MIB, GROWTH = 1 << 20, 600, 4.0


def measure(place: Place, args: Namespace) -> list[Row]:
    """Medians of `args.rounds` up to 32 hosts, one run above; the memory and the counts in one run more each."""
    for model in MODELS:
        models.add(place.hub, model)
    rows, alone = [], None
    for count in args.hosts if args.hosts is not None else (1, 8, 32, 128):
        found = _recorded(place, count, args.rounds if count <= 32 else 1)
        alone = alone or found
        rows.append(_row(f"preview of {found['endpoints']} endpoints on {count} recorded hosts", found, alone))
        rows.append(_row(f"preview of {found['endpoints']} endpoints on {count} recorded hosts, PULUMI_SKIP_CHECKPOINTS", {**found, **found["once"]}, alone))
    for count in args.real_hosts if args.real_hosts is not None else (1, 8):
        rows += _real(place, count, args.rounds)
    return rows


def endpoints_on(hosts: list[str], count: int) -> dict[str, dict[str, Any]]:
    """Small endpoints, spread over the hosts; two models in turn, so that requests to the Hub can be counted."""
    each = {"kind": "epyc", "maxModelLen": 4096, "cores": 16, "kvCacheGib": 8}
    return {f"chat-{number}": {**each, "host": hosts[number % len(hosts)], "model": MODELS[number % len(MODELS)]} for number in range(count)}


def _recorded(place: Place, count: int, rounds: int) -> dict[str, Any]:
    hosts = {f"box-{number}": {"address": f"recorded:{RECORDED}"} for number in range(count)}
    stack = Stack(place.folder("scale"), place.hub.url)
    stack.configure(hosts=hosts, endpoints=endpoints_on(list(hosts), ENDPOINTS.get(count, 2 * count)))
    place.hub.requests.clear()
    first = stack.preview().ok()
    requests = len(place.hub.requests)
    costs = [stack.preview().ok() for _ in range(rounds)]
    once = [stack.preview(extra={"PULUMI_SKIP_CHECKPOINTS": "true"}).ok() for _ in range(rounds)]
    memory = stack.preview(memory=True).ok()
    return {"once": {"seconds": middle(cost.seconds for cost in once), "cpu": middle(cost.cpu_seconds for cost in once)},
            "endpoints": ENDPOINTS.get(count, 2 * count), "seconds": middle(cost.seconds for cost in costs), "cpu": middle(cost.cpu_seconds for cost in costs),
            "first": first.seconds, "requests": requests, "memory": memory.peak_bytes, "parts": memory.parts}


def _row(what: str, found: dict[str, Any], alone: dict[str, Any]) -> Row:
    ratio = found["seconds"] / alone["seconds"]
    goal = GROWTH if what.startswith("preview of 64 ") else None
    told = f"{found['seconds']:.1f} s ({found['cpu']:.1f} s CPU), {memory_text(found)}, {found['requests']} Hub requests"
    return Row(what, told, f"{alone['seconds']:.1f} s for one", ratio, goal, raw=found)


def memory_text(found: dict[str, Any]) -> str:
    """All processes together, and without the docker plugins, of which Pulumi starts one for each host."""
    plugins = found["parts"].get("pulumi-resource-docker", 0)
    return f"{found['memory'] / MIB:.0f} MiB ({(found['memory'] - plugins) / MIB:.0f} MiB without docker plugins)"


def _real(place: Place, count: int, rounds: int) -> list[Row]:
    hosts = [place.host() for _ in range(count)]
    for host in hosts:
        ZENTORCH.load(host.engine)
    names = {f"box-{number}": host for number, host in enumerate(hosts)}
    stack = Stack(place.folder("real"), place.hub.url)
    stack.configure(hosts={name: host.connection() for name, host in names.items()},
                    endpoints={f"chat-{name}": {"kind": "epyc", "host": name, "model": models.TINY, "maxModelLen": 4096} for name in names})
    place.hub.requests.clear()
    marks = [host.mark() for host in hosts]
    first = stack.preview().ok()
    connections, requests = _connections(hosts, marks), len(place.hub.requests)
    up, state = stack.up().ok(), stack.state_bytes()
    previews = [stack.preview().ok() for _ in range(max(1, rounds // 2))]
    memory = stack.preview(memory=True).ok()
    total = _connections(hosts, marks)
    stack.destroy().ok()
    for host in hosts:
        place.remove(host)
    return [_real_row(f"first preview of {count} hosts with sshd", first, f"{connections} SSH connections, {requests} Hub requests"),
            _real_row(f"up of {count} hosts with sshd, until all answer", up, f"{state / 1024:.0f} KiB of state"),
            _real_row(f"preview of {count} hosts that are up", _median(previews),
                      memory_text({"memory": memory.peak_bytes, "parts": memory.parts}) + f", {total} SSH connections in {len(previews) + 3} runs")]


def _connections(hosts: list[Host], marks: list[int]) -> int:
    return sum(host.connections_since(mark) for host, mark in zip(hosts, marks))


def _median(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]


def _real_row(what: str, cost: Cost, told: str) -> Row:
    return Row(what, f"{cost.seconds:.1f} s ({cost.cpu_seconds:.1f} s CPU), {told}", raw={"seconds": cost.seconds, "cpu": cost.cpu_seconds})
