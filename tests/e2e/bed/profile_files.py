"""A profile as files: path on the host -> text."""

from __future__ import annotations

from .profiles import Cpu, Profile, places

LSCPU = """#!/bin/sh
# Stands in for lscpu on a host of the test bed: it prints what the host's profile says.
case "$*" in
  '') exec cat /run/amd-vllm-profile/lscpu.txt ;;
  *-p=CPU,CORE,SOCKET,NODE*|*--parse=CPU,CORE,SOCKET,NODE*) exec cat /run/amd-vllm-profile/lscpu-p.csv ;;
  *-J*|*--json*) exec cat /run/amd-vllm-profile/lscpu.json ;;
esac
echo "stand-in for lscpu: options $* are not recorded" >&2
exit 2
"""


def files(profile: Profile, memory_bytes: int) -> dict[str, str]:
    """Everything that the host shows of its CPUs and memory. Keys: `proc/…`, `cpu/…` and `node/…` (of sysfs), `lscpu…`."""
    cpus = places(profile)
    return {"proc/cpuinfo": _cpuinfo(profile, cpus), "proc/meminfo": _meminfo(memory_bytes),
            **_sys_cpu(cpus), **_sys_node(profile, cpus, memory_bytes), **_lscpu(profile, cpus)}


def _cpuinfo(profile: Profile, cpus: list[Cpu]) -> str:
    def block(cpu: Cpu) -> str:
        siblings = sum(other.socket == cpu.socket for other in cpus)
        fields = {"processor": cpu.number, "vendor_id": profile.vendor, "cpu family": profile.family, "model": profile.model,
                  "model name": profile.model_name, "stepping": 1, "cpu MHz": "2400.000", "cache size": "1024 KB",
                  "physical id": cpu.socket, "siblings": siblings, "core id": cpu.core, "cpu cores": siblings, "apicid": cpu.number,
                  "fpu": "yes", "flags": profile.flags, "bogomips": "4793.00"}
        return "\n".join(f"{name:<15}\t: {value}" for name, value in fields.items()) + "\n"
    return "\n".join(map(block, cpus))


def _meminfo(memory_bytes: int) -> str:
    total = memory_bytes // 1024
    lines = {"MemTotal": total, "MemFree": total * 9 // 10, "MemAvailable": total * 19 // 20, "Buffers": total // 100,
             "Cached": total // 25, "SwapTotal": 0, "SwapFree": 0}
    return "".join(f"{name + ':':<15} {value:>12} kB\n" for name, value in lines.items())


def _list(numbers: list[int]) -> str:
    """Linux's list format: 0-1,4."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in runs)


def _sys_cpu(cpus: list[Cpu]) -> dict[str, str]:
    online = _list([cpu.number for cpu in cpus])
    tree = {"online": online, "present": online, "possible": online, "offline": "", "isolated": "", "nohz_full": "", "smt/active": "0"}
    for cpu in cpus:
        tree |= {f"cpu{cpu.number}/topology/core_id": str(cpu.core), f"cpu{cpu.number}/topology/physical_package_id": str(cpu.socket),
                 f"cpu{cpu.number}/topology/thread_siblings_list": str(cpu.number)}
    return {f"cpu/{name}": text + "\n" for name, text in tree.items()}


def _sys_node(profile: Profile, cpus: list[Cpu], memory_bytes: int) -> dict[str, str]:
    nodes = range(profile.nodes)
    tree = {name: _list(list(nodes)) + "\n" for name in ("online", "possible", "has_cpu", "has_memory")}
    for node in nodes:
        total = memory_bytes // 1024 // profile.nodes
        tree |= {f"node{node}/cpulist": _list([cpu.number for cpu in cpus if cpu.node == node]) + "\n",
                 f"node{node}/distance": " ".join("10" if node == other else "32" for other in nodes) + "\n",
                 f"node{node}/meminfo": f"Node {node} MemTotal:       {total} kB\nNode {node} MemFree:        {total * 9 // 10} kB\n"
                                        f"Node {node} MemUsed:        {total // 10} kB\nNode {node} FilePages:      {total // 25} kB\n"}
    return {f"node/{name}": text for name, text in tree.items()}


def _lscpu(profile: Profile, cpus: list[Cpu]) -> dict[str, str]:
    per_socket = sum(cpu.socket == 0 for cpu in cpus)
    fields = {"Architecture": "x86_64", "CPU op-mode(s)": "32-bit, 64-bit", "Byte Order": "Little Endian", "CPU(s)": len(cpus),
              "On-line CPU(s) list": _list([cpu.number for cpu in cpus]), "Vendor ID": profile.vendor, "Model name": profile.model_name,
              "CPU family": profile.family, "Model": profile.model, "Thread(s) per core": 1, "Core(s) per socket": per_socket,
              "Socket(s)": profile.sockets, "Stepping": 1, "BogoMIPS": "4793.00", "Flags": profile.flags, "NUMA node(s)": profile.nodes}
    for node in range(profile.nodes):
        fields[f"NUMA node{node} CPU(s)"] = _list([cpu.number for cpu in cpus if cpu.node == node])
    text = "".join(f"{name + ':':<34}{value}\n" for name, value in fields.items())
    rows = "# The following is the parsable format, which can be fed to other\n# programs.\n# CPU,Core,Socket,Node\n"
    rows += "".join(f"{cpu.number},{cpu.core},{cpu.socket},{cpu.node}\n" for cpu in cpus)
    entries = ",\n".join(f'      {{"field": "{name}:", "data": "{value}"}}' for name, value in fields.items())
    return {"lscpu": LSCPU, "lscpu.txt": text, "lscpu-p.csv": rows, "lscpu.json": '{\n   "lscpu": [\n' + entries + "\n   ]\n}\n"}
