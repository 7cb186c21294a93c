"""Writes the synthetic hosts below tests/hosts: whole recordings of machines that nobody recorded, marked so in case.json.

`python tests/hosts/synthetic.py` writes them all again; a test compares. Core counts and CPU models are those of AMD's product pages.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE = ("fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx mmxext fxsr_opt pdpe1gb "
        "rdtscp lm constant_tsc rep_good nopl pni pclmulqdq monitor ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand lahf_lm svm "
        "abm sse4a misalignsse 3dnowprefetch topoext bmi1 avx2 smep bmi2 rdseed adx clflushopt clwb sha_ni xsaveopt umip rdpid")
AVX512 = " avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512_bf16 avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq"


@dataclass(frozen=True)
class Machine:
    """One machine. `node_gib`: memory of each NUMA node in order; `extra`: more files, by name."""

    model_name: str
    family: int
    model: int
    sockets: int
    cores: int
    node_gib: tuple[int, ...]
    threads: int = 2
    flags: str = BASE + AVX512
    hypervisor: str | None = None
    what: str = ""
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def per_node(self) -> int:
        return self.sockets * self.cores // len(self.node_gib)

    def rows(self) -> list[tuple[int, int, int, int]]:
        """CPU, core, socket, node: first threads of all cores, then the second ones, as Linux numbers them on EPYC."""
        cores = [(core, core // self.cores, core // self.per_node) for core in range(self.sockets * self.cores)]
        return [(core + thread * len(cores), core, socket, node) for thread in range(self.threads) for core, socket, node in cores]


def docker(rootless: bool = False) -> str:
    return json.dumps({"ServerVersion": "27.5.1", "OperatingSystem": "Ubuntu 24.04.1 LTS", "Architecture": "x86_64", "CgroupDriver": "systemd",
                       "CgroupVersion": "2", "DockerRootDir": "/var/lib/docker", "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin",
                       "name=cgroupns"] + ["name=rootless"] * rootless, "ServerErrors": None}, indent=1) + "\n"


HOSTS = {
    "genoa-dual": Machine("AMD EPYC 9654 96-Core Processor", 25, 17, 2, 96, (768, 768), what="two sockets, NPS1, 768 GiB each"),
    "genoa-single": Machine("AMD EPYC 9554P 64-Core Processor", 25, 17, 1, 64, (384,), what="one socket, NPS1"),
    "milan-dual": Machine("AMD EPYC 7763 64-Core Processor", 25, 1, 2, 64, (256, 256), flags=BASE, what="no AVX-512: stock vLLM by consent"),
    "turin": Machine("AMD EPYC 9755 128-Core Processor", 26, 2, 1, 128, (768,), what="one socket of 128 cores"),
    "turin-dense": Machine("AMD EPYC 9965 192-Core Processor", 26, 17, 2, 192, (1152, 1152), what="Zen 5c"),
    "bergamo": Machine("AMD EPYC 9754 128-Core Processor", 25, 160, 1, 128, (512,), what="AVX-512 BF16, not validated: consent"),
    "venice": Machine("AMD EPYC 9996 256-Core Processor", 26, 80, 1, 256, (1536,), what="256 cores in a socket; name and model number are assumed"),
    "nps4": Machine("AMD EPYC 9654 96-Core Processor", 25, 17, 2, 96, (192,) * 8, what="NPS4: four nodes of 24 cores and 192 GiB in each socket"),
    "memoryless": Machine("AMD EPYC 9554 64-Core Processor", 25, 17, 1, 64, (192, 0, 192, 0), what="NPS4 with DIMMs at two nodes only"),
    "container-limited": Machine("AMD EPYC 9654 96-Core Processor", 25, 17, 2, 96, (384, 384), what="cgroup limit of 90 GiB and 48 allowed CPUs",
                                 extra={"cgroup-memory.txt": "/user.slice/memory.max:96636764160\n/memory.max:max\n", "self-status.txt":
                                        "Cpus_allowed_list:\t0-47\nMems_allowed_list:\t0-1\n"}),
    "masked-vm": Machine("AMD EPYC Processor", 25, 1, 8, 1, (64,), threads=1, flags=BASE.replace(" avx2", ""), hypervisor="KVM",
                         what="a virtual machine that hides AVX2 and AVX-512, every CPU a socket"),
    "small": Machine("AMD EPYC 9124 16-Core Processor", 25, 17, 1, 16, (32,), what="16 cores and 32 GiB"),
}


def files(name: str, machine: Machine) -> dict[str, str]:
    """All files of one host, by name."""
    case = {"synthetic": True, "source": "tests/hosts/synthetic.py", "what": machine.what, "confidence": "synthetic", "expect": {}}
    return {"case.json": json.dumps(case, indent=1) + "\n", "lscpu.txt": lscpu(machine), "lscpu-p.csv": lscpu_p(machine), "cpuinfo.txt": cpuinfo(machine),
            "meminfo.txt": meminfo(machine), "numactl-hardware.txt": numactl(machine), "docker-info.json": docker(),
            "ss-tln.txt": "State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nLISTEN 0      128          0.0.0.0:22        0.0.0.0:*\n",
            "session.txt": "uid=1000\nuser=ops\nhome=/home/ops\ngroups=ops docker\nssh_address=192.0.2.10\n",
            "hf-cache.txt": "home=/home/ops\nreal=/home/ops/.cache/huggingface\nexists=1\nwritable=1\nfstype=ext4\n", **machine.extra}


def lscpu(m: Machine) -> str:
    rows = {"Architecture": "x86_64", "CPU op-mode(s)": "32-bit, 64-bit", "CPU(s)": len(m.rows()), "On-line CPU(s) list": f"0-{len(m.rows()) - 1}",
            "Vendor ID": "AuthenticAMD", "Model name": m.model_name, "CPU family": m.family, "Model": m.model, "Thread(s) per core": m.threads,
            "Core(s) per socket": m.cores, "Socket(s)": m.sockets, "Flags": m.flags}
    rows.update({"Hypervisor vendor": m.hypervisor, "Virtualization type": "full"} if m.hypervisor else {})
    rows["NUMA node(s)"] = len(m.node_gib)
    rows.update({f"NUMA node{node} CPU(s)": ranges(cpus(m, node)) for node in range(len(m.node_gib))})
    return "".join(f"{key + ':':<34}{value}\n" for key, value in rows.items())


def cpus(m: Machine, node: int) -> list[int]:
    return [row[0] for row in m.rows() if row[3] == node]


def ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" if first < last else str(first) for first, last in runs)


def lscpu_p(m: Machine) -> str:
    head = "# The following is the parsable format, which can be fed to other\n# programs. Each different item in every column has an unique ID\n"
    return head + "# starting usually from zero.\n# CPU,Core,Socket,Node\n" + "".join(",".join(map(str, row)) + "\n" for row in m.rows())


def cpuinfo(m: Machine) -> str:
    """The first CPU's block; the others say the same."""
    rows = {"processor": 0, "vendor_id": "AuthenticAMD", "cpu family": m.family, "model": m.model, "model name": m.model_name, "siblings": m.cores * m.threads,
            "core id": 0, "cpu cores": m.cores, "flags": m.flags + (" hypervisor" if m.hypervisor else "")}
    return "".join(f"{key}\t: {value}\n" for key, value in rows.items()) + "\n"


def meminfo(m: Machine) -> str:
    total = sum(m.node_gib) * 1024 * 1024
    return f"MemTotal:       {total} kB\nMemFree:        {total - 6291456} kB\nMemAvailable:   {total - 4194304} kB\nSwapTotal:             0 kB\n"


def numactl(m: Machine) -> str:
    nodes = range(len(m.node_gib))
    lines = [f"available: {len(m.node_gib)} nodes (0-{len(m.node_gib) - 1})"]
    for node in nodes:
        lines += [f"node {node} cpus: {' '.join(map(str, cpus(m, node)))}", f"node {node} size: {m.node_gib[node] * 1024} MB",
                  f"node {node} free: {max(0, m.node_gib[node] * 1024 - 3072)} MB"]
    lines += ["node distances:", "node " + " ".join(f"{node:>3}" for node in nodes)]
    socket = {node: node * m.sockets // len(nodes) for node in nodes}
    lines += [f"{a:>3}: " + " ".join(f"{10 if a == b else 12 if socket[a] == socket[b] else 32:>3}" for b in nodes) for a in nodes]
    return "\n".join(lines) + "\n"


def write_all() -> None:
    for name, machine in HOSTS.items():
        folder = HERE / f"synthetic-{name}"
        folder.mkdir(exist_ok=True)
        for file, text in files(name, machine).items():
            (folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_all()
