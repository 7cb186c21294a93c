"""The stack probe: which vLLM, torch, zentorch and which vLLM platform are really in what will run.

`CODE` runs inside (a short container without a network, or the environment's Python) and prints one JSON line among whatever else
is printed there; `parse` finds it. The judgement is the family's (`Family.judge_stack`).
"""
from __future__ import annotations

import json
from typing import Any

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
        except ValueError:
            continue
        if isinstance(found, dict) and ("vllm" in found or "platform" in found):
            return {name: found[name][:100] for name in NAMES if isinstance(found.get(name), str)}
    return {}
