"""Kinds of hosts that people have beside the recorded ones: each test is the smallest input that shows it."""
from __future__ import annotations

import json
from typing import Any

from planning.detect import document, read_host
from planning.detect.containers import parse as parse_containers
from planning.detect.load import by_socket
from planning.detect.ports import parse_proc_net, parse_ss

ROCMINFO = """\x1b[37mROCk module is loaded\x1b[0m
*******
Agent 1
*******
  Name:                    AMD EPYC 7A53 64-Core Processor
  Marketing Name:          AMD EPYC 7A53 64-Core Processor
  Device Type:             CPU
  Compute Unit:            128
*******
Agent 2
*******
  Name:                    gfx9010
  Marketing Name:          AMD Instinct MI250X
  Device Type:             GPU
  Chip ID:                 29704(0x7408)
  BDFID:                   49408
  Compute Unit:            110
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    67092480(0x3ffc000) KB
*** Done ***
"""


def read(**outputs: str) -> dict[str, Any]:
    facts, survey = read_host("box", {name.replace("__", "-").replace("_", "."): text for name, text in outputs.items()})
    return document(facts, survey)


def codes(doc: dict[str, Any]) -> set[str]:
    return {note["code"] for note in doc["warnings"]}


def test_rocminfo_with_colours_and_a_decimal_stepping() -> None:
    gpu = read(rocminfo_txt=ROCMINFO)["gpus"]["devices"][0]
    assert (gpu["gfx"], gpu["device_id"], gpu["product"], gpu["pci"]) == ("gfx90a", "0x7408", "MI250X", "0000:c1:00.0")
    assert gpu["vram_bytes"] == 67092480 * 1024


def test_generic_name_of_an_mi308x_does_not_count() -> None:
    static = json.dumps({"gpu_data": [{"gpu": 0, "asic": {"market_name": "AMD Radeon Graphics", "device_id": "0x74a2"}}]})
    doc = read(amd__smi__static_json=static)
    gpu = doc["gpus"]["devices"][0]
    assert (gpu["gfx"], gpu["instinct"], gpu["product"], gpu["market_name"]) == ("gfx942", True, "MI308X", "AMD Instinct MI308X")
    assert "gpu-name-generic" in codes(doc)


def test_json_of_a_single_object_and_of_several_values() -> None:
    one = '{"gpu": 0, "asic": {"device_id": "0x75a0"}}\n'
    two = '[{"gpu": 0, "bdf": "0000:05:00.0"}]\n[{"gpu": 1, "bdf": "0000:15:00.0"}]\n'
    assert read(amd__smi__static_json=one)["gpus"]["devices"][0]["gfx"] == "gfx950"
    assert read(amd__smi__list_json=two)["gpus"]["count"] == 2


def test_partitioned_cards_fill_in_the_modes_that_some_devices_lack() -> None:
    rows = [{"gpu": i, "asic": {"device_id": "0x74a1"}, "vram": {"size": {"value": 196592, "unit": "MB"}},
             "partition": {"compute_partition": "CPX" if i == 0 else "N/A", "memory_partition": "NPS1" if i == 0 else "N/A"}} for i in range(8)]
    gpus = read(amd__smi__static_json=json.dumps(rows))["gpus"]
    assert {gpu["compute_partition"] for gpu in gpus["devices"]} == {"CPX"}
    assert {gpu["vram_bytes"] for gpu in gpus["devices"]} == {196592 * 1024 * 1024 // 8}


def test_a_gap_in_the_indices_makes_the_count_unknown() -> None:
    text = "GPU: 0\n    BDF: 0000:05:00.0\n\nGPU: 2\n    BDF: 0000:25:00.0\n"
    assert read(amd__smi__list_txt=text)["gpus"]["count"] is None


def test_three_reasons_for_no_gpu() -> None:
    none = read(pci__display_txt="scanned:1\n", dev__access_txt="scanned:1\n")
    assert (none["gpus"]["count"], none["gpus"]["state"], codes(none)) == (0, "none", set())
    card = "0000:0c:00.0 device=0x74a1 class=0x120000 numa_node=0 driver= render= vram_total= compute= memory= vf=0\nscanned:1\n"
    driver = read(pci__display_txt=card)
    assert driver["gpus"]["state"] == "no-driver" and "gpu-driver-missing" in codes(driver)
    bound = card.replace("driver= ", "driver=amdgpu ").replace("render= ", "render=renderD128 ")
    listed = read(pci__display_txt=bound, dev__access_txt="scanned:1\n", amd__smi__list_json='[{"gpu": 0, "bdf": "0000:0c:00.0"}]')
    assert listed["gpus"]["state"] == "no-driver", "a tool lists it, and there is no /dev/kfd to run on"
    access = read(pci__display_txt=bound, dev__access_txt="kfd uid=0 gid=993 usable=0\nrenderD128 uid=0 gid=993 usable=0\nscanned:1\n")
    assert access["gpus"]["state"] == "no-access" and access["gpus"]["count"] == 1
    assert "993" in next(note["message"] for note in access["warnings"] if note["code"] == "gpu-access-denied")


def test_one_witness_without_gpus_does_not_hide_them() -> None:
    card = "0000:0c:00.0 device=0x740f class=0x120000 numa_node=1 driver=amdgpu render=renderD128 vram_total=68702699520 compute= memory= vf=0\nscanned:1\n"
    doc = read(pci__display_txt=card, rocm__smi_json="WARNING: No JSON data to report\n")
    assert (doc["gpus"]["count"], doc["gpus"]["devices"][0]["gfx"], doc["gpus"]["devices"][0]["numa_node"]) == (1, "gfx90a", 1)


def test_disagreement_shows_both() -> None:
    doc = read(lscpu_txt="Vendor ID: AuthenticAMD\nModel name: AMD EPYC 9654 96-Core Processor\nCPU family: 25\nModel: 17\n",
               cpuinfo_txt="processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\nmodel name : AMD EPYC 9654 96-Core Processor\n")
    message = next(note["message"] for note in doc["warnings"] if note["code"] == "witnesses-disagree")
    assert "cpuinfo.txt says 1" in message and "lscpu.txt says 17" in message


def test_one_sibling_off_line_still_means_two_threads() -> None:
    doc = read(lscpu_txt="CPU(s): 256\nOn-line CPU(s) list: 0-254\nOff-line CPU(s) list: 255\nThread(s) per core: 1\nCore(s) per socket: 64\nSocket(s): 2\n")
    assert (doc["cpu"]["threads_per_core"], doc["cpu"]["cpus"], doc["cpu"]["cpus_online"]) == (2, 256, 255)


def test_limits_of_cgroups_up_the_tree() -> None:
    doc = read(meminfo_txt="MemTotal: 1056450248 kB\n",
               cgroup_txt="/sys/fs/cgroup/a/b/memory.max:max\n/sys/fs/cgroup/a/memory.max:96636764160\n/sys/fs/cgroup/a/b/cpuset.cpus.effective:0-7\n")
    assert doc["memory"]["limit_bytes"] == 96636764160 and doc["cpu"]["allowed"] == "0-7"
    old = read(cgroup_txt="/sys/fs/cgroup/memory/x/memory.limit_in_bytes:9223372036854771712\n"
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes:160102875136\n")
    assert old["memory"]["limit_bytes"] == 160102875136


def test_docker_desktop_is_said() -> None:
    doc = read(docker__info_json='{"ServerVersion":"28.0.4","OperatingSystem":"Docker Desktop",'
                                  '"CgroupDriver":"cgroupfs","CgroupVersion":"2","ServerErrors":null}\n')
    assert doc["runtimes"]["docker"]["desktop"] is True and "docker-desktop" in codes(doc)


def test_docker_reasons() -> None:
    missing, _ = read_host("box", {"docker-info.json": "", "probe-status.txt": "docker-info.json 127\n"})
    assert (missing.docker.reachable, missing.docker.reason) == (False, "missing")
    down = read(docker__info_json='{"ID":"","Containers":0,"CgroupDriver":"","ServerErrors":["Cannot connect to the Docker daemon at '
                                  'unix:///var/run/docker.sock. Is the docker daemon running?"]}\n')
    assert (down["runtimes"]["docker"]["reachable"], down["runtimes"]["docker"]["reason"]) == (False, "no-daemon")
    silent = read(docker__info_json="")
    assert silent["runtimes"]["docker"]["reachable"] is None


def test_probe_that_ran_out_of_time_is_named() -> None:
    facts, _ = read_host("box", {"amd-smi-static.json": "", "probe-status.txt": "amd-smi-static.json 124\n"})
    assert [(note.code, "amd-smi-static.json" in note.message) for note in facts.warnings] == [("probe-timeout", True)]


def test_our_containers_by_label() -> None:
    row = {"Names": "vllm-dev-chat", "State": "running", "Ports": "0.0.0.0:8000->8000/tcp",
           "Labels": "org.x=1,amd-vllm.stack=dev,amd-vllm.endpoint=chat,amd-vllm.cpus=0-5,48-53,amd-vllm.port=8000,amd-vllm.memory-bytes=1024,maintainer=me"}
    names, ports, ours = parse_containers(json.dumps(row) + "\n" + json.dumps({"Names": "db", "Labels": "", "State": "exited"}) + "\n")
    assert names == ("vllm-dev-chat", "db") and ports == (8000,)
    assert (ours[0].endpoint, ours[0].cpus, ours[0].port, ours[0].memory_bytes, ours[0].running) == (
        "chat", (0, 1, 2, 3, 4, 5, 48, 49, 50, 51, 52, 53), 8000, 1024, True)
    podman = [{"Names": ["vllm-dev-big"], "State": "exited", "Labels": {"amd-vllm.stack": "dev", "amd-vllm.gpus": "0,1"},
               "Ports": [{"host_port": 9000, "range": 2}]}]
    names, ports, ours = parse_containers(json.dumps(podman, indent=1))
    assert (names, ports, ours[0].gpus, ours[0].running) == (("vllm-dev-big",), (9000, 9001), (0, 1), False)


def test_ports_of_all_shapes() -> None:
    text = ("Netid State  Recv-Q Send-Q Local Address:Port Peer Address:Port\ntcp   LISTEN 0 128 [::]:22 [::]:*\n"
            "tcp   LISTEN 0 128 127.0.0.53%lo:53 0.0.0.0:*\ntcp   LISTEN 0 128 *:8000 *:*\n")
    assert [port for _, port in parse_ss(text)[0]] == ["22", "53", "8000"]
    row = "   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"
    assert parse_proc_net("  sl  local_address rem_address st\n" + row + row.replace("0A", "01").replace("1F40", "1F41")) == ((8000,), True)


def test_load_of_each_socket() -> None:
    text = ("sample:1\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0 0 0\n"
            "sample:2\ncpu0 150 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 240 10 0 0 0 0 0\n")
    assert by_socket(text, {0: 0, 1: 1}) == {0: 1.0, 1: 0.0}
    assert by_socket(text[:text.index("sample:2")], {0: 0, 1: 1}) == {}


def test_flags_joined_with_blanks_inside_a_word() -> None:
    pad = " " * 25
    doc = read(lscpu_txt=f"Vendor ID: AuthenticAMD\nFlags: fpu avx5{pad}12f avx2 {pad}smep sse\nVirtualization: AMD-V\n")
    assert (doc["cpu"]["avx512f"], doc["cpu"]["avx2"], doc["cpu"]["avx512_bf16"]) == (True, True, None)


def test_sku_with_a_colon_is_no_label() -> None:
    doc = read(rocm__smi__showproductname_txt="GPU[0]\t\t: Card Series: \t\tAMD Instinct MI210\nGPU[0]\t\t: Card SKU: \t\tD67: 301\n"
                                               "==== End of ROCm SMI Log ====\n")
    assert doc["gpus"]["devices"][0]["market_name"] == "AMD Instinct MI210"


def test_french_and_traditional_chinese_labels() -> None:
    french = read(lscpu_txt="Identifiant constructeur\xa0:     AuthenticAMD\nNom de modèle\xa0:   AMD EPYC 9654 96-Core Processor\n"
                            "Famille de processeur\xa0: 25\n"
                            "Modèle\xa0: 17\nThread(s) par cœur\xa0: 2\nCœur(s) par socket\xa0: 96\nSocket(s)\xa0: 2\nNœud(s) NUMA\xa0: 2\n"
                            "Nœud NUMA\xa00 de processeur(s)\xa0: 0-95,192-287\nNœud NUMA\xa01 de processeur(s)\xa0: 96-191,288-383\n")
    assert (french["cpu"]["generation"], french["cpu"]["sockets"], french["cpu"]["cpus"]) == ("Genoa", 2, 384)
    assert [node["cpus"] for node in french["cpu"]["nodes"]] == ["0-95,192-287", "96-191,288-383"]
    taiwan = read(lscpu_txt="供應商識別號：      AuthenticAMD\nCPU 家族：     26\n型號：     17\n每核心執行緒數：   2\n")
    assert (taiwan["cpu"]["zen"], taiwan["cpu"]["threads_per_core"], taiwan["cpu"]["is_epyc"]) == (5, 2, True)


def test_cgroup_files_by_their_own_name() -> None:
    facts, _ = read_host("box", {"memory.max.txt": "96636764160\n", "cpuset.cpus.effective.txt": "8-15\n"})
    assert facts.memory.limit_bytes == 96636764160 and facts.cpu.allowed == tuple(range(8, 16))


def test_gpu_data_holding_one_object() -> None:
    gpus = read(amd__smi__static_json='{"gpu_data": {"gpu": 0, "asic": {"device_id": "0x75a3"}}}\n')["gpus"]
    assert (gpus["count"], gpus["devices"][0]["product"]) == (1, "MI355X")


def test_podman_behind_docker_info() -> None:
    doc = read(docker__info_txt="host:\n  arch: amd64\n  buildahVersion: 1.33.2\n  cgroupVersion: v2\n")
    assert doc["runtimes"]["docker"]["is_podman"] is True
