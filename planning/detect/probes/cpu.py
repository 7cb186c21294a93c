"""Probes of the CPU, memory and what this session may use of them. Data only."""
from __future__ import annotations

from planning.detect.probes.probe import Probe

CGROUP_WALK = r"""
walk() { # base path files…
  base=$1 path=$2; shift 2
  while :; do
    for f in "$@"; do [ -r "$base$path/$f" ] && IFS= read -r v <"$base$path/$f" && echo "$base$path/$f:$v"; done
    [ -n "$path" ] && [ "$path" != / ] || break
    path=${path%/*}
  done
}
while IFS=: read -r id controllers path; do
  case ",$controllers," in
    ,,) walk /sys/fs/cgroup "$path" memory.max cpuset.cpus.effective; walk /sys/fs/cgroup/unified "$path" memory.max cpuset.cpus.effective;;
    *,memory,*) walk /sys/fs/cgroup/memory "$path" memory.limit_in_bytes;;
    *,cpuset,*) walk /sys/fs/cgroup/cpuset "$path" cpuset.effective_cpus cpuset.cpus;;
  esac
done </proc/self/cgroup
exit 0
"""

PROBES = (
    Probe("cpuinfo.txt", r"""awk '/^processor/ { n++ } n < 2 || /^(processor|physical id|core id)/ { print }' /proc/cpuinfo""",
          "cpuinfo", "vendor, family and model decide the generation; flags of the first processor, places of all", required=True),
    Probe("lscpu.txt", "command -v lscpu >/dev/null || exit 127; lscpu", "lscpu", "sockets, cores, threads, hypervisor, NUMA", required=True),
    Probe("lscpu-p.csv", "command -v lscpu >/dev/null || exit 127; lscpu -p=CPU,CORE,SOCKET,NODE", "lscpu-p",
          "core, socket and node of each on-line CPU: what an endpoint is pinned to", required=True),
    Probe("sys-cpu.txt", "cd /sys/devices/system/cpu && for k in online offline present isolated nohz_full; do "
          "v=; IFS= read -r v <$k; echo \"$k:$v\"; done; exit 0", "sys-cpu", "off-line and isolated CPUs"),
    Probe("sys-node.txt", "cd /sys/devices/system/node || exit 1; IFS= read -r v <online && echo \"online:$v\"; "
          "for n in node[0-9]*; do echo \"$n/cpulist:$(cat $n/cpulist)\"; "      # cat: a shell that reads byte by byte gets nothing here
          "grep MemTotal $n/meminfo | sed \"s|^|$n/meminfo:|\"; done", "sys-node", "CPUs and memory of each NUMA node", required=True),
    Probe("self-status.txt", "grep ^Cpus_allowed_list /proc/self/status", "self-status", "CPUs that this session may use"),
    Probe("cgroup.txt", CGROUP_WALK.strip(), "cgroup", "limits on memory and CPUs, every level up the tree, cgroup v1 and v2"),
    Probe("meminfo.txt", "grep ^MemTotal /proc/meminfo", "meminfo", "memory of the host", required=True),
)
