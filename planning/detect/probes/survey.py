"""Probes of what changes by itself; asked when something new is placed, never compared. Data only."""
from __future__ import annotations

from planning.detect.probes.probe import SURVEY, Probe
from planning.detect.probes.runtime import CACHE, NEAREST

STAT = "echo sample:1; grep '^cpu[0-9]' /proc/stat; sleep 0.5 2>/dev/null || sleep 1; echo sample:2; grep '^cpu[0-9]' /proc/stat"

VRAM = (r'for p in /sys/bus/pci/devices/*/mem_info_vram_used; do [ -r "$p" ] || continue; IFS= read -r v <"$p"; p=${p%/*}; '
        r'echo "${p##*/} used=$v"; done; exit 0')

HOLDERS = r"""
for p in /sys/class/kfd/kfd/proc/[0-9]*; do
  [ -d "$p" ] || continue
  n=${p##*/}; comm=; IFS= read -r comm <"/proc/$n/comm"
  for f in "$p"/vram_*; do [ -r "$f" ] && IFS= read -r v <"$f" && echo "pid=$n comm=${comm:-?} gpu_id=${f##*_} vram=$v"; done
done
exit 0
"""

IMAGES_DIR = (r"c=$(docker info --format '{{.DockerRootDir}}' 2>/dev/null); "
              r"[ -n \"$c\" ] || c=$(podman info --format '{{.Store.GraphRoot}}' 2>/dev/null); [ -n \"$c\" ] || exit 1; ").replace('\\"', '"')


PROCESSES = r"""
for d in "$HOME"/.local/state/amd-vllm/*/; do
  [ -r "$d/ps.json" ] || continue
  s=; read -r s rest <"$d/state"
  case $s in created|running|restarting|exited) ;; *) s=unknown;; esac
  sed "s/@STATE@/$s/" "$d/ps.json"; echo
done
exit 0
"""


def _survey(name: str, command: str, parser: str, why: str, timeout_seconds: int = 5) -> Probe:
    return Probe(name, command, parser, why, timeout_seconds=timeout_seconds, group=SURVEY, max_bytes=1_048_576)


PROBES = (
    _survey("meminfo-free.txt", "grep -E '^(MemAvailable|MemFree)' /proc/meminfo", "meminfo", "memory that is free now"),
    _survey("sys-node-free.txt", "cd /sys/devices/system/node || exit 1; for n in node[0-9]*; do "
            "grep -E ' (MemFree|FilePages|SReclaimable):' $n/meminfo | sed \"s|^|$n/meminfo:|\"; done", "sys-node", "free memory of each node"),
    _survey("survey-stat.txt", STAT, "stat", "load of each socket over half a second"),
    _survey("ss-ltn.txt", "command -v ss >/dev/null || exit 127; ss -l -t -n", "ss", "listening ports"),
    _survey("proc-net-tcp.txt", "cat /proc/net/tcp /proc/net/tcp6", "proc-net-tcp", "listening ports where there is no ss; IPv6 too"),
    _survey("survey-vram.txt", VRAM, "vram", "VRAM in use of each card"),
    _survey("survey-holders.txt", HOLDERS.strip(), "vram-holders", "who holds it"),
    _survey("df-images.txt", IMAGES_DIR + NEAREST + 'df -P -k "$c"', "df", "disk for images", 8),
    _survey("df-hf-cache.txt", CACHE + NEAREST + 'df -P -k "$c"', "df", "disk for the model cache"),
    _survey("docker-ps.json", "command -v docker >/dev/null || exit 127; docker ps -a --no-trunc --format '{{json .}}'", "docker-ps",
            "our containers by label, and what else runs", 8),
    _survey("docker-ps-processes.json", PROCESSES.strip(), "docker-ps", "our endpoints without a container (runtime: host), told as containers are"),
    _survey("podman-ps.json", "command -v podman >/dev/null || exit 127; podman ps -a --no-trunc --format json", "podman-ps",
            "our containers by label, and what else runs", 8),
)
