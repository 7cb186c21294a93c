"""A LaunchSpec as pulumi-docker's resources: mapping only. The container is created, not started; `EndpointStart` starts it."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_docker as docker

MIB = 1 << 20


def remote_image(name: str, plan: pulumi.Output[dict], opts: pulumi.ResourceOptions) -> docker.RemoteImage:
    """The image on the host. It stays there when the endpoint goes."""
    return docker.RemoteImage(name, name=plan.apply(lambda p: p["launch"]["image"]), keep_locally=True, opts=opts)


def container(name: str, plan: pulumi.Output[dict], image: docker.RemoteImage, secrets: Mapping[str, pulumi.Output[str]],
              opts: pulumi.ResourceOptions) -> docker.Container:
    """The container of a plan. `secrets`: variables that only exist as secrets (VLLM_API_KEY)."""
    def spec(read):
        return plan.apply(lambda p: read(defaultdict(lambda: None, p["launch"])))  # the engine drops what is None

    trigger = plan.apply(lambda p: int(p["generation"]))
    return docker.Container(
        name, name=spec(lambda s: s["container_name"]), image=image.name, entrypoints=spec(lambda s: s["entrypoint"]), command=spec(lambda s: s["command"]),
        envs=_environment(plan, secrets), mounts=spec(lambda s: [_mount(mount) for mount in s["mounts"]]),
        devices=spec(lambda s: [{"host_path": path, "container_path": path, "permissions": "rwm"} for path in s["devices"]]),
        group_adds=spec(lambda s: s["group_add"]), capabilities=spec(_capabilities), security_opts=spec(_security), ipc_mode=spec(lambda s: s["ipc"]),
        network_mode=spec(lambda s: s["network"]), shm_size=spec(lambda s: _mib(s["shm_bytes"])), memory=spec(lambda s: _mib(s["memory_bytes"])),
        memory_swap=spec(lambda s: _mib(s["memory_bytes"])), cpu_set=plan.apply(lambda p: p["placement"].get("cpuset_cpus")),
        labels=spec(lambda s: [{"label": key, "value": value} for key, value in sorted(s["labels"].items())]), restart=spec(lambda s: s["restart"]),
        stop_timeout=spec(lambda s: int(s["stop_seconds"])), destroy_grace_seconds=spec(lambda s: int(s["stop_seconds"])),
        log_driver=spec(lambda s: "json-file" if s["log_options"] else None), log_opts=spec(lambda s: s["log_options"] or None),
        start=False, must_run=False, opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(replacement_trigger=trigger, delete_before_replace=True)))


def _environment(plan: pulumi.Output[dict], secrets: Mapping[str, pulumi.Output[str]]) -> pulumi.Output[list]:
    plain = plan.apply(lambda p: [f"{key}={value}" for key, value in sorted(p["launch"]["environment"].items())])
    hidden = [pulumi.Output.concat(name, "=", value) for name, value in secrets.items()]
    return pulumi.Output.all(plain, *hidden).apply(lambda parts: [*parts[0], *parts[1:]])


def _mount(mount: Mapping[str, Any]) -> dict[str, Any]:
    propagation = mount.get("propagation")
    return {"type": "bind", "source": mount["source"], "target": mount["target"], "read_only": mount["read_only"],
            **({"bind_options": {"propagation": propagation}} if propagation else {})}


def _capabilities(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"adds": [f"CAP_{name}" for name in spec["cap_add"]]} if spec["cap_add"] else None


def _security(spec: Mapping[str, Any]) -> list[str]:
    """A seccomp profile is named by its data file in the plan; the API takes the JSON itself. With `ipc: host` Docker adds
    `label=disable` by itself: said here too, or every refresh would show a change."""
    from planning.catalog import DATA

    def option(text: str) -> str:
        kind, _, file = text.partition("=")
        return f"{kind}={(DATA / file).read_text(encoding='utf-8')}" if file.endswith(".json") else text

    return [*(["label=disable"] if spec["ipc"] == "host" else []), *map(option, spec["security_opt"])]


def _mib(size_bytes: float | None) -> int | None:
    return None if size_bytes is None else -(-int(size_bytes) // MIB)
