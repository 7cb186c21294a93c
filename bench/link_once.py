"""One look at a host and one plan, timed in a process of its own: `python -m bench.link_once JSON`. Loading modules is not counted."""
from __future__ import annotations

import json
import sys
import time


def main() -> None:
    from planning.families import family_of
    from planning.pipeline import plan_host
    from planning.request import parse_endpoint
    from providers import run
    from providers.transport.address import Target
    from providers.transport.hub import read_manifest
    from providers.transport.ssh import Connection

    given = json.loads(sys.argv[1])
    keys, model = given["keys"], given["model"]
    target = Target("box", keys["address"], keys["identityFile"], keys["knownHosts"])
    family_of("epyc")
    request, _ = parse_endpoint("chat", {"kind": "epyc", "host": "box", "model": model, "maxModelLen": 4096})
    began = time.monotonic()
    reading, surveyed = run.facts_of(target), run.survey_of(target)
    manifest = read_manifest(model, "main")
    resolved = time.monotonic()
    reading.result()
    facts = time.monotonic()
    reading = surveyed.result()
    survey = time.monotonic()
    plan = plan_host("bench", reading.facts, reading.survey, {"chat": request}, {"chat": manifest})["chat"]
    done = time.monotonic()
    Connection(target).close()
    if plan.verdict != "fits":
        raise SystemExit(f"{plan.refusals} {reading.problem}")
    print(json.dumps({"seconds": done - began, "parts": {"resolve (meanwhile)": resolved - began, "facts": facts - began, "survey": survey - facts,
                                                         "fit": done - survey}}))


if __name__ == "__main__":
    main()
