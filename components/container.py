"""A LaunchSpec as pulumi-docker's resources: mapping only. The container is created, not started; `EndpointStart` starts it.

Plans come here as the engine hands them over: numbers are floats, what was None is absent.
"""
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_docker as docker

from components.runtimes import Job, fetched, start
from planning.catalog import load_json
from providers.endpoint_start import EndpointStart

MIB = 1 << 20


def run(job: Job) -> EndpointStart:
    """Image, container and start of one plan."""
    launch = defaultdict(lambda: None, job.plan["launch"])
    on_host = pulumi.ResourceOptions(parent=job.parent, provider=job.host.docker)
    image = docker.RemoteImage(job.name, name=fetched(job), keep_locally=True, opts=on_host)
    created = _container(job.name, launch, image.name.apply(job.ready), job.secrets, pulumi.ResourceOptions.merge(on_host, pulumi.ResourceOptions(
        replacement_trigger=int(job.plan["generation"]), delete_before_replace=True, depends_on=list(job.after))))
    return start(job, created.id)


def _container(name: str, launch: Mapping[str, Any], image: pulumi.Output[str], secrets: Mapping[str, pulumi.Output[str]],
               opts: pulumi.ResourceOptions) -> docker.Container:
    return docker.Container(
        name, name=launch["container_name"], image=image, entrypoints=launch["entrypoint"], command=launch["command"],
        envs=[*(f"{key}={value}" for key, value in sorted(launch["environment"].items())),
              *(pulumi.Output.concat(key, "=", value) for key, value in secrets.items())],
        mounts=[_mount(mount) for mount in launch["mounts"]], devices=[_device(path) for path in launch["devices"]], group_adds=launch["group_add"],
        capabilities=docker.ContainerCapabilitiesArgs(adds=[f"CAP_{name}" for name in launch["cap_add"]]) if launch["cap_add"] else None,
        security_opts=_security(launch), ipc_mode=launch["ipc"], network_mode=launch["network"], ports=_ports(launch),
        shm_size=_mib(launch["shm_bytes"]),
        memory=_mib(launch["memory_bytes"]), memory_swap=_mib(launch["memory_bytes"]), cpu_set=launch["cpuset_cpus"],
        labels=[docker.ContainerLabelArgs(label=key, value=value) for key, value in sorted(launch["labels"].items())], restart=launch["restart"],
        stop_timeout=int(launch["stop_seconds"]), destroy_grace_seconds=int(launch["stop_seconds"]),
        log_driver="json-file" if launch["log_options"] else None, log_opts=launch["log_options"] or None, start=False, must_run=False, opts=opts)


def _mount(mount: Mapping[str, Any]) -> docker.ContainerMountArgs:
    options = docker.ContainerMountBindOptionsArgs(propagation=mount["propagation"]) if mount.get("propagation") else None
    return docker.ContainerMountArgs(type="bind", source=mount["source"], target=mount["target"], read_only=mount["read_only"], bind_options=options)


def _ports(launch: Mapping[str, Any]) -> list[docker.ContainerPortArgs] | None:
    """On the host's network nothing is published."""
    port = int(launch["port"])
    return [docker.ContainerPortArgs(internal=port, external=port, ip=launch["bind_address"])] if launch["network"] == "bridge" else None


def _device(path: str) -> docker.ContainerDeviceArgs:
    return docker.ContainerDeviceArgs(host_path=path, container_path=path, permissions="rwm")


def _security(launch: Mapping[str, Any]) -> list[str]:
    """A seccomp profile is named by its data file in the plan; the API takes the JSON itself, here without
    blanks, as it stands in the state twice. With `ipc: host` Docker adds
    `label=disable` by itself: said here too, or every refresh would show a change."""
    def option(text: str) -> str:
        kind, _, file = text.partition("=")
        return f"{kind}={json.dumps(load_json(file), separators=(',', ':'))}" if file.endswith(".json") else text

    return [*(["label=disable"] if launch["ipc"] == "host" else []), *map(option, launch["security_opt"])]


def _mib(size_bytes: float | None) -> int | None:
    return None if size_bytes is None else -(-int(size_bytes) // MIB)
