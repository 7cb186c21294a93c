"""Whether an Instinct endpoint can be at all: the model, the GPUs and their driver, the runtime, the image. First step: engine.

From a `Case`, giving the `Engine`, the recipe's record and notes. All gates are judged, in the order in which they stand in `engine`.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from planning.catalog import load_json, load_toml
from planning.errors import Consent, Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.gpus import hardware_of, instincts
from planning.families.instinct.image import image_of
from planning.families.instinct.model import Wanted, consents, wanted
from planning.families.instinct.recipe import Match, find, provenance
from planning.launch import runtime_of
from planning.plan import Engine
from planning.resolve.registry import version_key


def engine(case: Case) -> tuple[Engine, Mapping[str, Any], Notes]:
    """Gates, image and recipe."""
    model, problems = wanted(case)
    gpu = next(iter(instincts(case)), None)
    built, image_notes = image_of(case, model.match, gpu and hardware_of(gpu))
    notes = Notes.total((_blacklist(model.match), problems, _gpus(case), _architecture(case, model), runtime(case)[1], image_notes,
                         _driver(case), consents(case, model)))
    return built, recipe_record(model), notes


def recipe_record(model: Wanted) -> Mapping[str, Any]:
    """What the plan says about the recipe: its name, where it is from and of when, how it was found."""
    match, source = model.match, provenance()
    name = match.record["model"] or "generic"
    if match.origin in ("legacy", "generic"):
        return {"source": load_json("gpu-overrides.json")["source"], "name": name, "match": match.origin, "variant": None, "model": match.model}
    return {"source": f"{source['repository']} {source['commit']} ({source['date']})", "name": name, "match": match.origin,
            "variant": match.variant, "model": match.model, "updated": match.record["updated"], "file": match.record["file"]}


def runtime(case: Case) -> tuple[str | None, Notes]:
    """Docker; Podman only when it is asked for."""
    request = case.request
    if request.runtime == "host":
        return None, Notes.of(Refusal("no-runtime", f"{case.name} cannot run without a container", "runtime: host", "docker (or podman)",
                                      "remove runtime: the ROCm user space comes with the image"))
    if request.runtime == "auto":
        case = replace(case, request=request.model_copy(update={"runtime": "docker"}))
    return runtime_of(case)


@lru_cache(maxsize=1024)
def _blacklist(match: Match) -> Notes:
    """Models of recipes that are no LLM endpoint on Instinct: AMD's list, and vLLM-Omni's recipes."""
    names = {match.model.lower(), match.record["model"].lower()}
    for row in load_json("blacklist.json")["categories"]:
        listed = names & {name.lower() for name in row["models"]}
        if listed or (row["category"] == "omni" and match.record.get("omni")):
            return Notes.of(Refusal("blacklisted", f"{match.model} cannot be served as an LLM endpoint on Instinct", f"{row['category']}: {row['why']}",
                                    "a model that generates text in a chat or completion endpoint", f"serve another model, for example model: {row['alternative']}"))
    return Notes()


def _gpus(case: Case) -> Notes:
    """No card, card without driver, driver without access: three different answers."""
    gpus, host, user = case.facts.gpus, case.facts.name, case.facts.user or "$USER"
    if gpus.state == "no-driver":
        return Notes.of(Refusal("no-gpu", f"{host} has GPUs but no driver for them", "cards on the PCI bus, no /dev/kfd", "the amdgpu kernel driver, loaded",
                                "install ROCm's amdgpu driver on the host; `lsmod | grep amdgpu` shows whether it is loaded"))
    if gpus.state == "no-access":
        gids = ", ".join(str(gid) for gid in dict.fromkeys((gpus.kfd_gid, *gpus.render_gids)) if gid is not None)
        return Notes.of(Refusal("no-access", f"{user} may not use the GPUs of {host}", f"/dev/kfd and /dev/dri/renderD* are not accessible (group ids {gids or 'unknown'})",
                                "membership in the groups that own them (video, render)", f"sudo usermod -aG video,render {user}, then log in again"))
    if gpus.state == "none" or gpus.count == 0:
        return Notes.of(Refusal("no-gpu", f"{host} has no AMD GPU", "none", "an AMD Instinct GPU", "name a host with Instinct GPUs, or use kind: epyc"))
    if not gpus.devices:
        return Notes.of(Refusal("unknown-fact", f"{host} does not tell its GPUs", "nothing", "the output of amd-smi or rocminfo",
                                "run `amd-smi static --asic --vram --json` on the host; `lsmod | grep amdgpu` shows whether the driver is loaded"))
    return _numbers(case)


def _numbers(case: Case) -> Notes:
    known, wanted = {gpu.index for gpu in case.facts.gpus.devices if gpu.instinct}, case.request.gpus or ()
    strange = sorted(set(wanted) - known)
    if strange or len(set(wanted)) != len(wanted):
        return Notes.of(Refusal("bad-value", f"endpoint {case.name}: gpus", str(list(wanted)), f"different indexes of Instinct GPUs: {sorted(known) or 'there is none'}",
                                "take indexes from `amd-smi list`"))
    return Notes()


def _architecture(case: Case, model: Wanted) -> Notes:
    """gfx versions that the image has kernels for, AMD has data for and the recipe is not known to fail on."""
    if not case.facts.gpus.devices:
        return Notes()
    gpu = next(iter(instincts(case)), None)
    served, built, host = tuple(load_json("gpu-overrides.json")["gfx"]), load_toml("instinct.toml")["image"]["gfx"], case.facts.name
    do = f"serve on GPUs of {' or '.join(served)} (MI300X, MI325X, MI300A; MI350X, MI355X)"
    if gpu is None:
        shown = ", ".join(sorted({f"{g.market_name or 'GPU'} ({g.gfx or 'gfx unknown'})" for g in case.facts.gpus.devices}))
        return Notes.of(Refusal("gfx-unsupported", f"{host} has no Instinct GPU", shown, " or ".join(served), do))
    if gpu.gfx is None:
        return Notes.of(Refusal("unknown-fact", f"{host} does not tell the gfx version of GPU {gpu.index}", gpu.market_name or "nothing", "a gfx version",
                                "run `amd-smi static --asic` or `rocminfo | grep gfx` on the host"))
    if gpu.gfx not in served and (gpu.gfx not in built or not case.request.accept_unverified):
        consent = Consent("acceptUnverified", f"nobody validated vLLM on {gpu.gfx} here; the image has kernels for it", False) if gpu.gfx in built else None
        return Notes.of(consent, Refusal("gfx-unsupported", f"the GPUs of {host} are not supported", f"{gpu.market_name or 'GPU'}: {gpu.gfx}",
                                         " or ".join(served), do + ("; or acceptUnverified: true" if consent else "")))
    return _tested(case, model.match, hardware_of(gpu)) + Notes.of(
        Consent("acceptUnverified", f"nobody validated vLLM on {gpu.gfx} here", True) if gpu.gfx not in served else None)


def _tested(case: Case, match: Match, hardware: str | None) -> Notes:
    """A recipe may say itself that it does not run on this GPU."""
    if match.record.get("tested", {}).get(hardware) != "unsupported":
        return Notes()
    given, why = case.request.accept_unverified, f"{match.source} says that {hardware.upper()} is not supported"
    good = ", ".join(name.upper() for name, state in match.record["tested"].items() if state == "verified")
    return Notes.of(Consent("acceptUnverified", why, given), None if given else Refusal(
        "gfx-unsupported", why, hardware.upper(), good or "another GPU", "use a host with one of those, or set acceptUnverified: true"))


def _driver(case: Case) -> Notes:
    """Warnings: the host's ROCm against the image's, NUMA balancing, memory shared with the CPU."""
    gpus, data, host = case.facts.gpus, load_toml("instinct.toml"), case.facts.name
    gpu = next(iter(instincts(case)), None)
    oldest = data["driver"]["oldest_rocm_of"].get(gpu.gfx if gpu else None, data["driver"]["oldest_rocm"])
    old = gpus.rocm_version and version_key(gpus.rocm_version) < version_key(oldest)
    balancing = gpus.numa_balancing and not case.request.fix_numa_balancing
    return Notes.of(
        Warn("rocm-old", f"{host} runs ROCm {gpus.rocm_version}; the image brings ROCm {data['image']['rocm_version']}, which wants a driver of {oldest} or newer") if old else None,
        Warn("numa-balancing", f"{host} has automatic NUMA balancing on, which slows GPUs down; fixNumaBalancing: true switches it off while the endpoint is up "
             "(by hand: sudo sysctl kernel.numa_balancing=0)") if balancing else None,
        Warn("shared-memory", f"the GPUs of {host} share their memory with the CPU: what the system uses is missing for the model")
        if gpu and hardware_of(gpu) == "mi300a" else None)


def model_of(request: Any) -> str:
    """The Hub model that an endpoint needs: that of its variant, when it names one, else its own."""
    model = request.model or load_toml("instinct.toml")["default_model"]
    match = find(model)
    known = request.variant in match.record.get("variants", {})
    return match.variant_model(request.variant) if known and not model.startswith("/") else model
