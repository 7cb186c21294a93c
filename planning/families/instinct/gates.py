"""Step one of the Instinct family, `engine`: the model's and the host's gates, the image, the recipe.

From a `Case`, giving the `Engine`, the recipe's record and notes. All gates are judged, in the order in which they stand in `engine`.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from planning.catalog import load_json, load_toml
from planning.errors import Notes, Refusal
from planning.families.base import Case
from planning.families.instinct import hardware
from planning.families.instinct.gpus import hardware_of, instincts
from planning.families.instinct.image import image_of
from planning.families.instinct.model import Wanted, consents, wanted
from planning.families.instinct.recipe import Match, find, provenance
from planning.launch import runtime_of
from planning.plan import Engine


def engine(case: Case) -> tuple[Engine, Mapping[str, Any], Notes]:
    """Gates, image and recipe."""
    model, problems = wanted(case)
    gpu = next(iter(instincts(case)), None)
    built, image_notes = image_of(case, model.match, gpu and hardware_of(gpu))
    notes = Notes.total((_blacklist(model.match), problems, hardware.present(case), hardware.architecture(case, model.match), runtime(case)[1],
                         image_notes, hardware.driver(case), consents(case, model)))
    return built, recipe_record(model), notes


@lru_cache(maxsize=1024)
def _blacklist(match: Match) -> Notes:
    """Models of recipes that are no LLM endpoint on Instinct: AMD's list, and vLLM-Omni's recipes."""
    names = {match.model.lower(), match.record["model"].lower()}
    for row in load_json("blacklist.json")["categories"]:
        if names & {name.lower() for name in row["models"]} or (row["category"] == "omni" and match.record.get("omni")):
            return Notes.of(Refusal(
                "blacklisted", f"{match.model} cannot be served as an LLM endpoint on Instinct", f"{row['category']}: {row['why']}",
                "a model that generates text in a chat or completion endpoint", f"serve another model, for example model: {row['alternative']}"))
    return Notes()


def runtime(case: Case) -> tuple[str | None, Notes]:
    """Docker; Podman only when it is asked for. One that runs in a virtual machine of its own does not see the GPUs."""
    request = case.request
    if request.runtime == "host":
        return None, Notes.of(Refusal("no-runtime", f"{case.name} cannot run without a container", "runtime: host", "docker (or podman)",
                                      "remove runtime: the ROCm user space comes with the image"))
    if request.runtime == "auto":
        case = replace(case, request=request.model_copy(update={"runtime": "docker"}))
    name, notes = runtime_of(case)
    if name == "docker" and case.facts.docker.desktop:
        notes += Notes.of(Refusal("no-runtime", f"Docker on {case.facts.name} runs in a virtual machine that has no /dev/kfd", "Docker Desktop",
                                  "Docker Engine on the host itself", "install Docker Engine, or set runtime: podman"))
    return name, notes


def recipe_record(model: Wanted) -> Mapping[str, Any]:
    """What the plan says about the recipe: its name, where it is from and of when, how it was found."""
    match, source = model.match, provenance()
    if match.origin in ("legacy", "generic"):
        return {"source": load_json("gpu-overrides.json")["source"], "name": match.record["model"] or "generic", "match": match.origin,
                "variant": None, "model": match.model}
    return {"source": f"{source['repository']} {source['commit']} ({source['date']})", "name": match.record["model"], "match": match.origin,
            "variant": match.variant, "model": match.model, "updated": match.record["updated"], "file": match.record["file"]}


def model_of(request: Any) -> str:
    """The Hub model that an endpoint needs: that of its variant, when it names one, else its own (or the default one)."""
    model = request.model or load_toml("instinct.toml")["default_model"]
    match = find(model)
    known = request.variant in match.record.get("variants", {})
    return match.variant_model(request.variant) if known and not model.startswith("/") else model
