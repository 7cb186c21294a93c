"""Decides the two container runtimes of a host: reachable or why not, rootless, cgroups, whether limits work.

From `docker info`, `docker version`, `docker ps`, `podman info` and the exit status of our probes, giving two `Runtime`s.
"""
from __future__ import annotations

from typing import Any

from planning.detect import docker, podman
from planning.detect.facts import Runtime
from planning.detect.sources import Source
from planning.detect.text import clean
from planning.detect.witnesses import Ledger

RUNTIME_FIELDS = ("server_version", "cgroup_version", "cgroup_driver", "rootless", "root_dir", "architecture")


def read_docker(sources: dict[str, list[Source]], statuses: dict[str, int], ledger: Ledger, in_docker_group: bool | None) -> Runtime:
    """Docker as this session sees it."""
    fields: dict[str, Any] = {}
    errors: list[str] = []
    said = [*sources.get("docker-info", [])]
    for source in said:
        told = docker.parse_info(source.text)
        errors += told.pop("errors", [])
        for key, value in told.items():
            fields[key] = fields.get(key) or value if isinstance(value, bool) else fields.get(key) if fields.get(key) is not None else value
    version = _version(sources, fields)
    reachable, why = _reachable(sources, said, fields, errors, statuses)
    if why == "permission-denied":
        ledger.warn("docker-permission", "docker: permission denied on the socket. "
                    + ("The user is in the group docker but this session is older than that: log in again" if in_docker_group
                       else "Add the user to the group docker (sudo usermod -aG docker $USER; log in again) or use podman"))
    desktop = _desktop(fields)
    if desktop:
        ledger.warn("docker-desktop", f"docker runs in a virtual machine ({fields['operating_system']}): host devices such as /dev/kfd and "
                    "most of the memory and CPUs are not its own")
    enforced = _warn_limits(fields, ledger)
    plain = {key: fields.get(key) for key in RUNTIME_FIELDS}
    plain["server_version"] = plain["server_version"] or version
    return Runtime(reachable=reachable, reason=why, is_podman=fields.get("is_podman") or (False if reachable else None),
                   desktop=desktop, limits_enforced=enforced, **plain)


def _version(sources: dict[str, list[Source]], fields: dict[str, Any]) -> str | None:
    for source in sources.get("docker-version", []):
        told = docker.parse_version(source.text)
        if told["is_podman"]:
            fields["is_podman"] = True
        if told["version"]:
            return told["version"]
    return None


def _reachable(sources: dict[str, list[Source]], said: list[Source], fields: dict[str, Any], errors: list[str],
               statuses: dict[str, int]) -> tuple[bool | None, str | None]:
    missing = any(statuses.get(source.name) == 127 for source in said)
    if missing:
        return False, "missing"
    if errors:
        return False, docker.reason("", errors) or "error"
    if docker.answered(fields):
        return True, None
    if fields.get("is_podman"):
        listed = any("CONTAINER ID" in clean(source.text) for source in sources.get("docker-ps", []))
        return (True if listed or said else None), None
    text = "\n".join(source.text for source in said)
    why = docker.reason(text, [])
    return (False, why) if why else (None, None)


def _desktop(fields: dict[str, Any]) -> bool | None:
    system = fields.get("operating_system")
    return "docker desktop" in system.lower() if system else None


def _warn_limits(fields: dict[str, Any], ledger: Ledger) -> bool | None:
    """Whether --memory and --cpuset-cpus do anything."""
    if fields.get("limits_ignored") or fields.get("cgroup_driver") == "none":
        ledger.warn("limits-ignored", "docker runs rootless without a cgroup driver (CgroupDriver none): limits on memory and CPUs are accepted "
                    "and ignored, whatever MemoryLimit and CPUSet say. Boot the host with cgroup v2")
        return False
    return True if fields.get("cgroup_driver") in {"systemd", "cgroupfs"} else None


def read_podman(sources: dict[str, list[Source]], statuses: dict[str, int], ledger: Ledger, shim_version: str | None) -> Runtime:
    """Podman as this session sees it. Of two answers that differ by session, the one over ssh is ours."""
    said = sorted(sources.get("podman-info", []), key=lambda source: "over-ssh" not in source.name)
    fields: dict[str, Any] = {}
    heard: dict[str, tuple[str, ...]] = {}
    for source in said:
        told = podman.parse_info(source.text)
        if told.get("controllers") is not None:
            heard[source.name] = told["controllers"]
        for key, value in told.items():
            if fields.get(key) is None:
                fields[key] = value
    if len(set(heard.values())) > 1:
        ledger.warn("controllers-by-session", "podman's cgroup controllers differ by session: "
                    + "; ".join(f"{name}: [{' '.join(found)}]" for name, found in heard.items())
                    + ". Those of the session that starts the container count")
    for source in sources.get("podman-version", []):
        fields["server_version"] = fields.get("server_version") or docker.parse_version(source.text)["version"]
    if any(statuses.get(source.name) == 127 for source in said):
        return Runtime(reachable=False, reason="missing")
    version = fields.get("server_version") or shim_version
    answered = bool(version or fields.get("cgroup_version") or fields.get("controllers") is not None)
    failed = any(statuses.get(source.name) not in (None, 0) for source in said)
    enforced = _podman_limits(fields, ledger)
    plain = {key: fields.get(key) for key in RUNTIME_FIELDS if key != "server_version"}
    return Runtime(reachable=True if answered else False if failed else None, reason="error" if failed and not answered else None,
                   server_version=version, controllers=fields.get("controllers"), socket=fields.get("socket"), desktop=None,
                   limits_enforced=enforced, **plain)


def _podman_limits(fields: dict[str, Any], ledger: Ledger) -> bool | None:
    controllers = fields.get("controllers")
    if controllers is None:
        return None
    lacking = [name for name in ("cpuset", "memory") if name not in controllers]
    if lacking:
        ledger.warn("controllers-missing", f"podman may not use the cgroup controller(s) {', '.join(lacking)} in this session"
                    + (" (cgroup v1)" if fields.get("cgroup_version") == 1 else "")
                    + ": such limits are refused or ignored. Threads are still bound by VLLM_CPU_OMP_THREADS_BIND")
    return not lacking
