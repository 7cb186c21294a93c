"""AMD Instinct GPUs of a host of the bed: ROCm's tools answer from a recorded host; device nodes and PCI cards stand in the host's own mounts.

The nodes are /dev/null by another name, with groups of their own, on a /dev of the host's own: this machine's /dev stays as it is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[2] / "hosts"
KFD_GROUP, RENDER_GROUP = 20991, 20992
"""Group ids that no image has a name for."""
MIB = 1 << 20
KEPT_NODES = ("null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "fuse", "fd", "stdin", "stdout", "stderr")
KEPT_FOLDERS = ("pts", "shm", "mqueue")

AMD_SMI = """#!/bin/sh
# Stands in for amd-smi on a host of the test bed: it prints what a recorded host said.
[ -e /dev/kfd ] || { echo "Unable to detect any GPU devices, check amdgpu version and module status" >&2; exit 1; }
case "$1" in
  static|list|metric|version) exec cat "/opt/rocm/share/$1.json" ;;
esac
echo "stand-in for amd-smi: $* is not recorded" >&2
exit 2
"""
ROCMINFO = """#!/bin/sh
# Stands in for rocminfo on a host of the test bed.
if ! [ -e /dev/kfd ]; then echo "ROCk module is NOT loaded, possibly no GPU devices"; exit 1; fi
echo "ROCk module is loaded"
if ! [ -r /dev/kfd ] || ! [ -w /dev/kfd ]; then
  echo "Unable to open /dev/kfd read-write: Permission denied"
  exit 1
fi
exec cat /opt/rocm/share/rocminfo.txt
"""
ROCM_SMI = """#!/bin/sh
# Stands in for rocm-smi on a host of the test bed; as the real one it answers without /dev/kfd.
exec cat /opt/rocm/share/rocm-smi.json
"""
AGENT = """*******
Agent {number}
*******
  Name:                    {gfx}
  Marketing Name:          {name}
  Node:                    {number}
  Device Type:             GPU
  Chip ID:                 {chip}({hex})
  BDFID:                   {location}
  Domain:                  0
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    {kib}({kib:#x}) KB
"""


def files(recording: str, nodes: int) -> dict[str, str]:
    """What the host shows of its GPUs: `rocm/…` (of /opt/rocm), `pci/…` (of sysfs), `numa_balancing`. `nodes`: NUMA nodes that the host has."""
    folder = RECORDED / recording
    static, version = (json.loads((folder / f"amd-smi-{name}.json").read_text()) for name in ("static", "version"))
    for gpu in static:
        gpu["numa"] = dict.fromkeys(("node", "affinity"), min(gpu["numa"]["node"], nodes - 1))
    answers = {"static": json.dumps(static, indent=1), **{name: (folder / f"amd-smi-{name}.json").read_text() for name in ("list", "metric", "version")}}
    return {**{f"rocm/share/{name}.json": text for name, text in answers.items()}, "rocm/share/rocminfo.txt": _rocminfo(static),
            "rocm/share/rocm-smi.json": _rocm_smi(static, version[0]["amdgpu_version"]), "rocm/bin/amd-smi": AMD_SMI, "rocm/bin/rocminfo": ROCMINFO,
            "rocm/bin/rocm-smi": ROCM_SMI, "rocm/.info/version": (folder / "rocm-version.txt").read_text(), "numa_balancing": "0\n",
            **_cards((folder / "pci-display.txt").read_text(), static, json.loads(answers["metric"]))}


def _rocminfo(static: list[dict]) -> str:
    agents = [AGENT.format(number=index + 1, gfx=gpu["asic"]["target_graphics_version"], name=gpu["asic"]["market_name"], hex=gpu["asic"]["device_id"],
                           chip=int(gpu["asic"]["device_id"], 16), location=int(gpu["bus"]["bdf"].split(":")[1], 16) << 8,
                           kib=gpu["vram"]["size"]["value"] * 1024) for index, gpu in enumerate(static)]
    return "".join(agents) + "*** Done ***\n"


def _rocm_smi(static: list[dict], driver: str) -> str:
    cards = {f"card{index}": {"Device ID": gpu["asic"]["device_id"], "Card Series": gpu["asic"]["market_name"], "PCI Bus": gpu["bus"]["bdf"].upper(),
                              "GFX Version": gpu["asic"]["target_graphics_version"], "VRAM Total Memory (B)": str(gpu["vram"]["size"]["value"] * MIB)}
             for index, gpu in enumerate(static)}
    return json.dumps({**cards, "system": {"Driver version": driver}}) + "\n"


def _cards(rows: str, static: list[dict], metric: list[dict]) -> dict[str, str]:
    """The PCI devices as sysfs has them, from the rows of the recorded scan."""
    nodes = {gpu["bus"]["bdf"]: gpu["numa"]["node"] for gpu in static}
    used = {gpu["bus"]["bdf"]: use["mem_usage"]["used_vram"]["value"] * MIB for gpu, use in zip(static, metric, strict=True)}
    found = {}
    for address, text in re.findall(r"^(\S+:\S+) (.*)$", rows, re.M):
        row = dict(word.split("=", 1) for word in text.split())
        card = {"vendor": "0x1002", "class": row["class"], "device": row["device"], "numa_node": str(nodes[address]), f"drm/{row['render']}/dev": "1:3",
                "mem_info_vram_total": row["vram_total"], "mem_info_vram_used": str(used[address]), "current_compute_partition": row["compute"],
                "current_memory_partition": row["memory"]}
        found.update({f"pci/{address}/{name}": f"{value}\n" for name, value in card.items()})
    return found


def script(folder: Path) -> list[str]:
    """Shell lines that put the GPUs of `folder`/profile into the mounts of the namespace that runs them."""
    profile, dev, opt = folder / "profile", folder / "dev", folder / "opt"
    renders = sorted({path.parent.name for path in profile.glob("pci/*/drm/*/dev")})
    return [
        f"mkdir -p {dev} {opt} {folder}/opt-real {folder}/amdgpu", f"mount -t tmpfs -o mode=755 amd-vllm-bed {dev}",
        *(f"if [ -e /dev/{name} ] || [ -L /dev/{name} ]; then cp -a /dev/{name} {dev}/{name}; fi" for name in KEPT_NODES),
        *(f"if [ -d /dev/{name} ]; then mkdir {dev}/{name}; mount --rbind /dev/{name} {dev}/{name}; fi" for name in KEPT_FOLDERS),
        f"mkdir {dev}/dri", *_node(dev / "kfd", KFD_GROUP), *(line for name in renders for line in _node(dev / "dri" / name, RENDER_GROUP)),
        f"mount --rbind {dev} /dev",
        f"for card in {profile}/pci/*; do ln -sfn {folder}/amdgpu $card/driver; done",
        f"if [ -d /sys/bus/pci/devices ]; then mount --bind {profile}/pci /sys/bus/pci/devices; fi",
        f"mount --bind /opt {folder}/opt-real",
        f"for other in /opt/*; do case $other in /opt/rocm*) ;; *) ln -s {folder}/opt-real/${{other#/opt/}} {opt}/ ;; esac; done",
        f"cp -r {profile}/rocm {opt}/rocm", f"chmod 755 {opt}/rocm/bin/*", f"mount --bind {opt} /opt",
        f"mount --bind {profile}/numa_balancing /proc/sys/kernel/numa_balancing",
        f"printf 'kfd:x:{KFD_GROUP}:\\nrender:x:{RENDER_GROUP}:\\n' >{folder}/group", f"grep -v ^render: /etc/group >>{folder}/group || :",
        f"mount --bind {folder}/group /etc/group"]


def _node(path: Path, group: int) -> list[str]:
    return [f"mknod -m 660 {path} c 1 3", f"chown 0:{group} {path}"]
