"""The stack probe: which vLLM, torch, zentorch and which vLLM platform are really in what will run.

`CODE` runs inside (a short container without a network, or the environment's Python) and prints one JSON line among whatever else
is printed there; `parse` finds it. `read` does it once for each image id, `judge` asks the family (`Family.judge_stack`).
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planning.errors import Notes, printable
from planning.families import family_of
from providers import record
from providers.runtimes import runtime_of
from providers.runtimes.base import Software
from providers.transport.ssh import Connection

NAMES = ("vllm", "torch", "zentorch", "platform")

CODE = '''import json
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except Exception:
        return None
found = {name: version(name) for name in ("vllm", "torch", "zentorch")}
try:
    from vllm.platforms import current_platform as platform
    name = (type(platform).__module__ + "." + type(platform).__name__).lower()
    found["platform"] = ("zen" if "zen" in name else "rocm" if platform.is_rocm() else "cpu" if platform.is_cpu()
                         else "unspecified" if "unspecified" in name else str(platform.device_type))
except Exception:
    found["platform"] = None
print(json.dumps(found))
'''


def parse(text: str) -> dict[str, Any]:
    """Name -> what the probe printed, unknown ones left out; {} without such a line. At most 100 characters of each."""
    for line in reversed(text.splitlines()):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and ("vllm" in found or "platform" in found):
            return {name: printable(found[name], 100) for name in NAMES if isinstance(found.get(name), str)}
    return {}


def read(connection: Connection, runtime: str, launch: Mapping[str, Any], software: Software, stack: str) -> dict[str, Any]:
    """What is in `software`; {} where that is not to be found out. The record of `stack` remembers it by host and image id: the platform
    that is active is the host's matter too."""
    key = f"{connection.target.address} {software.image_id}"
    known = record.read(stack, "stacks", key) if software.image_id else None
    if isinstance(known, dict) and known:
        return known
    answer = runtime_of(runtime).read_stack(connection, software, CODE, launch)
    found = parse(answer.stdout)
    if not found:
        why = (answer.stderr.strip() or "it printed nothing").splitlines()[-1]
        print(f"{launch['container_name']}: its stack could not be read (exit status {answer.status}): {printable(why, 300)}", flush=True)
    if found and software.image_id:
        record.write(stack, "stacks", key, found)
    return found


def judge(plan: Mapping[str, Any], found: Mapping[str, Any]) -> Notes:
    """`plan`: the document of an endpoint's plan, or its part that `components.runtimes` hands over."""
    return family_of(plan["family"]).judge_stack(plan, found)
