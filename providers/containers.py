"""What runs endpoints on a host, whatever the runtime: make ready before something is made, and find what drifted.

Only what carries our labels is ever stopped or removed. The commands themselves are the runtimes' (`providers.runtimes`).
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planning.errors import Refusal
from providers import prefetch
from providers.runtimes import REGISTRY, Runtime, runtime_of
from providers.runtimes.base import LABEL, check, labels_of
from providers.transport.address import Target
from providers.transport.errors import CommandFailed, TransportError
from providers.transport.ssh import Connection

_FOLDERS = 'for path in "$@"; do [ -d "$path" ] || mkdir -p -- "$path" || exit 1; done'


def _launches(target: Target, plans: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Endpoint -> launch of those that have one; nothing runs on a recorded host."""
    return {} if target.parsed.scheme == "recorded" else {name: plan["launch"] for name, plan in plans.items() if plan.get("launch")}


def make_ready(target: Target, stack: str, plans: Mapping[str, Mapping[str, Any]], new: Collection[str],
               drifted: Collection[str] = ()) -> None:
    """Before anything is made: make the folders to mount, as the host's user, where there are none; and remove what an interrupted run of
    this stack left under the names of `new` ones (raises for somebody else's), and of those that `drifted` what does not run: the rest may serve,
    and is kept until it is replaced."""
    launches = _launches(target, plans)
    if not launches:
        return
    connection = Connection(target)
    folders = sorted({mount["source"] for launch in launches.values() for mount in launch.get("mounts") or () if not mount["read_only"]})
    check(connection, connection.run(_FOLDERS, arguments=folders), "a folder to mount could not be made")
    for names, running in ((new, True), (drifted, False)):
        clear(connection, stack, {name: launch for name, launch in launches.items() if name in names}, running)


def clear(connection: Connection, stack: str, launches: Mapping[str, Mapping[str, Any]], running: bool = True) -> None:
    """Nothing has the names of these endpoints' launches any more, but for what runs where not `running`. Raises CommandFailed for somebody
    else's, which stays."""
    for word, runtime, names in _by_runtime(launches):
        for container, seen in runtime.inspect(connection, list(names)).items():
            if seen is None:
                continue
            if not _ours(stack, names[container], launches[names[container]], seen):
                raise CommandFailed(Refusal(
                    "name-taken", f"{connection.target.name}: {container} exists and is not ours", f"image {seen['Config'].get('Image')}",
                    "a free name, or our labels", f"rename or remove it by hand: `{word} rm {container}`"))
            if running or not seen["State"].get("Running"):
                runtime.remove(connection, seen["Id"])


def give_up(target: Target, stack: str, plans: Mapping[str, Mapping[str, Any]]) -> None:
    """What interrupted runs left of these endpoints, whose resources are gone: made and never recorded, secrets without a container, prefetches.
    Somebody else's stays, and so does what is on a host that is not reached, which is told."""
    launches = _launches(target, plans)
    if not launches:
        return
    connection = Connection(target)
    try:
        for _, runtime, names in _by_runtime(launches):
            for container, seen in runtime.inspect(connection, list(names)).items():
                if seen is None or _ours(stack, names[container], launches[names[container]], seen):
                    runtime.remove(connection, seen["Id"] if seen else container)
            prefetch.give_up(connection, runtime, stack, [launches[name] for name in names.values()])
    except TransportError as error:
        print(f"{target.name}: what interrupted runs may have left there was not looked for: {error}", flush=True)


def made_before(connection: Connection, stack: str, endpoint: str, launch: Mapping[str, Any]) -> set[str]:
    """The runtimes under which something of ours has the launch's name and was made of another plan. One that does not answer has none."""
    found = set()
    for word in REGISTRY:
        try:
            seen = runtime_of(word).inspect(connection, [launch["container_name"]])[launch["container_name"]]
        except CommandFailed:
            continue
        if seen and _ours(stack, endpoint, launch, seen) and labels_of(seen).get(f"{LABEL}plan") != launch["labels"].get(f"{LABEL}plan"):
            found.add(word)
    return found


def _ours(stack: str, endpoint: str, launch: Mapping[str, Any], seen: Mapping[str, Any]) -> bool:
    """Made by this stack, and not by another state's stack of the same name (where both say whose they are)."""
    labels = labels_of(seen)
    owners = [owner for owner in (launch["labels"].get(f"{LABEL}owner"), labels.get(f"{LABEL}owner")) if owner]
    return (labels.get(f"{LABEL}stack"), labels.get(f"{LABEL}endpoint")) == (stack, endpoint) and len(set(owners)) < 2


def differences(launch: Mapping[str, Any], seen: Mapping[str, Any]) -> list[str]:
    """What was changed by hand: named settings that are not those of the plan."""
    config, host = seen["Config"], seen["HostConfig"]
    if (launch.get("labels") or {}).items() - labels_of(seen).items():
        return ["another container has its name, without its labels"]
    environment, entry = set(config.get("Env") or ()), _words(config.get("Entrypoint"))
    pairs = {
        "image": (runtime_of(launch["runtime"]).image_name(launch["image"]), config.get("Image")),
        "entrypoint": (_words(launch.get("entrypoint")) or entry, entry),
        "command": (list(launch["command"]), list(config.get("Cmd") or ())),
        "cpuset-cpus": (launch.get("cpuset_cpus") or "", host.get("CpusetCpus") or ""),
        "cpuset-mems": (launch.get("cpuset_mems") or "", host.get("CpusetMems") or ""),
    }
    changed = [f"{name} is {seen_!r}, planned {wanted!r}" for name, (wanted, seen_) in pairs.items() if wanted != seen_]
    missing = [name for name, value in launch["environment"].items() if f"{name}={value}" not in environment]
    return changed + ([f"environment changed: {', '.join(sorted(missing))}"] if missing else [])


def _words(value: Any) -> str:
    """An entrypoint as one text, which it is for Podman before 5."""
    return value if isinstance(value, str) else " ".join(value or ())


def drifted(target: Target, plans: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Endpoint -> what is wrong: gone, stopped, changed by hand, engine that does not answer. Of what could not be looked at nothing is said."""
    found: dict[str, str] = {}
    for word, runtime, names in _by_runtime(_launches(target, plans)):
        try:
            looked_at = runtime.inspect(Connection(target), list(names))
        except TransportError as error:
            print(f"{target.name}: nothing under {word} was looked at: {error}", flush=True)
            continue
        for container, seen in looked_at.items():
            problem = _problem(target, names[container], plans[names[container]], seen) if seen else f"[no-container] {container} is gone"
            found.update({names[container]: problem} if problem else {})
    return found


def _problem(target: Target, name: str, plan: Mapping[str, Any], seen: Mapping[str, Any]) -> str | None:
    from providers.proof import Subject, still_answers

    changed = differences(plan["launch"], seen)
    if changed or plan["launch"]["restart"] == "no":    # what runs once has ended, and that is well
        return "; ".join(changed) or None
    try:
        problem = still_answers(target, Subject.of(name, plan))
    except TransportError as error:
        print(f"{name} on {target.name}: not asked: {error}", flush=True)
        return None
    return problem and problem.text()


def _by_runtime(launches: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Runtime, dict[str, str]]]:
    """For each runtime in use: its word, itself, and container name -> endpoint."""
    for word in sorted({launch["runtime"] for launch in launches.values()}):
        yield word, runtime_of(word), {launch["container_name"]: name for name, launch in launches.items() if launch["runtime"] == word}
