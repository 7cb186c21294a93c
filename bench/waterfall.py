"""What one preview is made of: each process from when to when, and its CPU time; ours, and the same stack by hand."""
from __future__ import annotations

import os
import subprocess
import sys
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from bench.place import Place
from bench.processes import run, tree
from bench.results import Row, middle
from bench.scale import RECORDED
from bench.stack import CHECKOUT, STACK, Stack
from tests.e2e import models

SAMPLE_SECONDS, TICKS = 0.02, os.sysconf("SC_CLK_TCK")
NAMES = {"pip": "`pip list` of the language host: which plugins", "pulumi-language-python-exec": "the program", "pulumi.dynamic": "our providers",
         "pulumi-resource-docker": "docker plugin", "pulumi-language-python": "language host"}
IMPORTS = {"Python alone": "pass", "`pulumi`": "import pulumi", "`pulumi` and `pulumi_docker.Container`": "import pulumi_docker; pulumi_docker.Container",
           "our components": "import components, planning.request as r; r.parse_stack({'h': {'address': 'local'}}, {'c': {'kind': 'epyc', 'host': 'h'}})",
           "`pulumi.dynamic`: any dynamic provider": "import pulumi.dynamic",
           "our providers with the planner": "import providers.host_plan, providers.host_probe, planning.detect as d, planning.pipeline; d.read_host"}


@dataclass
class Seen:
    """One process of the run."""

    name: str
    began: float
    ended: float
    cpu_seconds: float


def measure(place: Place, args: Namespace) -> list[Row]:
    """One run each after one that fills caches, and medians of `args.rounds` for the imports."""
    models.add(place.hub)
    ours = Stack(place.folder("ours"), place.hub.url)
    ours.configure(hosts={"box": {"address": f"recorded:{RECORDED}"}},
                   endpoints={"chat": {"kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096}})
    bare = Stack(place.folder("bare"), source=CHECKOUT / "bench" / "bare", files=("Pulumi.yaml", "__main__.py"))
    bare.configure(name="by-hand", model=models.TINY, image="busybox:1", address="unix:///var/run/docker.sock", readers="box", sshOptions="[]")
    rows = []
    for which, stack in (("ours", ours), ("by hand", bare)):
        stack.preview().ok()
        rows += [Row(f"{which}: {seen.name}", f"{seen.began:.2f} to {seen.ended:.2f} s ({seen.cpu_seconds:.2f} s CPU)", raw=vars(seen))
                 for seen in watch(stack)]
    for what, code in IMPORTS.items():
        costs = [run([sys.executable, "-c", code], cwd=CHECKOUT).ok().cpu_seconds for _ in range(args.rounds)]
        rows.append(Row(f"import: {what}", f"{middle(costs):.2f} s CPU", raw={"cpu": costs}))
    return rows


def watch(stack: Stack) -> list[Seen]:
    """All processes of one preview with at least 30 ms of CPU, in the order of their start; short ones may be missed."""
    began, found = time.monotonic(), {}
    command = ["pulumi", "-C", str(stack.folder), "--non-interactive", "--color", "never", "preview", "--stack", STACK]
    process = subprocess.Popen(command, env=stack.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        for each in tree(process.pid):
            _look(each, time.monotonic() - began, found)
        time.sleep(SAMPLE_SECONDS)
    return sorted((seen for seen in found.values() if seen.cpu_seconds >= 0.03), key=lambda seen: seen.began)


def _look(process: int, now: float, found: dict[int, Seen]) -> None:
    try:
        ticks = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return
    seen = found.setdefault(process, Seen("", now, now, 0.0))
    parts = {Path(word).name for word in words}
    seen.name = next((told for key, told in NAMES.items() if key in parts), Path(words[0]).name) or seen.name
    seen.ended, seen.cpu_seconds = now, sum(map(int, ticks)) / TICKS
