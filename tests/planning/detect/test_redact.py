"""A recording that is sent away holds the same facts and nobody's name."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from planning.detect import load_recording, probes, read_host
from planning.detect.redact import redact

ROOT = Path(__file__).resolve().parents[3]
DOCKER = {"ID": "7TRN:IPZB:QYBB:VPBQ:UMPP:KARE:6ZNR:XE6T:7EWV:PKF4:ZOJD:TPYS", "Name": "gpu-box.corp.example",
          "ServerVersion": "28.2.1", "CgroupDriver": "systemd",
          "CgroupVersion": "2", "SecurityOptions": ["name=seccomp,profile=default"],
          "HttpProxy": "http://alice:secret@10.1.2.3:3128", "DockerRootDir": "/home/alice/docker",
          "OperatingSystem": "Ubuntu 24.04.3 LTS"}
OUTPUTS = {
    "session.txt": "uid=1000\nuser=alice\ngroups=alice docker secret-project render\nhome=/home/alice\nssh_address=10.20.30.40\n",
    "docker-info.json": json.dumps(DOCKER) + "\n",
    "docker-ps.json": json.dumps({"Names": "payroll", "Command": "run --password hunter2",
                                  "Labels": "com.corp=1", "State": "running", "Ports": "10.20.30.40:8443->443/tcp"})
    + "\n" + json.dumps({"Names": "vllm-dev-chat", "Labels": "amd-vllm.stack=dev,amd-vllm.cpus=0-5,48-53,x=y", "State": "running", "Ports": ""}) + "\n",
    "docker-images.txt": "registry.corp.example:5000/team/model:1\nghcr.io/x/y:2\n",
    "findmnt-hf-cache.txt": "/home/alice/.cache nas01.corp.example:/export/alice nfs4 rw,addr=10.20.30.41\n",
    "ss-ltn.txt": "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nLISTEN 0 128 10.20.30.40:22 0.0.0.0:*\nLISTEN 0 128 [fd00:1:2:3::7]:8000 [::]:*\n",
    "proc-net-tcp.txt": "  sl  local_address rem_address   st\n   0: 281E140A:0016 00000000:0000 0A 0:0\n   1: 281E140A:C001 0102030A:01BB 01 0:0\n",
    "amd-smi-static.txt": "GPU: 0\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n        DEVICE_ID: 0x74a1\n        ASIC_SERIAL: 0x1A2B3C4D5E6F7081\n"
                          "    BUS:\n        BDF: 0000:05:00.0\n    BOARD:\n        PRODUCT_SERIAL: 692251001234\n",
    "amd-smi-list.txt": "GPU: 0\n    BDF: 0000:05:00.0\n    UUID: 2aff74a1-0000-1000-8012-3456789abcde\n",
    "rocminfo.txt": "Agent 1\n  Name:                    gfx942\n  Uuid:                    GPU-1234567890abcdef\n"
                    "  Device Type:             GPU\n  BDFID:                   1280\n*** Done ***\n",
    "amd-smi-version.txt": "AMDSMI Tool: 23.4.2+505b858 | AMDSMI Library version: 24.2.0.0 | ROCm version: 6.1.0\n",
}
SECRETS = ("alice", "gpu-box", "corp", "secret", "hunter2", "payroll", "10.20.30", "10.1.2.3", "fd00", "281E140A", "1A2B3C4D5E6F7081", "692251001234",
           "3456789abcde", "1234567890abcdef", "7TRN", "nas01")


def test_nothing_of_the_owner_is_left() -> None:
    redacted, replaced = redact(OUTPUTS)
    for name, text in redacted.items():
        for secret in SECRETS:
            assert secret.lower() not in text.lower(), f"{secret} in {name}: {text}"
    assert {"serial numbers", "UUIDs", "IPv4 addresses", "IPv6 addresses", "user names", "container names", "private registries"} <= set(replaced)


def test_the_facts_stay_the_same() -> None:
    before, survey = read_host("box", OUTPUTS)
    after, later = read_host("box", redact(OUTPUTS)[0])
    changed = {"user": "user", "ssh_address": after.ssh_address, "images": after.images,
               "storage": replace(before.storage, home="/home/user")}
    assert replace(before, **changed, docker=replace(before.docker, root_dir="/home/user/docker")) == after
    assert replace(survey, container_names=later.container_names) == later
    assert after.ssh_address == "192.0.2.1" and later.used_ports == survey.used_ports and later.containers == survey.containers


def test_redacting_twice_changes_nothing() -> None:
    once, _ = redact(OUTPUTS)
    assert redact(once)[0] == once


def test_a_recording_of_this_machine_gives_the_facts_of_this_machine(tmp_path: Path) -> None:
    target = tmp_path / "here"
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "record-host"), "local", str(target)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Replaced" in done.stdout, done.stderr
    live = subprocess.run(["sh", "-s"], input=probes.script().encode(), capture_output=True, timeout=60)
    facts, _ = read_host("here", probes.split(live.stdout.decode(errors="replace")))
    recorded, _ = read_host("here", load_recording(target))
    for part in ("cpu", "gpus", "docker", "podman", "tools", "uid"):
        told, wanted = getattr(recorded, part), getattr(facts, part)
        if part == "cpu":       # a virtual machine's memory may grow and shrink meanwhile
            told, wanted = (replace(cpu, nodes=tuple(replace(node, memory_bytes=None) for node in cpu.nodes)) for cpu in (told, wanted))
        assert told == wanted or os.environ.get("USER", "root") in str(wanted), part
    shown = subprocess.run([sys.executable, "-m", "planning", "detect", str(target), "--json"], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert json.loads(shown.stdout)["cpu"]["cpus_online"] == facts.cpu.cpus_online
    again = subprocess.run([sys.executable, str(ROOT / "tools" / "record-host"), "local", str(target)], capture_output=True, text=True, timeout=60)
    assert again.returncode == 2 and "not an empty folder" in again.stderr
