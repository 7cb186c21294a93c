"""The gates of the host: GPUs, driver and access, gfx version, partitions. Three different answers for no card, no driver, no access.

From a `Case`, giving notes. What the recipe itself says of a GPU is judged here too, as it is about the hardware.
"""
from __future__ import annotations

from planning.catalog import load_json, load_toml
from planning.errors import Consent, Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.gpus import hardware_of, instincts
from planning.families.instinct.recipe import Match
from planning.resolve.registry import version_key

PRODUCTS = "(MI300X, MI325X, MI300A; MI350X, MI355X)"


def present(case: Case) -> Notes:
    """Whether there are GPUs that the session's user may use, and `gpus` names some of them."""
    gpus, host, user = case.facts.gpus, case.facts.name, case.facts.user or "$USER"
    if gpus.state == "no-driver":
        return Notes.of(Refusal(
            "no-gpu", f"{host} has GPUs but no driver for them", "cards on the PCI bus, no /dev/kfd", "the amdgpu kernel driver, loaded",
            "install ROCm's amdgpu driver on the host; `lsmod | grep amdgpu` shows whether it is loaded"))
    if gpus.state == "no-access":
        gids = ", ".join(str(gid) for gid in dict.fromkeys((gpus.kfd_gid, *gpus.render_gids)) if gid is not None)
        return Notes.of(Refusal(
            "no-access", f"{user} may not use the GPUs of {host}", f"/dev/kfd or /dev/dri/renderD* is not accessible (group ids {gids or 'unknown'})",
            "membership in the groups that own them (video, render)", f"sudo usermod -aG video,render {user}, then log in again"))
    if gpus.state == "none" or gpus.count == 0:
        return Notes.of(Refusal("no-gpu", f"{host} has no AMD GPU", "none", "an AMD Instinct GPU", "name a host with Instinct GPUs, or use kind: epyc"))
    return _numbers(case) if gpus.devices else Notes.of(_untold(case, "its GPUs"))


def _untold(case: Case, what: str) -> Refusal:
    return Refusal("unknown-fact", f"{case.facts.name} does not tell {what}", "nothing", "the output of amd-smi or rocminfo",
                   "run `amd-smi static --asic --vram --json` on the host; `lsmod | grep amdgpu` shows whether the driver is loaded")


def _numbers(case: Case) -> Notes:
    known, wanted = {gpu.index for gpu in case.facts.gpus.devices if gpu.instinct}, case.request.gpus
    if wanted is None or (wanted and set(wanted) <= known and len(set(wanted)) == len(wanted)):
        return Notes()
    return Notes.of(Refusal("bad-value", f"endpoint {case.name}: gpus", str(list(wanted)),
                            f"different indexes of Instinct GPUs: {sorted(known) or 'there is none'}", "take indexes from `amd-smi list`"))


def architecture(case: Case, match: Match) -> Notes:
    """gfx versions that AMD's data covers, or that the image has kernels for and the user accepts."""
    gpu, host = next(iter(instincts(case)), None), case.facts.name
    if not case.facts.gpus.devices or (gpu is None and case.request.gpus is not None):
        return Notes()
    served = tuple(load_json("gpu-overrides.json")["gfx"])
    do = f"serve on GPUs of {' or '.join(served)} {PRODUCTS}"
    if gpu is None:
        if any(device.instinct is None for device in case.facts.gpus.devices):
            return Notes.of(_untold(case, "which GPUs it has"))
        shown = ", ".join(sorted({f"{device.market_name or 'GPU'} ({device.gfx or 'gfx unknown'})" for device in case.facts.gpus.devices}))
        return Notes.of(Refusal("gfx-unsupported", f"{host} has no Instinct GPU", shown, " or ".join(served), do))
    if gpu.gfx is None:
        return Notes.of(_untold(case, f"the gfx version of GPU {gpu.index}"))
    if gpu.gfx in served:
        return _tested(case, match, hardware_of(gpu))
    if gpu.gfx not in load_toml("instinct.toml")["image"]["gfx"]:
        return Notes.of(Refusal("gfx-unsupported", f"the image has no kernels for the GPUs of {host}", f"{gpu.market_name or 'GPU'}: {gpu.gfx}",
                                " or ".join(served), do))
    given, why = case.request.accept_unverified, f"nobody validated vLLM on {gpu.gfx} here; the image has kernels for it"
    return Notes.of(Consent("acceptUnverified", why, given), None if given else Refusal(
        "gfx-unsupported", f"the GPUs of {host} are not supported", f"{gpu.market_name or 'GPU'}: {gpu.gfx}", " or ".join(served),
        f"{do}; or accept it with acceptUnverified: true"))


def _tested(case: Case, match: Match, hardware: str | None) -> Notes:
    """A recipe may say itself that it does not run on this GPU."""
    tested = match.record.get("tested", {})
    if tested.get(hardware) != "unsupported":
        return Notes()
    given, why = case.request.accept_unverified, f"{match.source} says that {str(hardware).upper()} is not supported"
    good = ", ".join(name.upper() for name, state in tested.items() if state == "verified")
    return Notes.of(Consent("acceptUnverified", why, given), None if given else Refusal(
        "gfx-unsupported", why, str(hardware).upper(), good or "another GPU", "use a host with one of those, or set acceptUnverified: true"))


def driver(case: Case) -> Notes:
    """Warnings: the host's ROCm against the image's, NUMA balancing, memory shared with the CPU."""
    gpus, data, host = case.facts.gpus, load_toml("instinct.toml"), case.facts.name
    gpu = next(iter(instincts(case)), None)
    oldest = data["driver"]["oldest_rocm_of"].get(gpu.gfx if gpu else None, data["driver"]["oldest_rocm"])
    old = gpus.rocm_version and version_key(gpus.rocm_version) < version_key(oldest)
    balancing = gpus.numa_balancing and not case.request.fix_numa_balancing
    return Notes.of(
        Warn("rocm-old", f"{host} runs ROCm {gpus.rocm_version}; the image brings ROCm {data['image']['rocm_version']}, which wants the driver of "
             f"ROCm {oldest} or newer") if old else None,
        Warn("numa-balancing", f"{host} has automatic NUMA balancing on, which slows GPUs down; fixNumaBalancing: true switches it off while the "
             "endpoint is up (by hand: sudo sysctl kernel.numa_balancing=0)") if balancing else None,
        Warn("shared-memory", f"the GPUs of {host} share their memory with the CPU: what the system uses is missing for the model")
        if gpu and hardware_of(gpu) == "mi300a" else None)
