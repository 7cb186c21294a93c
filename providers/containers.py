"""Our containers on a host, through the runtime's own command over the one connection: look, start, stop, clear, compare.

Scripts are constants with positional arguments. Only containers that carry our labels are ever stopped or removed.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from planning.errors import Refusal
from providers.transport.address import Target
from providers.transport.errors import CommandFailed, TransportError
from providers.transport.ssh import Connection, Result

LABEL = "amd-vllm."
LOG_LINES = 4000

_INSPECT = 'rt=$1; shift; for name in "$@"; do "$rt" inspect --type container "$name" 2>/dev/null || echo "[]"; done'
_LOOK = '"$1" inspect --type container "$2" && echo --amd-vllm-log-- && "$1" logs --tail "$3" "$2" 2>&1 | head -c 4000000'
_START = '''set -eu
[ -z "$3" ] || "$1" update --cpuset-mems "$3" "$2" >/dev/null
"$1" start "$2" >/dev/null
"$1" inspect --type container --format '{{.State.StartedAt}}' "$2"'''
_STOP = '"$1" stop --time 10 "$2" >/dev/null'
_FOLDERS = 'for path in "$@"; do [ -d "$path" ] || mkdir -p -- "$path" || exit 1; done'
_REMOVE = '"$1" rm --force "$2" >/dev/null'


def inspect(connection: Connection, runtime: str, names: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
    """Name -> what the runtime's `inspect` says, None for no such container. One command for all."""
    result = connection.run(_INSPECT, arguments=[runtime, *names])
    decoder, text, found = json.JSONDecoder(), result.stdout.lstrip(), []
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value[0] if value else None)
        text = text[end:].lstrip()
    return dict(zip(names, found))


def look(connection: Connection, runtime: str, container: str, lines: int = LOG_LINES) -> tuple[Mapping[str, Any] | None, str]:
    """What `inspect` says and the last lines of the log; (None, "") for no such container."""
    result = connection.run(_LOOK, arguments=[runtime, container, str(lines)])
    head, _, log = result.stdout.partition("--amd-vllm-log--\n")
    return (json.loads(head)[0], log) if result.status == 0 and head.strip() else (None, "")


def start(connection: Connection, runtime: str, container: str, cpuset_mems: str | None = None) -> str:
    """Apply the memory nodes (which the docker provider cannot), start, and return when it started."""
    result = connection.run(_START, arguments=[runtime, container, cpuset_mems or ""], timeout=120)
    _check(connection, result, "the container could not be started")
    return result.stdout.strip()


def stop(connection: Connection, runtime: str, container: str) -> None:
    """Stop and stay stopped (restart policy `unless-stopped`)."""
    connection.run(_STOP, arguments=[runtime, container], timeout=60)


def make_ready(target: Target, stack: str, plans: Mapping[str, Mapping[str, Any]]) -> None:
    """Before containers are created: remove what an interrupted run of this stack left under their names (raises for somebody else's),
    and make the folders that they mount, as the host's user, where there are none."""
    wanted = [(name, plan["launch"]) for name, plan in plans.items() if plan.get("launch") and plan["launch"]["runtime"] != "host"]
    if not wanted or target.parsed.scheme == "recorded":
        return
    connection = Connection(target)
    folders = sorted({mount["source"] for _, launch in wanted for mount in launch["mounts"] if not mount["read_only"]})
    _check(connection, connection.run(_FOLDERS, arguments=folders), "a folder to mount could not be made")
    for runtime in sorted({launch["runtime"] for _, launch in wanted}):
        names = {launch["container_name"]: name for name, launch in wanted if launch["runtime"] == runtime}
        for container, seen in inspect(connection, runtime, list(names)).items():
            if seen is None:
                continue
            labels = seen["Config"].get("Labels") or {}
            if (labels.get(f"{LABEL}stack"), labels.get(f"{LABEL}endpoint")) != (stack, names[container]):
                raise CommandFailed(Refusal(
                    "name-taken", f"{target.name}: a container {container} exists that is not ours", f"image {seen['Config'].get('Image')}",
                    "a free name, or our labels", f"rename or remove it by hand: `{runtime} rm {container}`"))
            _check(connection, connection.run(_REMOVE, arguments=[runtime, seen["Id"]], timeout=120), "a leftover container could not be removed")


def differences(launch: Mapping[str, Any], placement: Mapping[str, Any], seen: Mapping[str, Any]) -> list[str]:
    """What was changed by hand: named settings of a container that are not those of its plan."""
    config, host = seen["Config"], seen["HostConfig"]
    environment = set(config.get("Env") or ())
    pairs = {
        "image": (launch["image"], config.get("Image")),
        "command": (list(launch["command"]), list(config.get("Cmd") or ())),
        "cpuset-cpus": (placement.get("cpuset_cpus") or "", host.get("CpusetCpus") or ""),
        "cpuset-mems": (placement.get("cpuset_mems") or "", host.get("CpusetMems") or ""),
    }
    changed = [f"{name} is {seen_!r}, planned {wanted!r}" for name, (wanted, seen_) in pairs.items() if wanted != seen_]
    missing = [name for name, value in launch["environment"].items() if f"{name}={value}" not in environment]
    return changed + ([f"environment changed: {', '.join(sorted(missing))}"] if missing else [])


def drifted(target: Target, plans: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Endpoint -> what is wrong with its container: stopped, changed by hand, engine that does not answer. A missing one is pulumi-docker's to see."""
    from providers.proof import Subject, still_answers

    found: dict[str, str] = {}
    wanted = {name: plan for name, plan in plans.items() if plan.get("launch") and plan["launch"]["runtime"] != "host"}
    if not wanted or target.parsed.scheme == "recorded":
        return found
    connection = Connection(target)
    try:
        for runtime in sorted({plan["launch"]["runtime"] for plan in wanted.values()}):
            mine = {plan["launch"]["container_name"]: name for name, plan in wanted.items() if plan["launch"]["runtime"] == runtime}
            for container, seen in inspect(connection, runtime, list(mine)).items():
                plan = wanted[mine[container]]
                if seen is not None:
                    changed = differences(plan["launch"], plan["placement"], seen)
                    problem = None if changed else still_answers(target, Subject.of(mine[container], plan))
                    found.update({mine[container]: "; ".join(changed) or problem.text()} if changed or problem else {})
    except TransportError as error:
        print(f"{target.name}: not looked at: {error}", flush=True)
    return found


def _check(connection: Connection, result: Result, what: str) -> None:
    if result.status:
        raise CommandFailed(Refusal("runtime-failed", f"{connection.target.name}: {what}", result.stderr.strip()[-400:] or f"exit status {result.status}",
                                    "a runtime that does what it is asked", "look at the runtime's own log on the host"))
