"""A launch as words for `docker create` or `podman create`. Pure: from plain data, giving the argument list after `create`.

No secret passes through here. Values are single arguments, so nothing in them is read by a shell.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from planning.addresses import bracketed

PULL = ("--pull", "never")


def create_arguments(launch: Mapping[str, Any], image: str) -> list[str]:
    """For Docker, whose `--entrypoint` is one word."""
    entrypoint = list(launch.get("entrypoint") or ())
    words = ["--entrypoint", entrypoint[0]] if entrypoint else []
    return [*_shared(launch), "--restart", launch["restart"], *_docker_log(launch), *words, image, *entrypoint[1:], *launch["command"]]


def podman_arguments(launch: Mapping[str, Any], image: str, secrets: Iterable[str] = ()) -> list[str]:
    """For Podman. Of its restart policies only `always` is taken up again after a reboot (podman-restart.service); stopped by hand both stay so.

    `secrets`: `api-key`, `hf-token`, those that were created for this container.
    """
    restart = "always" if launch["restart"] == "unless-stopped" else launch["restart"]
    entrypoint = ["--entrypoint", json.dumps(list(launch["entrypoint"]))] if launch.get("entrypoint") else []
    size = (launch.get("log_options") or {}).get("max-size")
    log = ["--log-driver", "k8s-file", "--log-opt", f"max-size={size}"] if size else []
    return [*_shared(launch), "--restart", restart, *log, *_secrets(launch, secrets), *entrypoint, image, *launch["command"]]


def _secrets(launch: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    name = launch["container_name"]
    target = str(launch["environment"].get("HF_TOKEN_PATH") or "").removeprefix("/run/secrets/")
    form = {"api-key": f"{name}-api-key,type=env,target=VLLM_API_KEY", "hf-token": f"{name}-hf-token,type=mount,target={target},mode=0400"}
    return _each("--secret", (form[key] for key in keys))


def _shared(launch: Mapping[str, Any]) -> list[str]:
    bridged = launch.get("network") == "bridge"
    given = {"--ipc": launch.get("ipc"), "--network": launch.get("network"), "--shm-size": _bytes(launch.get("shm_bytes")),
             "--memory": _bytes(launch.get("memory_bytes")), "--memory-swap": _bytes(launch.get("memory_bytes")),
             "--cpuset-cpus": launch.get("cpuset_cpus"), "--cpuset-mems": launch.get("cpuset_mems"),
             "--user": launch.get("user"), "--stop-timeout": str(int(launch["stop_seconds"]))}
    return ["--name", launch["container_name"], *PULL, *(word for key, value in given.items() if value for word in (key, value)),
            *_each("--label", (f"{key}={value}" for key, value in sorted(launch["labels"].items()))),
            *_each("--env", (f"{key}={value}" for key, value in sorted(launch["environment"].items()))),
            *_each("--mount", map(_mount, launch.get("mounts") or ())), *_each("--device", launch.get("devices") or ()),
            *_each("--group-add", launch.get("group_add") or ()), *_each("--cap-add", launch.get("cap_add") or ()),
            *_each("--security-opt", (option for option in launch.get("security_opt") or () if not _profile(option))),
            *(["--publish", _published(launch)] if bridged else [])]


def _profile(option: str) -> bool:
    """A seccomp profile named by our data file, which is not on the host: only Docker's API takes its text."""
    return option.startswith("seccomp=") and option.endswith(".json")


def _published(launch: Mapping[str, Any]) -> str:
    address, port = launch["bind_address"], int(launch["port"])
    return f"{bracketed(address)}:{port}:{port}"


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _mount(mount: Mapping[str, Any]) -> str:
    more = (",readonly" if mount.get("read_only") else "") + (f",bind-propagation={mount['propagation']}" if mount.get("propagation") else "")
    return f"type=bind,source={mount['source']},target={mount['target']}{more}"


def _docker_log(launch: Mapping[str, Any]) -> list[str]:
    options = launch.get("log_options") or {}
    return (["--log-driver", "json-file"] if options else []) + _each("--log-opt", (f"{key}={value}" for key, value in sorted(options.items())))


def _bytes(size: float | None) -> str | None:
    return None if size is None else str(int(size))
