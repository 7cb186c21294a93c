"""What both families share of the launch: the runtime, what is mounted, the token's file, labels and the container's name.

From a `Case`, giving values and notes; the families put them into a `LaunchSpec`. No secret passes through here: the token
is a path in the container, and whoever starts it writes its content there.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

from planning.catalog import load_toml
from planning.detect.facts import Runtime
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case, Choice
from planning.plan import LaunchSpec, Mount
from planning.units import cpu_list

CACHE_TARGET = "/root/.cache/huggingface"
TOKEN_TARGET = "/run/secrets/hf_token"
LABEL = "amd-vllm."


def runtime_of(case: Case) -> tuple[str | None, Notes]:
    """docker, podman or host: the one asked for, else the one it has, else the first that the host's session reaches, in that order.

    Unknown is a warning and the runtime is assumed; none at all is `no-runtime`, one without permission `no-access`.
    """
    asked = case.request.runtime
    states = {name: _state(case, name) for name in ("docker", "podman", "host")}
    has = ((case.previous or {}).get("launch") or {}).get("runtime")
    names = (asked,) if asked != "auto" else tuple(name for name in states if has in (None, _behind(case, name)))
    for wanted in (True, None):
        for name in (n for n in names if states[n] is wanted):
            if wanted:
                return _behind(case, name), Notes()
            return name, Notes.of(Warn("runtime-unknown", f"{case.facts.name} does not say whether {name} works there; it is assumed"))
    return None, Notes.of(_no_runtime(case, names))


def _state(case: Case, name: str) -> bool | None:
    if name == "host":
        return True if case.request.runtime == "host" and case.request.python_env else bool(case.facts.python_envs)
    return _runtime(case, name).reachable


def _runtime(case: Case, name: str) -> Runtime:
    return case.facts.docker if name == "docker" else case.facts.podman


def _behind(case: Case, name: str) -> str:
    """Podman's shim answers to the docker command."""
    return "podman" if name == "docker" and case.facts.docker.is_podman else name


def _no_runtime(case: Case, names: tuple[str, ...]) -> Refusal:
    reasons = load_toml("runtimes.toml")["reason"]
    found = {name: _runtime(case, name).reason or "not reachable" for name in names if name != "host"}
    locked = next((name for name, reason in found.items() if reasons.get(reason, {}).get("code") == "no-access"), None)
    first = locked or next(iter(found), "host")
    entry = reasons.get(found.get(first, "no-python"), reasons["error"])
    text = "; ".join([f"{name}: {reason}" for name, reason in found.items()] + ["no Python environment with vllm"] * ("host" in names))
    return Refusal(entry["code"], f"nothing can run the engine on {case.facts.name}", text,
                   f"{' or '.join(names)} reachable in the session of {case.facts.user or 'the user'}", entry["do"].format(user=case.facts.user or "$USER"))


def cpuset_works(case: Case, runtime: str | None) -> tuple[bool, Notes]:
    """Whether cgroups take a cpuset. Rootless without the controller: the set is dropped, threads stay bound by the engine."""
    if runtime not in ("docker", "podman"):
        return True, Notes()
    facts = _behind_it(case, runtime)
    delegated = facts.controllers is None or "cpuset" in facts.controllers
    if facts.cgroup_driver == "none" or (facts.rootless and (not delegated or facts.cgroup_version == 1)):
        return False, Notes.of(Warn("cpuset-dropped", f"{runtime} on {case.facts.name} runs rootless without the cpuset controller: the container is not "
                                    "confined to its cores and memory nodes; the engine still binds its threads. To change that, delegate cpuset to "
                                    "user sessions (systemd: Delegate=cpu cpuset io memory pids for user@.service)"))
    return True, Notes()


def memory_limit_works(case: Case, runtime: str | None) -> tuple[bool, Notes]:
    """Whether cgroups take a memory limit. Rootless without the controller a start with one fails, or it is ignored: it is left out."""
    if runtime not in ("docker", "podman"):
        return True, Notes()
    facts = _behind_it(case, runtime)
    if facts.rootless and (facts.cgroup_version == 1 or (facts.controllers is not None and "memory" not in facts.controllers)):
        return False, Notes.of(Warn("memory-unlimited", f"{runtime} on {case.facts.name} runs rootless without the memory controller: the container has no "
                                    "memory limit; what it takes beyond its plan is missing elsewhere"))
    return True, Notes()


def _behind_it(case: Case, runtime: str) -> Runtime:
    return _runtime(case, "docker" if runtime == "docker" or case.facts.docker.is_podman else "podman")


def cache_mounts(case: Case) -> tuple[tuple[Mount, ...], Notes]:
    """All that the engine reads from the host: model cache, model directory, chat template."""
    storage, request = case.facts.storage, case.request
    source, notes = _cache_path(case)
    autofs = storage.hf_cache_fstype == "autofs"
    target = f"{CACHE_TARGET}/hub" if storage.models_at == "root" and request.hf_cache is None else CACHE_TARGET
    mounts = [Mount(source, target, propagation="rslave" if autofs else None)]
    if request.model and request.model.startswith("/"):
        mounts.append(Mount(request.model, request.model, read_only=True))
    if request.chat_template:
        mounts.append(Mount(on_host(case, request.chat_template), on_host(case, request.chat_template), read_only=True))
    return tuple(mounts), notes + (_cache_warnings(case, source) if request.hf_cache is None else Notes())


def files_of(case: Case) -> Notes:
    """What the configuration names must be there: a missing one would be told when the old container is gone already."""
    path = case.request.chat_template
    return Notes.of(Refusal("no-file", f"{case.name}: chatTemplate is not on {case.facts.name}", f"no file {path}", "a file on the host",
                            "copy it there (`scp`), correct the path, or leave chatTemplate out to use the model's own")
                    if path and path in case.absent else None)


def _cache_path(case: Case) -> tuple[str, Notes]:
    if case.request.hf_cache:
        return on_host(case, case.request.hf_cache), Notes()
    if case.facts.storage.hf_cache:
        return case.facts.storage.hf_cache, Notes()
    path = on_host(case, "~/.cache/huggingface")
    return path, Notes.of(Warn("cache-unknown", f"{case.facts.name} does not say where its model cache is; {path} is used (hfCache sets another)"))


def _cache_warnings(case: Case, source: str) -> Notes:
    storage, host = case.facts.storage, case.facts.name
    told = any(warning.code == "hf-cache-shared" for warning in case.facts.warnings)
    network = not told and (storage.hf_cache_fstype or "").startswith(("nfs", "lustre", "gpfs", "beegfs", "autofs", "cifs", "ceph"))
    return Notes.of(
        Warn("cache-network", f"the model cache {source} on {host} lies on {storage.hf_cache_fstype}: file locks may do nothing there, so let one "
             "endpoint download at a time (prefetch: true), or set hfCache to a local disk") if network else None,
        Warn("cache-root-squash", f"the model cache {source} on {host} is exported with root squashed: a container that runs as root cannot write "
             "there. Download the model beforehand (prefetch: true), or set hfCache to a local disk") if storage.root_squash else None,
        Warn("cache-read-only", f"{case.facts.user or 'the user'} cannot write the model cache {source} on {host}; set hfCache, or give write access")
        if storage.hf_cache_writable is False else None,
        *_disk_warnings(case, source))


def _disk_warnings(case: Case, source: str) -> tuple[Warn | None, ...]:
    free, needed = case.survey.disk_free_bytes.get("hf_cache"), case.manifest.download_bytes
    if free is None or not needed or free >= needed:
        return ()
    return (Warn("cache-full", f"the model is a download of {needed:,} bytes and {source} on {case.facts.name} has {free:,} bytes free; "
                 "free some, or set hfCache (nothing to do when the model is cached already)"),)


def on_host(case: Case, path: str) -> str:
    """A path of the configuration with `~` as the home of the host's user."""
    home = case.facts.storage.home or "/root"
    return home + path[1:] if path.startswith("~/") else path


def token_environment(case: Case) -> Mapping[str, str]:
    """Where the Hub token will lie in the container (gated models only); its content is copied there before the start."""
    return {"HF_TOKEN_PATH": TOKEN_TARGET} if case.manifest.gated else {}


def labels(case: Case, family: str, choice: Choice, port: int, held_bytes: int) -> dict[str, str]:
    """What the survey of a later run reads back. `held_bytes`: what each rank takes of its node."""
    place = choice.placement
    values = {"stack": case.stack, "endpoint": case.name, "family": family, "cpus": place.cpuset_cpus or "", "gpus": cpu_list(place.gpus),
              "port": str(port), "node": str(place.numa_nodes[0]) if place.numa_nodes else "", "memory-bytes": str(held_bytes),
              "owner": case.owner, "revision": case.manifest.revision or "", "generation": str(case.generation)}
    return {LABEL + key: value for key, value in values.items() if value}


def hashed(spec: LaunchSpec) -> str:
    """A short hash of everything that makes the container, for the label `amd-vllm.plan`."""
    text = json.dumps(asdict(spec), sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
