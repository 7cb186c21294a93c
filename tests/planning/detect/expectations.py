"""What each key of a recorded host's `expect` means for us: one function per key, from the host to the value it must have.

A key without an entry here fails the test: nothing that is known of a recording goes unchecked.
"""
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planning.detect import cpulist, document, load_recording, lscpu, mounts, ports, read_host, tables
from planning.detect.amd_smi import parse_versions
from planning.detect.cpuinfo import parse as parse_cpuinfo
from planning.detect.docker import parse_info
from planning.detect.kfd import _nodes as kfd_nodes
from planning.detect.listing import gfx_from_target
from planning.detect.podman import parse_info as parse_podman
from planning.detect.rocm_smi import parse as parse_rocm_smi
from planning.detect.rocminfo import cpu_agents
from planning.detect.vram import partitions

HOSTS = Path(__file__).parents[2] / "hosts"
GIB = 1 << 30


@dataclass(frozen=True)
class Host:
    """One recorded host, read."""

    case: dict[str, Any]
    outputs: dict[str, str]
    doc: dict[str, Any]
    facts: Any
    survey: Any

    @property
    def cpu(self) -> dict[str, Any]:
        return self.doc["cpu"]

    @property
    def gpus(self) -> dict[str, Any]:
        return self.doc["gpus"]

    @property
    def runtime(self) -> dict[str, Any]:
        return self.doc["runtimes"][self.case["expect"].get("runtime", "docker")]

    def of_devices(self, key: str) -> Any:
        """The value that all devices share."""
        values = [device[key] for device in self.gpus["devices"] if device[key] is not None]
        assert values and all(value == values[0] for value in values), values
        return values[0]

    def text(self, prefix: str) -> str:
        return "\n".join(text for name, text in sorted(self.outputs.items()) if name.startswith(prefix))


def read(name: str) -> Host:
    case = json.loads((HOSTS / name / "case.json").read_text())
    outputs = load_recording(HOSTS / name)
    facts, survey = read_host(name, outputs)
    return Host(case, outputs, document(facts, survey), facts, survey)


def _cpu(key: str) -> Callable[[Host], Any]:
    return lambda host: host.cpu[key]


def _gpus(key: str) -> Callable[[Host], Any]:
    return lambda host: host.gpus[key]


def _shared(key: str) -> Callable[[Host], Any]:
    return lambda host: host.of_devices(key)


def _runtime(key: str) -> Callable[[Host], Any]:
    return lambda host: host.runtime[key]


def _node_cpus(node: int) -> Callable[[Host], Any]:
    return lambda host: cpulist.parse(next(n["cpus"] for n in host.cpu["nodes"] if n["node"] == node))


def _gib(host: Host) -> int:
    return round(host.of_devices("vram_bytes") / GIB)


def _vram(host: Host) -> Any:
    found = [device["vram_bytes"] for device in host.gpus["devices"]]
    return found if isinstance(host.case["expect"]["vram_bytes"], list) else host.of_devices("vram_bytes")


def _lscpu(host: Host) -> dict[str, Any]:
    return lscpu.parse_text(host.text("lscpu"))


def _agent_threads(host: Host) -> Any:
    return {agent["compute_units"] for agent in cpu_agents(host.outputs["rocminfo.txt"])}


def _physical(host: Host) -> int:
    split = partitions(host.of_devices("device_id"), host.of_devices("compute_partition"))
    return -(-host.gpus["count"] // split)


def _num_xcc(host: Host) -> list[str]:
    dies = tables.gpu(host.of_devices("device_id"))["xcc"]
    return [str(dies // partitions(host.of_devices("device_id"), host.of_devices("compute_partition")))]


def _versions(host: Host) -> list[dict[str, Any]]:
    lines = parse_versions(host.text("amd-smi-version"))
    return [{key: line[key] for key in wanted} for line, wanted in zip(lines, host.case["expect"]["lines"], strict=True)]


def _rows(host: Host) -> int:
    if "mount-l.txt" in host.outputs:
        return len(mounts.parse(host.outputs["mount-l.txt"]))
    return len(host.outputs["findmnt-after.txt"].splitlines())


def _mount(name: str, target: str | None = None) -> Callable[[Host], Any]:
    return lambda host: mounts.effective(mounts.parse(host.outputs[name]), target)


def _driven_last(host: Host) -> str:
    options = mounts.effective(mounts.parse(host.outputs["mount-l.txt"])).options
    return "last row (soft)" if ",soft," in options else options


MEANING: dict[str, Callable[[Host], Any]] = {
    **{key: _cpu(key) for key in ("generation", "zen", "model_name", "vendor", "cpu_family", "cpu_model", "sockets", "cores_per_socket",
                                  "threads_per_core", "cpus", "cpus_online", "numa_nodes", "avx2", "avx512f", "avx512_bf16", "hypervisor", "is_epyc")},
    "epyc": _cpu("is_epyc"),
    "cpu_model_name": _cpu("model_name"),
    "cpus_total": _cpu("cpus"),
    "virtual": lambda host: host.cpu["hypervisor"] is not None,
    "siblings": lambda host: parse_cpuinfo(host.outputs["cpuinfo.txt"])["siblings"],
    "cpus_in_block": lambda host: parse_cpuinfo(host.outputs["cpuinfo.txt"])["siblings"],
    "avx_vnni": lambda host: _lscpu(host)["flags"].has("avx_vnni"),
    "cpu_max_mhz": lambda host: _lscpu(host)["max_mhz"],
    "bogomips": lambda host: _lscpu(host)["bogomips"],
    "numa_node0_cpus": _node_cpus(0),
    "numa_node2_cpus": _node_cpus(2),
    "numa_node_ids": lambda host: [node["node"] for node in host.cpu["nodes"]],
    "nps": lambda host: host.cpu["numa_nodes"] // host.cpu["sockets"],
    "nodes_per_socket": lambda host: host.cpu["numa_nodes"] // host.cpu["sockets"],
    "node_mem_mb": lambda host: [node["memory_bytes"] >> 20 for node in host.cpu["nodes"]],
    "nodes_with_memory": lambda host: [node["node"] for node in host.cpu["nodes"] if node["memory_bytes"]],
    "memoryless_nodes": lambda host: [node["node"] for node in host.cpu["nodes"] if node["memory_bytes"] == 0],
    "mem_total_kib": lambda host: host.doc["memory"]["total_bytes"] // 1024,
    "threads_per_agent": lambda host: next(iter(_agent_threads(host))) if len(_agent_threads(host)) == 1 else None,
    "gpu_count": _gpus("count"),
    "kfd_gpu_nodes": _gpus("count"),
    "kfd_cpu_nodes": _cpu("numa_nodes"),
    "cpu_cores_per_cpu_node": lambda host: [node["cpu_cores_count"] for _, node in sorted(kfd_nodes(host.text("kfd")).items()) if node["cpu_cores_count"]],
    "rocm_version": _gpus("rocm_version"),
    "driver_version": _gpus("driver_version"),
    "amdsmi_version": _gpus("amdsmi_version"),
    "hsmp": lambda host: parse_versions(host.text("amd-smi-version"))[0]["hsmp"],
    "lines": _versions,
    **{key: _shared(key) for key in ("gfx", "market_name", "device_id", "compute_partition", "memory_partition", "virtual_function", "instinct",
                                     "compute_units", "product")},
    "gfx_from_device_id": _shared("gfx"),
    "gfx_from_name": _shared("gfx"),
    "gfx_target_version": lambda host: [version for version in host.case["expect"]["gfx_target_version"]
                                        if gfx_from_target(int(version)) == host.of_devices("gfx")],
    "device_ids": lambda host: sorted({device["device_id"] for device in host.gpus["devices"]}),
    "num_xcc": _num_xcc,
    "vram_bytes": _vram,
    "vram_mb": lambda host: host.of_devices("vram_bytes") >> 20,
    "vram_kib_pool": lambda host: host.of_devices("vram_bytes") // 1024,
    "vram_gb_per_gpu": _gib,
    "vram_gb_per_device_real": _gib,
    "vram_gb_text": lambda host: round(host.of_devices("vram_bytes") / GIB, 1),
    "vram_bytes_reported": lambda host: parse_rocm_smi(host.outputs["rocm-smi-showmeminfo-vram.txt"]).devices[0]["vram_bytes"],
    "physical_gpus": _physical,
    "gpu_marketing_name": lambda host: next((d["market_name"] for d in host.gpus["devices"] if d["market_name"]), None),
    "hip_ids": lambda host: [device["hip_index"] for device in host.gpus["devices"]],
    "gpu_numa": lambda host: [device["numa_node"] for device in host.gpus["devices"]],
    "igpu_index": lambda host: [device["index"] for device in host.gpus["devices"] if device["integrated"]].pop(),
    "nic_count": lambda host: host.text("amd-smi-list").count("AI_NIC:"),
    "runtime": lambda host: host.case["expect"]["runtime"] if any(host.runtime.values()) or host.runtime["reachable"] is False else None,
    **{key: _runtime(key) for key in ("reachable", "reason", "rootless", "server_version", "cgroup_version", "cgroup_driver", "limits_enforced",
                                      "controllers")},
    "version": _runtime("server_version"),
    "security_options": lambda host: parse_info(host.outputs["docker-info.txt"])["security_options"],
    "storage_driver": lambda host: parse_info(host.text("docker-info"))["storage_driver"],
    "json_memory_limit_flag": lambda host: '"MemoryLimit":true' in host.text("docker-info"),
    "docker_is_shim": lambda host: host.doc["runtimes"]["docker"]["is_podman"],
    "controllers_over_ssh": _runtime("controllers"),
    "controllers_local": lambda host: list(parse_podman(host.outputs["podman-info-controllers-local.txt"])["controllers"]),
    "published_host_ports": lambda host: list(host.survey.used_ports),
    "listening": lambda host: [list(pair) for pair in ports.parse_ss(host.outputs["ss-tl.txt"])[0]],
    "before_access": lambda host: _mount("findmnt-before.txt")(host).fstype,
    "after_access": lambda host: _mount("findmnt-after.txt")(host).fstype,
    "fs_of_var_lib_docker": lambda host: _mount("findmnt.txt", "/var/lib/docker")(host).fstype,
    "source_of_var_lib_docker": lambda host: _mount("findmnt.txt", "/var/lib/docker")(host).source,
    "autofs_targets": lambda host: [row.target for row in mounts.parse(host.outputs["findmnt.txt"]) if row.fstype == "autofs"],
    "target": lambda host: host.outputs["findmnt-after.txt"].splitlines()[-1],
    "rows": _rows,
    "fstype": lambda host: _mount("mount-l.txt")(host).fstype,
    "effective": _driven_last,
}
