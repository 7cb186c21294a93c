"""Damaged recordings: cut anywhere, a line missing, other line ends, NUL bytes, very long lines, wrong encodings.

Never a crash, never a wrong certain answer.
"""
from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planning.detect import document, load_recording, read_host
from planning.detect.sources import PREFIXES
from tests.planning.detect.expectations import HOSTS

CPU = ("vendor", "model_name", "cpu_family", "cpu_model", "is_epyc", "generation", "zen", "sockets", "cores_per_socket", "threads_per_core",
       "cpus", "cpus_online", "avx2", "avx512f", "avx512_bf16", "hypervisor")
CPU_HOSTS = ("turin-9575f-dual-mi355x-x8-smt-offline", "naples-7451-locale-ja", "masked-epyc-processor-family25-no-flags", "siena-8434p-l3-as-numa",
             "genoa-kvm-epyc-genoa-cpuinfo", "not-epyc-xeon-lscpu-json-nested", "naples-7601-dual-wrapped-flags")
ENDED = ("mi300x-x8-amd-smi-70-default-table", "mi210-static-json-gpu-data-inbox-driver", "genoa-9474f-dual-mi300x-x4", "mi300x-single-rocm60-two-line-table",
         "discrete-plus-igpu-rocm-smi-meminfo-json", "mi355x-amd-smi-2620-mixed-json-shapes")       # outputs that show where they end
RUNTIME_HOSTS = ("docker-cgroup2-systemd-rootful-info", "docker-permission-denied-json", "podman-cgroup1-empty-controllers", "docker-rootless-cgroup-none")
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
RECORDED = {name: load_recording(HOSTS / name) for name in {*CPU_HOSTS, *ENDED, *RUNTIME_HOSTS}}


def read(outputs: dict[str, str]) -> dict[str, Any]:
    return document(*read_host("box", outputs))


WHOLE = {name: read(outputs) for name, outputs in RECORDED.items()}


def damage(draw: Any, name: str, how: str) -> dict[str, str]:
    """One file of the recording damaged, the others left out."""
    file = draw(st.sampled_from(sorted(RECORDED[name])))
    text = RECORDED[name][file]
    if how == "cut":
        return {file: text[:draw(st.integers(0, len(text)))]}
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines) - 1))
    return {file: "\n".join(lines[:at] + lines[at + 1:])}


def not_wrong(whole: dict[str, Any], part: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        if whole[key] is not None:
            assert part[key] in (None, whole[key]), f"{key}: {part[key]!r}, in truth {whole[key]!r}"


@FEW
@given(st.data())
@pytest.mark.parametrize("how", ["cut", "line"])
def test_cpu_is_right_or_unknown(how: str, data: Any) -> None:
    name = data.draw(st.sampled_from(CPU_HOSTS))
    not_wrong(WHOLE[name]["cpu"], read(damage(data.draw, name, how))["cpu"], CPU)


@FEW
@given(st.data())
@pytest.mark.parametrize("how", ["cut", "line"])
def test_gpus_are_right_or_unknown(how: str, data: Any) -> None:
    name = data.draw(st.sampled_from(ENDED))
    whole, part = WHOLE[name]["gpus"], read(damage(data.draw, name, how))["gpus"]
    not_wrong(whole, part, ("count", "driver_version", "rocm_version"))
    by_index = {device["index"]: device for device in whole["devices"]}
    for device in part["devices"]:
        not_wrong(by_index[device["index"]], device, ("gfx", "device_id", "vram_bytes", "compute_partition", "memory_partition", "pci", "instinct"))


@FEW
@given(st.data())
@pytest.mark.parametrize("how", ["cut", "line"])
def test_runtimes_are_right_or_unknown(how: str, data: Any) -> None:
    name = data.draw(st.sampled_from(RUNTIME_HOSTS))
    part = read(damage(data.draw, name, how))["runtimes"]
    for runtime in ("docker", "podman"):
        not_wrong(WHOLE[name]["runtimes"][runtime], part[runtime], ("server_version", "cgroup_version", "cgroup_driver", "rootless", "controllers"))


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_line_ends_nul_and_byte_order_mark_change_nothing(name: str) -> None:
    clean = {key: value for key, value in WHOLE[name].items() if key != "warnings"}
    for change in (lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\x00\n")):
        changed = read({file: change(text) for file, text in RECORDED[name].items()})
        assert {key: value for key, value in changed.items() if key != "warnings"} == clean


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([prefix for prefix, _ in PREFIXES]), st.sampled_from([".txt", ".json", "", ".csv"]), st.text(max_size=300) | st.binary(max_size=300))
def test_any_text_in_any_file(prefix: str, suffix: str, content: str | bytes) -> None:
    text = content if isinstance(content, str) else content.decode("utf-8", errors="replace")
    doc = read({f"{prefix}{suffix}": text})
    assert doc["cpu"]["generation"] is None and doc["gpus"]["devices"] == [] or text.strip()


JSONISH = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                       lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(
                           ["gpu", "gpu_data", "asic", "vram", "size", "value", "unit", "bus", "bdf", "host", "version", "security", "lscpu", "field",
                            "data", "children", "ServerErrors", "SecurityOptions", "CgroupVersion", "card0", "Names", "Labels", "Ports", "partition"]),
                           inner, max_size=5),
                       max_leaves=20)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["amd-smi-static.json", "amd-smi-version.json", "rocm-smi.json",
                        "docker-info.json", "podman-info.json", "lscpu.json", "docker-ps.json"]), JSONISH)
def test_json_of_any_shape(name: str, value: Any) -> None:
    read({name: json.dumps(value) + "\n"})


LONG = {"words": "flags : " + "avx " * 2_500_000, "brackets": '["' + "[" * 10_000_000, "lines": "GPU: 0\n" + "\n" * 10_000_000}


@pytest.mark.parametrize("kind", LONG)
def test_ten_megabytes_in_any_file_take_no_time(kind: str) -> None:
    for prefix in {subject: prefix for prefix, subject in PREFIXES}.values():
        started = time.process_time()
        read({f"{prefix}.txt": LONG[kind]})
        assert time.process_time() - started < 5, prefix


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.parametrize("codec", ["utf-16", "latin-1", "cp037"])
def test_wrong_encodings(name: str, codec: str) -> None:
    garbled = {file: text.encode(codec, errors="replace").decode("utf-8", errors="replace") for file, text in RECORDED[name].items()}
    not_wrong(WHOLE[name]["cpu"], read(garbled)["cpu"], ("generation", "sockets", "cpus", "avx512f", "cpu_family"))
