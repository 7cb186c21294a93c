"""What is to be served: the model that was asked for, or the variant of its recipe that the user names, and its precision.

From a `Case`, giving a `Wanted`. Nothing is switched without the user's word. A variant is another Hub model: where its own
manifest was not read, its size is estimated from the base model's, and a warning says so.
"""
from __future__ import annotations

from dataclasses import dataclass

from planning.errors import Consent, Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.gpus import hardware_of, instincts
from planning.families.instinct.precision import estimate, native_words, precision_of, standing, variant_lines
from planning.families.instinct.recipe import Match, find, with_variant
from planning.identity import Same
from planning.resolve import hf_config
from planning.resolve.manifest import ModelManifest


@dataclass(frozen=True)
class Wanted:
    """`manifest`: what to fit with. `estimated`: it is derived from the base model's. `precision`: bf16, fp8, mxfp4 …"""

    match: Match
    manifest: ModelManifest
    precision: str
    estimated: bool = False

    @property
    def moe(self) -> bool:
        config = self.manifest.config
        return hf_config.experts(config) > 0 if config is not None else self.match.record.get("architecture") == "moe"


def served_model(case: Case) -> str:
    """The model as the configuration names it; a directory goes by the name its manifest has."""
    request = case.request
    return case.manifest.id if request.model is None or request.model.startswith("/") else request.model


def wanted(case: Case) -> tuple[Wanted, Notes]:
    """The model, and notes on `variant` and `features`."""
    match, variant = find(served_model(case)), case.request.variant
    features = _features(case, match)
    if variant is None:
        return Wanted(match, case.manifest, precision_of(case.manifest, match)), features + _on_this_gpu(case, match)
    known = tuple(match.record.get("variants", {}))
    if variant not in known:
        return Wanted(match, case.manifest, precision_of(case.manifest, match)), features + Notes.of(Refusal(
            "bad-value", f"endpoint {case.name}: variant", variant,
            f"a variant of the recipe: {', '.join(known) or f'{match.source} has none'}", "correct or remove variant"))
    chosen = with_variant(match, variant)
    if chosen.model.lower() in (case.manifest.id.lower(), match.model.lower()):
        return Wanted(chosen, case.manifest, precision_of(case.manifest, chosen)), features + _on_this_gpu(case, chosen)
    guess = estimate(Same(case.manifest), chosen)
    return Wanted(chosen, guess, chosen.record["variants"][variant]["precision"], True), features + _on_this_gpu(case, chosen) + Notes.of(
        Warn("variant-estimated", f"variant {variant} is {chosen.model}, which was not read: its size is estimated from {case.manifest.id}"))


def _features(case: Case, match: Match) -> Notes:
    known = match.record.get("features", {})
    strange = [name for name in case.request.features or () if name not in known]
    return Notes.of(Refusal("bad-value", f"endpoint {case.name}: features", ", ".join(strange), f"features of {match.source}: {', '.join(known) or 'none'}",
                            "correct or remove them") if strange else None)


def _on_this_gpu(case: Case, match: Match) -> Notes:
    """Whether the recipe's variant can run here at all; the checkpoint's own format is judged by `planning.resolve`."""
    gpu, variant = next(iter(instincts(case)), None), match.record.get("variants", {}).get(match.variant)
    if gpu is None or variant is None:
        return Notes()
    hardware, supported = hardware_of(gpu), variant.get("supported", ())
    foreign = variant.get("brand") == "NVIDIA" or (supported and not any(name.startswith("mi") for name in supported))
    what = f"variant {match.variant} of {match.record['model']} ({match.model}, {variant['precision']})"
    if standing(gpu.gfx, variant["precision"]) == "unsupported" or foreign:
        differ = ", and AMD's texts differ on whether it loads" if standing(gpu.gfx, variant["precision"]) == "unsupported" else ""
        return Notes.of(Refusal("precision-unsupported", f"{what} is made for NVIDIA GPUs{differ}", f"{variant['precision']} on {gpu.gfx}",
                                native_words(gpu.gfx), variant_lines(match, gpu.gfx)))
    listed = not supported or hardware in supported
    ours = ", ".join(name.upper() for name in supported if name.startswith("mi"))
    return Notes.of(None if listed else Warn(
        "variant-untested", f"{what}: the recipe lists it for {ours}, not for {(hardware or 'this GPU').upper()}"))


def consents(case: Case, model: Wanted) -> Notes:
    """A recipe that asks for --trust-remote-code gets it only by the user's word, and only where there is code to run."""
    match = model.match
    variant = match.record.get("variants", {}).get(match.variant, {})
    asks = match.origin != "generic" and any("--trust-remote-code" in part.get("flags", {}) for part in (match.record, variant))
    if not asks or not case.manifest.has_remote_code:
        return Notes()
    given, commit = case.request.trust_remote_code, (case.manifest.revision or "unknown")[:12]
    why = f"{match.source} runs code from the repository of {match.model} (commit {commit})"
    return Notes.of(Consent("trustRemoteCode", why, given), None if given else Refusal(
        "needs-consent", why, "trustRemoteCode is not set", "your consent to run that code on the host",
        "read the code at that commit, then set trustRemoteCode: true"))
