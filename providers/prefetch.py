"""`prefetch: true`: the weights are in the model cache before an endpoint is touched.

The same image (or environment) runs the Hub client once, with the cache mounted, under a name that belongs to the cache: one prefetch
for each cache at a time, whoever started it. Minutes, so it runs in the program's own thread.
"""
from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planning import health
from planning.errors import Refusal
from providers.runtimes import Runtime, Secrets, runtime_of
from providers.runtimes.base import LABEL, labels_of
from providers.runtimes.host import interpreter
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection

POLL_SECONDS, TAIL = 3, 20
UNUSED = ("*.pt", "*.pth", "*.gguf", "*.onnx", "*.h5", "*.msgpack", "original/*", "*.bin")

CODE = '''import os, sys, threading, time
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.constants import HF_HUB_CACHE
model, revision, unused = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
folder = os.path.join(HF_HUB_CACHE, "models--" + model.replace("/", "--"), "blobs")
def tell():
    while True:
        time.sleep(10)
        try:
            size = sum(os.stat(os.path.join(folder, name)).st_size for name in os.listdir(folder))
            print("fetched %.2f GiB" % (size / 2**30), flush=True)
        except OSError:
            pass
threading.Thread(target=tell, daemon=True).start()
names = HfApi().list_repo_files(model, revision=revision)
ignored = unused if any(name.endswith(".safetensors") for name in names) else unused[:-1]
snapshot_download(model, revision=revision, ignore_patterns=ignored)
print("complete", flush=True)
'''

_OWNER = '[ "$2" = podman ] && [ "$(id -u)" != 0 ] || stat -c %u:%g "$1"'     # in rootless Podman root is the user already
_locks: dict[tuple[Target, str], threading.Lock] = {}
_guard = threading.Lock()


def key_of(target: Target, launch: Mapping[str, Any], model: str, revision: str) -> str:
    """What a record of a finished prefetch says: which weights are in which cache."""
    return f"{target.address} {_cache(launch)} {model}@{revision}"


def fetch(target: Target, plan: Mapping[str, Any], model: str, revision: str, token: str | None, say: Callable[[str], None]) -> None:
    """Returns when the weights are there. Raises CommandFailed with the last lines of what went wrong."""
    launch, connection = plan["launch"], Connection(target)
    squashed = any(warning["code"] == "cache-root-squash" for warning in plan["warnings"])
    owner = connection.run(_OWNER, arguments=[_cache(launch), launch["runtime"]]).stdout.strip() if squashed else ""
    spec, runtime = spec_of(launch, model, revision, owner), runtime_of(launch["runtime"])
    with _guard:
        lock = _locks.setdefault((target, spec["container_name"]), threading.Lock())
    with lock:
        _wait_for_another(connection, runtime, spec["container_name"], say)
        say(f"fetching the weights of {model} before the endpoint is touched")
        made = runtime.create(connection, spec, Secrets(hf_token=token))
        try:
            runtime.start(connection, made)
            _follow(connection, runtime, spec["container_name"], target, model, say)
        finally:
            runtime.remove(connection, made)


def spec_of(launch: Mapping[str, Any], model: str, revision: str, owner: str = "") -> dict[str, Any]:
    """The endpoint's launch with another command: same image, environment and cache; no devices, no place of its own, no port.

    `owner`: uid:gid of the cache where its file system lets root write nothing; its owner writes then, and sees it at `/cache`, as an image's
    root folder is closed to others.
    """
    python = interpreter(launch) if launch["runtime"] == "host" else "python3"
    mine = {key: value for key, value in launch["labels"].items() if key in (f"{LABEL}stack", f"{LABEL}owner")}
    return {"runtime": launch["runtime"], "image": launch["image"], "container_name": name_of(launch), "entrypoint": [python],
            "command": ["-c", f"exec({CODE!r})", model, revision, ",".join(UNUSED)],  # one line: a process on the host takes no other
            **_places(launch, owner if launch["runtime"] != "host" else ""), "labels": {**mine, f"{LABEL}prefetch": model},
            "network": "host" if launch.get("network") == "host" else None, "restart": "no", "stop_seconds": 10,
            "security_opt": ["label=disable"]}  # as the endpoint has it by its host IPC: SELinux would close the cache


def name_of(launch: Mapping[str, Any]) -> str:
    """The container's name: of the cache, whoever fetches."""
    return f"amd-vllm-prefetch-{hashlib.sha256(_cache(launch).encode()).hexdigest()[:12]}"


def give_up(connection: Connection, runtime: Runtime, stack: str, launches: Sequence[Mapping[str, Any]]) -> None:
    """Removes what an interrupted prefetch of this stack left: it has the Hub token."""
    owners = {launch["labels"].get(f"{LABEL}owner") for launch in launches}
    for name, seen in runtime.inspect(connection, sorted({name_of(launch) for launch in launches})).items():
        labels = labels_of(seen)
        if f"{LABEL}prefetch" in labels and labels.get(f"{LABEL}stack") == stack and labels.get(f"{LABEL}owner") in owners:
            runtime.remove(connection, name)


def _places(launch: Mapping[str, Any], owner: str) -> dict[str, Any]:
    environment, mounts = dict(launch.get("environment") or {}), list(launch.get("mounts") or ())
    if not owner:
        return {"environment": environment, "mounts": mounts}
    at = next(index for index, mount in enumerate(mounts) if not mount["read_only"])
    name = "HF_HUB_CACHE" if mounts[at]["target"].endswith("/hub") else "HF_HOME"
    mounts[at] = {**mounts[at], "target": "/cache"}
    return {"environment": {**environment, "HOME": "/tmp", name: "/cache"}, "mounts": mounts, "user": owner}


def _cache(launch: Mapping[str, Any]) -> str:
    writable = [mount["source"] for mount in launch.get("mounts") or () if not mount["read_only"]]
    environment = launch.get("environment") or {}
    return writable[0] if writable else environment.get("HF_HUB_CACHE") or environment.get("HF_HOME") or "~"


def _wait_for_another(connection: Connection, runtime: Runtime, name: str, say: Callable[[str], None]) -> None:
    """Until no other prefetch works on the cache. One that has ended, or was not started, and still lies there after two polls is a leftover
    and goes: whoever made it would have looked by then."""
    told, rests = False, 0
    while True:
        seen = runtime.inspect(connection, [name])[name]
        if seen is None:
            return
        if f"{LABEL}prefetch" not in labels_of(seen):
            raise CommandFailed(Refusal("name-taken", f"{connection.target.name}: {name} exists and is not ours", "no label of ours", "a free name",
                                        "look at it and remove it by hand"))
        rests = 0 if seen["State"].get("Status") == "running" else rests + 1
        if rests > 2:
            runtime.remove(connection, seen["Id"])
            return
        if not told:
            say("waiting for another prefetch into the same cache")
            told = True
        time.sleep(POLL_SECONDS)


def _follow(connection: Connection, runtime: Runtime, name: str, target: Target, model: str, say: Callable[[str], None]) -> None:
    told = ""
    while True:
        seen, text = runtime.look(connection, name, TAIL)
        lines = [line for line in health.mask(text).splitlines() if line.strip()]
        last = next((line for line in reversed(lines) if line.startswith(("fetched ", "complete"))), "")
        if last and last != told:
            told = last
            say(f"{model}: {last}")
        status, ended = ((seen or {}).get("State") or {}).get("Status"), ((seen or {}).get("State") or {}).get("ExitCode")
        if seen is not None and status not in ("exited", "stopped"):
            time.sleep(POLL_SECONDS)
            continue
        if seen is None or ended != 0:
            raise CommandFailed(Refusal("prefetch-failed", f"{target.name}: the weights of {model} could not be fetched",
                                        f"exit status {ended}: {' | '.join(lines[-3:])[-600:]}",
                                        "a Hub that the host reaches, room and rights in the model cache",
                                        "mend that, or leave prefetch out: the engine then fetches them when it starts"))
        return
