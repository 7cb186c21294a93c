"""Planning without Pulumi: verbs of `python -m planning` from cold, and plans a second in one warm process on one core."""
from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from bench.place import Place
from bench.processes import run
from bench.results import Row, middle
from bench.stack import CHECKOUT

COLD_SECONDS, WARM_PLANS = 0.6, 1000
MODEL = "tests/models/Qwen__Qwen3-0.6B"
COLD = {
    "plan, epyc": ("plan", "--family", "epyc", "--host", "tests/hosts/synthetic-genoa-dual", "--model", MODEL),
    "plan, instinct": ("plan", "--family", "instinct", "--host", "tests/hosts/synthetic-mi300x-x8", "--model", "tests/models/Qwen__Qwen3.5-9B"),
    "detect": ("detect", "tests/hosts/synthetic-genoa-dual"),
    "capacity": ("capacity", "--kv-cache-gib", "8", MODEL),
}
EPYC_HOSTS = ("genoa-dual", "genoa-single", "turin", "bergamo", "milan-dual", "nps4", "small")
GPU_HOSTS = (("mi300x", 8), ("mi325x", 8), ("mi355x", 8), ("mi300x", 1), ("mi210", 8))


def measure(place: Place, args: Namespace) -> list[Row]:
    """Cold: medians of `args.rounds`, wall seconds; warm: CPU seconds of the best of `args.rounds`, so that a busy machine counts less."""
    rows = [_cold(verb, words, args.rounds) for verb, words in COLD.items()]
    return [*rows, _warm("recipes x 5 GPU hosts", _recipes(), args.rounds, WARM_PLANS),
            _warm(f"recorded models x {len(EPYC_HOSTS)} EPYC hosts, the refused ones with suggestions that were tried", _models(), args.rounds)]


def _cold(verb: str, words: tuple[str, ...], rounds: int) -> Row:
    costs = [run([sys.executable, "-m", "planning", *words], cwd=CHECKOUT) for _ in range(rounds + 1)][1:]
    seconds, cpu = middle(cost.seconds for cost in costs), middle(cost.cpu_seconds for cost in costs)
    goal = COLD_SECONDS if verb.startswith("plan") else None
    return Row(f"cold `python -m planning {verb}`", f"{seconds:.2f} s ({cpu:.2f} s CPU)", f"{COLD_SECONDS} s" if goal else "",
               seconds / COLD_SECONDS if goal else None, 1.0 if goal else None, raw={"seconds": [cost.seconds for cost in costs], "cpu": cpu})


def _warm(what: str, plans: list[Callable[[], Any]], rounds: int, goal: int | None = None) -> Row:
    for plan in plans:
        plan()  # tables are read, caches are filled
    best = min(_seconds(plans) for _ in range(rounds))
    speed = len(plans) / best
    return Row(f"warm, {what}: {len(plans)} plans", f"{speed:.0f} plans a second", f"{goal} a second" if goal else "",
               goal / speed if goal else None, 1.0 if goal else None, raw={"seconds": best})


def _seconds(plans: list[Callable[[], Any]]) -> float:
    began = time.process_time()
    for plan in plans:
        plan()
    return time.process_time() - began


def _recipes() -> list[Callable[[], Any]]:
    from planning.families.instinct.recipe import records
    from planning.pipeline import plan_host
    from tests.planning.families.instinct import machines, planned

    found = []
    for kind, count in GPU_HOSTS:
        facts = machines.host(kind, count)
        survey = machines.survey(facts)
        for record in records():
            known = planned.manifest(record["model"])
            request = planned.request(known.id)
            found.append(lambda facts=facts, survey=survey, known=known, request=request: plan_host("bench", facts, survey, {"chat": request}, {"chat": known}))
    return found


def _models() -> list[Callable[[], Any]]:
    from planning.pipeline import plan_host
    from planning.request import parse_endpoint
    from planning.resolve import load_model_dir
    from tests.planning import paper

    manifests = [load_model_dir(folder) for folder in sorted(paper.MODELS.iterdir()) if (folder / "config.json").is_file()]
    found = []
    for name in EPYC_HOSTS:
        facts, survey = paper.host(f"synthetic-{name}")
        for known in manifests:
            request, _ = parse_endpoint("chat", {"kind": "epyc", "host": facts.name, "model": known.id})
            if request is not None:
                found.append(lambda facts=facts, survey=survey, known=known, request=request:
                             plan_host("bench", facts, survey, {"chat": request}, {"chat": known}))
    return found
