"""A thousand hosts on paper: `python -m bench.thousand [--hosts N] [--measure N ...]`.

Plans every host from a recording, as the providers do it, and computes from what comes out what a stack of that size means: size of the
state, of the messages, of the program's answers, of memory, of file descriptors; and into how many stacks, one for each site, to split it.
`--measure` runs the real engine on so many recorded hosts, to check the extrapolation.
"""
from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from typing import Any

from bench.stack import CHECKOUT

KIB, MIB = 1 << 10, 1 << 20
PLUGIN_MIB = 35          # proportional set size of one docker plugin, measured by `python -m bench scale`
MESSAGE_MIB = 400        # largest gRPC message between engine, program and plugins (pulumi/runtime/_grpc_settings.py)
RECORDED = CHECKOUT / "tests" / "hosts" / "synthetic-genoa-dual"


def host_in_state(number: int) -> dict[str, int]:
    """Bytes of JSON that one host with one endpoint brings into the state, by resource, from a plan that is made here."""
    from planning.catalog import load_json
    from planning.detect import load_recording, read_host
    from planning.pipeline import plan_host
    from planning.plan import document
    from planning.request import parse_endpoint
    from providers.host_probe import kept
    from providers.packed import packed
    from tests.planning import paper

    name = f"box-{number}"
    facts, survey = read_host(name, load_recording(RECORDED))
    request, _ = parse_endpoint("chat", {"kind": "epyc", "host": name, "model": paper.MODEL})
    plan = document(plan_host("site", facts, survey, {"chat": request}, {"chat": paper.model()})["chat"])
    seccomp = len(json.dumps(load_json("seccomp-vllm.json"), separators=(",", ":")))
    warnings = [asdict(warning) for warning in facts.warnings]
    sizes = {"HostProbe": _size(packed(kept(facts))) + _size(warnings), "HostPlan": _size(packed({"chat": plan})), "Container": _size(plan["launch"]) + seccomp,
             "EndpointStart and EndpointHealth": _size(plan["health"]) * 2 + 1500, "components and outputs": _size(plan["handoff"]) + 1500}
    return {resource: 2 * size for resource, size in sizes.items()}  # inputs and outputs


def _size(value: Any) -> int:
    return len(json.dumps(value))


def paper_table(hosts: int) -> list[tuple[str, str]]:
    """What a stack of so many hosts, one endpoint each, comes to."""
    began = time.process_time()
    each = [host_in_state(number) for number in range(hosts)]
    seconds = time.process_time() - began
    parts = {key: sum(sizes[key] for sizes in each) for key in each[0]}
    state, resources = sum(parts.values()), 9 * hosts + 1
    return [("hosts, endpoints, resources", f"{hosts}, {hosts}, {resources}"),
            ("detect, fit, place and launch of all, one core", f"{seconds:.1f} s CPU"),
            ("state", f"{state / MIB:.1f} MiB; " + ", ".join(f"{key} {size / MIB:.1f}" for key, size in parts.items())),
            ("state written in one first `up`, once for each step", f"{state * resources / 2 / MIB / 1024:.1f} GiB"),
            ("largest single message (one host's plans)", f"{each[0]['HostPlan'] / KIB:.0f} KiB of {MESSAGE_MIB} MiB"),
            ("configuration in one message", f"{hosts * 250 / KIB:.0f} KiB"),
            ("docker plugins, one for each host", f"{hosts} processes, {hosts * PLUGIN_MIB / 1024:.1f} GiB"),
            ("file descriptors of the engine, about 4 for each plugin", f"{4 * hosts}"),
            ("ssh master connections", f"{hosts} processes and sockets, {hosts * 8 / 1024:.1f} GiB"),
            ("rounds of the thread pool (64 hosts at a time)", f"{-(-hosts // 64)}")]


def split(hosts: int, memory_mib: int) -> str:
    """Sites for which the docker plugins of one operation fit in the memory."""
    largest = max(1, memory_mib // PLUGIN_MIB)
    return f"{-(-hosts // largest)} stacks of at most {largest} hosts keep the plugins of one operation under {memory_mib} MiB"


def measured(counts: list[int]) -> list[tuple[str, str]]:
    """Previews by the real engine."""
    from bench.place import Place
    from bench.scale import MODELS, _recorded, memory_text
    from tests.e2e import models

    rows, place = [], Place()
    try:
        for model in MODELS:
            models.add(place.hub, model)
        for count in counts:
            found = _recorded(place, count, 1)
            told = f"{found['seconds']:.1f} s, {found['cpu']:.1f} s CPU, {memory_text(found)}"
            rows.append((f"preview of {found['endpoints']} endpoints on {count} hosts", told))
    finally:
        place.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.thousand", description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--memory-mib", type=int, default=2048, help="what the plugins of one operation may take")
    parser.add_argument("--measure", type=int, nargs="*", default=[])
    args = parser.parse_args()
    for what, told in [*paper_table(args.hosts), ("split", split(args.hosts, args.memory_mib)), *measured(args.measure)]:
        print(f"| {what} | {told} |", flush=True)


if __name__ == "__main__":
    main()
