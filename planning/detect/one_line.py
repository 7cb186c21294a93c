"""Says in one line what a host is: 'genoa-01: 2 x EPYC 9654 (Genoa), 192 cores, 1.5 TiB, docker 28.2'. Unknown parts are left out."""
from __future__ import annotations

from planning.detect.facts import Cpu, GpuDevice, HostFacts
from planning.detect.generation import identify
from planning.errors import printable

UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20))


def summary(facts: HostFacts) -> str:
    """One line for people, without host-dependent noise."""
    parts = [_cpu(facts.cpu), _cores(facts.cpu), _memory(facts), *_gpus(facts), *_runtimes(facts)]
    return printable(f"{facts.name}: " + (", ".join(part for part in parts if part) or "nothing known"))


def size(count: int) -> str:
    """1.5 TiB, 192 GiB; one decimal only where it says something."""
    unit, factor = next((pair for pair in UNITS if count >= pair[1]), UNITS[-1])
    value = count / factor
    return f"{value:.1f} {unit}" if value < 10 and abs(value - round(value)) >= 0.05 else f"{round(value)} {unit}"


def _cpu(cpu: Cpu) -> str:
    who = identify(cpu.vendor, cpu.model_name, cpu.cpu_family, cpu.cpu_model)
    name = f"EPYC {who.sku}" if who.sku and cpu.is_epyc else cpu.model_name or (f"EPYC {cpu.generation}" if cpu.generation else "unknown CPU")
    times = f"{cpu.sockets} x " if cpu.sockets else ""
    return f"{times}{name}" + (f" ({cpu.generation})" if cpu.generation and cpu.generation not in name else "")


def _cores(cpu: Cpu) -> str:
    if cpu.sockets and cpu.cores_per_socket:
        return f"{cpu.sockets * cpu.cores_per_socket} cores"
    return f"{cpu.cpus_online} CPUs" if cpu.cpus_online else ""


def _memory(facts: HostFacts) -> str:
    total, limit = facts.memory.total_bytes, facts.memory.limit_bytes
    if total is None:
        sizes = [node.memory_bytes for node in facts.cpu.nodes]
        total = sum(known for known in sizes if known is not None) if sizes and None not in sizes else None
    if total is None:
        return ""
    return size(total) + (f" (limited to {size(limit)})" if limit is not None and limit < total else "")


def _gpus(facts: HostFacts) -> list[str]:
    """'8 x MI300X gfx942 192 GiB', one entry for each kind of device; a word where GPUs cannot be used."""
    kinds: dict[str, int] = {}
    for device in facts.gpus.devices:
        kinds[_gpu(device)] = kinds.get(_gpu(device), 0) + 1
    shown = [f"{count} x {kind}" for kind, count in kinds.items()]
    words = {"no-driver": "GPU without driver", "no-access": "GPU without access"}
    return shown + ([words[facts.gpus.state]] if facts.gpus.state in words else [])


def _gpu(device: GpuDevice) -> str:
    name = device.product or (device.market_name or "GPU").replace("AMD Instinct ", "").replace("AMD ", "")
    parts = [name, device.gfx or "", size(device.vram_bytes) if device.vram_bytes else ""]
    mode = device.compute_partition if device.compute_partition not in (None, "SPX") else ""
    return " ".join(part for part in [*parts, mode] if part)


def _runtimes(facts: HostFacts) -> list[str]:
    shown: list[str] = []
    if facts.docker.reachable and not facts.docker.is_podman:
        shown.append(f"docker {_short(facts.docker.server_version)}".strip())
    if facts.podman.reachable:
        shown.append(f"podman {_short(facts.podman.server_version)}".strip())
    if not shown and facts.docker.reachable is False and facts.podman.reachable is False:
        shown.append(f"no container runtime (docker: {facts.docker.reason}, podman: {facts.podman.reason})")
    return shown


def _short(version: str | None) -> str:
    return ".".join((version or "").split("-")[0].split(".")[:2])
