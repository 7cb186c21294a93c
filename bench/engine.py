"""Engine operations: preview, up, refresh, destroy of one endpoint, ours against the same stack by hand, in turn."""
from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from bench.place import Place
from bench.processes import Cost
from bench.results import Row, middle
from bench.stack import CHECKOUT, Stack
from providers.transport.address import Target
from providers.transport.ssh import Connection
from tests.e2e import models
from tests.e2e.conftest import ZENTORCH

GOALS = {"preview of a stack that is up": 1.3, "up without a change": 1.3}
STEPS: tuple[tuple[str, Callable[[Stack], Cost]], ...] = (
    ("first preview", Stack.preview),
    ("first up", Stack.up),
    ("preview of a stack that is up", Stack.preview),
    ("up without a change", Stack.up),
    ("refresh", Stack.refresh),
    ("destroy", Stack.destroy),
)


def measure(place: Place, args: Namespace) -> list[Row]:
    """Medians of `args.rounds`. Both connect anew each time: the shared connection of the run before is ended first."""
    host = place.host()
    ZENTORCH.load(host.engine)
    models.add(place.hub)
    keys = host.connection()
    ours, bare = Stack(place.folder("ours"), place.hub.url), by_hand(place.folder("bare"), keys, host.address)
    ours.configure(hosts={"box": keys}, endpoints={"chat": {"kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096}})
    costs: dict[str, tuple[list[Cost], list[Cost]]] = {what: ([], []) for what, _ in STEPS}
    for number in range(args.rounds + 1):
        for what, step in STEPS:
            for which, stack in enumerate((ours, bare) if number % 2 else (bare, ours)):
                which = which if number % 2 else 1 - which
                Connection(target(keys)).close()
                cost = step(stack).ok()
                if number:  # the first round fills caches
                    costs[what][which].append(cost)
    return [_row(what, *costs[what]) for what, _ in STEPS]


def by_hand(folder: Path, keys: dict, readers: str) -> Stack:
    stack = Stack(folder, source=CHECKOUT / "bench" / "bare", files=("Pulumi.yaml", "__main__.py"))
    stack.configure(name="vllm-by-hand", model=models.TINY, image=ZENTORCH.name, address=keys["address"], readers=readers,
                    sshOptions=json.dumps(target(keys).ssh_options()))
    return stack


def target(keys: dict) -> Target:
    return Target("box", keys["address"], keys.get("identityFile"), keys.get("knownHosts"))


def _row(what: str, ours: list[Cost], bare: list[Cost]) -> Row:
    mine, theirs = (middle(cost.seconds for cost in costs) for costs in (ours, bare))
    cpu, their_cpu = (middle(cost.cpu_seconds for cost in costs) for costs in (ours, bare))
    return Row(what, f"{mine:.2f} s ({cpu:.2f} s CPU)", f"{theirs:.2f} s ({their_cpu:.2f} s CPU)", mine / theirs, GOALS.get(what),
               raw={"ours": [cost.seconds for cost in ours], "bare": [cost.seconds for cost in bare], "cpu_ratio": cpu / their_cpu,
                    "ours_cpu": [cost.cpu_seconds for cost in ours], "bare_cpu": [cost.cpu_seconds for cost in bare]})
