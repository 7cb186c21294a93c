"""Which ROCm image serves, and which vLLM is in it: the user's, else the recipe's pin, else the one of data/instinct.toml.

Only a version tag of a ROCm image pins; `nightly`, `latest` and images of other vendors do not. The recipe's
`min_vllm_version` is held against what was chosen.
"""
from __future__ import annotations

import re

from planning.catalog import load_json, load_toml
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.recipe import Match
from planning.plan import Engine
from planning.resolve.registry import version_key

VERSION = re.compile(r"(?:^|[^\d.])v?(\d+\.\d+\.\d+)")
PIN = re.compile(r"(?P<repository>[\w./-]*rocm[\w./-]*):v(?P<version>\d+(?:\.\d+)+)\Z")


def image_of(case: Case, match: Match, hardware: str | None) -> tuple[Engine, Notes]:
    """The engine, and what is to be said about its image."""
    if case.request.image is not None:
        return _of_user(case, match)
    pin, passed_over = _pin(match, hardware)
    default = load_toml("instinct.toml")["image"]
    version, image = (pin[1], pin[0]) if pin else (default["vllm_version"], f"{default['repository']}:{default['tag']}")
    warn = Warn("recipe-image", f"{match.source} names the image {passed_over}, which is no release; {image} is used (image sets another)")
    notes = Notes.of(warn if passed_over else None) + _new_enough(case, match, version)
    return Engine(version, "rocm", _pinned(case, image), "recipe" if pin else "default"), notes


def _of_user(case: Case, match: Match) -> tuple[Engine, Notes]:
    image, request = case.request.image, case.request
    tag = image.rsplit("/", 1)[-1].partition("@")[0].partition(":")[2]
    found = VERSION.search(tag)
    version = found.group(1) if found else load_toml("instinct.toml")["image"]["vllm_version"]
    moving = tag in ("", "latest") or tag.startswith("nightly")
    needed = min_version(match)
    old = found and needed and version_key(version) < version_key(needed)
    return Engine(version, "rocm", _pinned(case, image), "user"), Notes.of(
        Refusal("bad-value", f"the image of {case.name} moves", image, "a version tag, or a digest",
                "name a tag like v0.31.0, or set imageDigest") if moving and not ("@sha256:" in image or request.image_digest) else None,
        Warn("vllm-older-than-recipe", f"{image} holds vLLM {version}; {match.source} asks for {needed} or newer: the start may end in "
             "\"Engine core initialization failed\"") if old else None,
        None if found else Warn("version-unknown", f"the tag of {image} does not tell its vLLM; {version} is assumed"))


def _pin(match: Match, hardware: str | None) -> tuple[tuple[str, str] | None, str | None]:
    """(image, vLLM version) that the recipe or AMD's data pins, and the ROCm image that was passed over because it is no release."""
    variant = match.record.get("variants", {}).get(match.variant, {})
    repository = load_toml("instinct.toml")["image"]["repository"]
    named = [variant.get("hardware", {}).get(hardware, {}).get("image"), variant.get("image"),
             *(f"{repository}:{row['tag']}" for row in load_json("gpu-overrides.json")["image_pins"] if row["model"] == match.record["model"]),
             match.record.get("image")]
    pins = [(image, PIN.match(image)) for image in named if image]
    chosen = next(((image, found["version"]) for image, found in pins if found), None)
    return chosen, None if chosen else next((image for image, _ in pins if "rocm" in image), None)


def min_version(match: Match) -> str | None:
    """The oldest vLLM that the recipe and its variant name."""
    variant = match.record.get("variants", {}).get(match.variant, {})
    versions = [v for v in (match.record.get("min_vllm_version"), variant.get("min_vllm_version")) if v]
    return next((v for v in versions if not version_key(v)), None) or max(versions, key=version_key, default=None)


def _new_enough(case: Case, match: Match, version: str) -> Notes:
    needed = min_version(match)
    if needed and (not version_key(needed) or version_key(version) < version_key(needed)):
        return Notes.of(Refusal("vllm-too-old", f"no released image is new enough for {match.model}", f"vLLM {version}", f"vLLM {needed}, says {match.source}",
                                "name an image of your own that has it (image: repository:tag)"))
    return Notes.of(Warn("recipe-nightly", f"{match.source} was written for a nightly vLLM; {version} is newer than the {needed} it asks for, and a release")
                    if match.record.get("nightly") else None)


def _pinned(case: Case, image: str) -> str:
    digest = case.request.image_digest
    return f"{image}@{digest}" if digest and "@" not in image else image
