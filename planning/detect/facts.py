"""What is known of a host: `HostFacts` (what stays while nobody changes the machine) and `HostSurvey` (what changes by itself).

Facts are compared and kept in state; a survey is taken when something new is placed and never compared.
Unknown is None, never a guess. Bytes are integers, lists are tuples in ascending order.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from planning.errors import Warn


@dataclass(frozen=True)
class LogicalCpu:
    """One row of `lscpu -p`: a logical CPU, its physical core (unique over the host), socket and NUMA node."""

    cpu: int
    core: int
    socket: int
    node: int | None


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node. A memoryless node has memory_bytes 0; unknown memory is None."""

    node: int
    socket: int | None
    cpus: tuple[int, ...]
    memory_bytes: int | None


@dataclass(frozen=True)
class Cpu:
    """The CPU part of a host. `cpus` counts all logical CPUs, off-line ones included where known."""

    vendor: str | None = None
    model_name: str | None = None
    cpu_family: int | None = None
    cpu_model: int | None = None
    is_epyc: bool | None = None
    generation: str | None = None
    zen: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    cpus: int | None = None
    cpus_online: int | None = None
    numa_nodes: int | None = None
    avx2: bool | None = None
    avx512f: bool | None = None
    avx512_bf16: bool | None = None
    avx512_vnni: bool | None = None
    hypervisor: str | None = None
    nodes: tuple[NumaNode, ...] = ()
    topology: tuple[LogicalCpu, ...] = ()      # on-line CPUs; empty when unknown
    allowed: tuple[int, ...] | None = None     # Cpus_allowed of the session, cgroup cpuset included; None: unknown, all
    isolated: tuple[int, ...] = ()             # isolcpus, nohz_full


@dataclass(frozen=True)
class Memory:
    """`total_bytes`: MemTotal. `limit_bytes`: the smallest cgroup limit up the tree, None without one or when unknown."""

    total_bytes: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True)
class GpuDevice:
    """One GPU as the driver shows it (a CPX partition is one). `index` is the amd-smi index, `hip_index` HIP's order."""

    index: int
    market_name: str | None = None
    gfx: str | None = None
    device_id: str | None = None               # PCI device id, "0x74a1"
    vram_bytes: int | None = None              # what this device really has (a partition: its share)
    compute_partition: str | None = None       # SPX, DPX, TPX, QPX, CPX
    memory_partition: str | None = None        # NPS1, NPS2, NPS4
    virtual_function: bool | None = None
    instinct: bool | None = None
    pci: str | None = None                     # "0000:0c:00.0"
    hip_index: int | None = None
    numa_node: int | None = None
    render_node: str | None = None             # "/dev/dri/renderD128"
    product: str | None = None                 # what the device id stands for: "MI300X"; None: no such id in data/gpus.toml
    integrated: bool | None = None             # graphics inside a CPU
    compute_units: int | None = None           # of this device (a partition has its share)


@dataclass(frozen=True)
class Gpus:
    """`count` 0 with `state` "none" is a certain no; None is unknown. `state`: ok, none, no-driver, no-access, unknown."""

    count: int | None = None
    state: str = "unknown"
    rocm_version: str | None = None
    driver_version: str | None = None
    amdsmi_version: str | None = None
    devices: tuple[GpuDevice, ...] = ()
    kfd_gid: int | None = None                 # numeric group that owns /dev/kfd
    render_gids: tuple[int, ...] = ()          # numeric groups that own the render nodes
    numa_balancing: bool | None = None         # /proc/sys/kernel/numa_balancing


@dataclass(frozen=True)
class Runtime:
    """Docker or Podman in the session that will start the container. `reason` says why it is not reachable.

    `reason` codes: missing, no-daemon, permission-denied, sudo-only, docker-desktop, error; None when reachable.
    """

    reachable: bool | None = None
    reason: str | None = None
    is_podman: bool | None = None              # the docker command is podman's shim
    rootless: bool | None = None
    server_version: str | None = None
    cgroup_version: int | None = None
    cgroup_driver: str | None = None
    controllers: tuple[str, ...] | None = None  # delegated cgroup controllers; None: unknown
    root_dir: str | None = None                # where images live
    socket: str | None = None                  # unix socket path of the API
    architecture: str | None = None            # x86_64
    desktop: bool | None = None
    limits_enforced: bool | None = None        # --memory and --cpuset-cpus do something; None: unknown


@dataclass(frozen=True)
class Storage:
    """Where images and the model cache live. Free bytes are in the survey."""

    home: str | None = None                    # home directory of the session's user
    hf_cache: str | None = None                # real path of the model cache after symlinks (HF_HOME or ~/.cache/huggingface)
    hf_cache_exists: bool | None = None
    hf_cache_fstype: str | None = None         # ext4, nfs4, lustre, autofs …
    hf_cache_writable: bool | None = None
    root_squash: bool | None = None
    models_at: str | None = None               # "hub" or "root": where models--* lie below the cache; None: none there


@dataclass(frozen=True)
class HostFacts:
    """All that is compared. `witnesses` names, for each fact, the probe that said it ("cpu.generation": "cpuinfo.txt")."""

    name: str
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    gpus: Gpus = Gpus()
    docker: Runtime = Runtime()
    podman: Runtime = Runtime()
    storage: Storage = Storage()
    uid: int | None = None
    user: str | None = None
    ssh_address: str | None = None             # third field of $SSH_CONNECTION: the address our connection arrived at
    tools: tuple[str, ...] = ()                # numactl, taskset, systemctl, curl … found on PATH
    python_envs: tuple[str, ...] = ()          # interpreters that can import vllm
    images: tuple[str, ...] | None = None      # image references on the host, "name:tag"; None: unknown
    user_instance: bool | None = None          # a systemd user instance answers (systemctl --user)
    libraries: tuple[str, ...] = ()            # paths of libtcmalloc_minimal.so.4, libiomp5.so
    warnings: tuple[Warn, ...] = ()
    witnesses: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OurContainer:
    """A container that carries our labels, as `docker ps -a` and `docker inspect` show it."""

    name: str
    stack: str | None = None
    endpoint: str | None = None
    running: bool | None = None
    cpus: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    port: int | None = None
    memory_bytes: int | None = None            # what its plan claimed
    node: int | None = None
    owner: str | None = None                   # of the state that made it; None: made before there were owners

    def made_by(self, stack: str, owner: str) -> bool:
        """Whether a stack made it. Two people may have stacks of one name: then the owners differ, where both are known."""
        return self.stack == stack and (not owner or not self.owner or self.owner == owner)


@dataclass(frozen=True)
class HostSurvey:
    """What changes by itself. Keys of `socket_load` are socket numbers, values busy shares 0..1 over about 0.5 s."""

    available_bytes: int | None = None                     # MemAvailable
    node_free_bytes: dict[int, int] = field(default_factory=dict)
    node_available_bytes: dict[int, int] = field(default_factory=dict)   # free + reclaimable, as vLLM's CPU worker counts it
    socket_load: dict[int, float] = field(default_factory=dict)
    used_ports: tuple[int, ...] | None = None              # listening TCP ports, IPv4 and IPv6; None: unknown
    vram_free_bytes: dict[int, int] = field(default_factory=dict)        # by GPU index
    vram_holders: dict[int, tuple[str, ...]] = field(default_factory=dict)
    disk_free_bytes: dict[str, int] = field(default_factory=dict)        # "images", "hf_cache" -> bytes
    containers: tuple[OurContainer, ...] = ()
    container_names: tuple[str, ...] = ()                  # all containers' names, ours or not
    warnings: tuple[Warn, ...] = ()
