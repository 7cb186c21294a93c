"""The CPUs (and GPUs) that a host of the bed can say it has.

The CPU ids are those that this machine really has on line, so that a cpuset works; model, flags, sockets and nodes are
the profile's. What is written: /proc/cpuinfo, the answers of lscpu, /sys/devices/system/{cpu,node}, /proc/meminfo.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

_BASE = ("fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx mmxext "
         "fxsr_opt pdpe1gb rdtscp lm constant_tsc rep_good nopl nonstop_tsc cpuid extd_apicid aperfmperf pni pclmulqdq monitor ssse3 "
         "fma cx16 sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a "
         "misalignsse 3dnowprefetch osvw topoext vmmcall fsgsbase bmi1 avx2 smep bmi2 rdseed adx smap clflushopt clwb sha_ni xsaveopt "
         "xsavec xgetbv1 clzero xsaveerptr arat umip rdpid")
_ZEN4 = (" avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512_bf16 avx512vbmi avx512_vbmi2 gfni vaes vpclmulqdq avx512_vnni "
         "avx512_bitalg avx512_vpopcntdq flush_l1d")
_XEON = ("fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss ht syscall nx pdpe1gb rdtscp "
         "lm constant_tsc pni pclmulqdq ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand lahf_lm abm avx2 bmi1 bmi2 "
         "avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni avx512_bf16 amx_bf16 amx_tile amx_int8")


@dataclass(frozen=True)
class Profile:
    """What the CPU says of itself; `nodes` is the number of NUMA nodes, each socket has the same number of them.

    `gpus`: the recorded host (below tests/hosts) whose GPUs it has."""

    name: str
    vendor: str
    family: int
    model: int
    model_name: str
    flags: str
    sockets: int = 1
    nodes: int = 1
    gpus: str = ""


PROFILES = {each.name: each for each in (
    Profile("genoa-small", "AuthenticAMD", 25, 17, "AMD EPYC 9654 96-Core Processor", _BASE + _ZEN4),
    Profile("genoa-dual", "AuthenticAMD", 25, 17, "AMD EPYC 9654 96-Core Processor", _BASE + _ZEN4, sockets=2, nodes=2),
    Profile("turin-small", "AuthenticAMD", 26, 2, "AMD EPYC 9575F 64-Core Processor", _BASE + _ZEN4 + " avx_vnni avx512_vp2intersect"),
    Profile("milan-small", "AuthenticAMD", 25, 1, "AMD EPYC 7763 64-Core Processor", _BASE),
    Profile("mi300x", "AuthenticAMD", 25, 17, "AMD EPYC 9654 96-Core Processor", _BASE + _ZEN4, gpus="synthetic-mi300x-x8"),
    Profile("mi210", "AuthenticAMD", 25, 1, "AMD EPYC 7763 64-Core Processor", _BASE, gpus="synthetic-mi210-x8"),
    Profile("xeon-small", "GenuineIntel", 6, 143, "Intel(R) Xeon(R) Platinum 8480+", _XEON),
)}
"""`genoa-dual` has one core in each socket; its second node does not exist here, so it is for previews, or for socket 0."""


@dataclass(frozen=True)
class Cpu:
    """One logical CPU's place."""

    number: int
    core: int
    socket: int
    node: int


def places(profile: Profile) -> list[Cpu]:
    """The real CPUs of this machine, dealt out over the profile's sockets and nodes."""
    numbers = sorted(os.sched_getaffinity(0))
    per_socket = max(1, len(numbers) // profile.sockets)
    per_node = max(1, len(numbers) // profile.nodes)
    return [Cpu(number, index, min(index // per_socket, profile.sockets - 1), min(index // per_node, profile.nodes - 1))
            for index, number in enumerate(numbers)]


def real_memory_bytes() -> int:
    """MemTotal of this machine."""
    with open("/proc/meminfo") as stream:
        return int(stream.readline().split()[1]) * 1024
