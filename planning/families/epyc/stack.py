"""The stack gate of the EPYC family: what must really be in the image (or environment), and the judgement when it was read.

The tag's version is a claim. `wanted_stack` goes into the plan; `judge_stack` holds what the probe read after the pull
against it: proceed, blocked (the stock platform is active in the zentorch image), or a consent (Venice).
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.epyc.gates import pinned_vllm
from planning.plan import Engine

PLATFORMS = {"zentorch": "zen", "stock": "cpu"}


def wanted_stack(case: Case, engine: Engine) -> Mapping[str, str]:
    """`platform`: vLLM's platform that must be active; `vllm`: the one version that is validated, unless another was agreed to."""
    pinned = None if case.request.accept_unverified else pinned_vllm(case, engine.backend)
    return {"platform": PLATFORMS[engine.backend], **({"vllm": pinned, "generation": case.facts.cpu.generation or ""} if pinned else {})}


def judge_stack(plan: Mapping[str, Any], stack: Mapping[str, Any] | None) -> Notes:
    """`plan`: the document of an endpoint's plan; `stack`: what the probe read, None where it could not."""
    name, wanted, image = plan["name"], plan["health"].get("stack") or {}, plan["launch"]["image"]
    if not stack or not stack.get("platform"):
        return Notes.of(Warn("stack-unknown", f"{name}: the versions and the platform inside {image} could not be read; the start decides"))
    platform, version = str(stack["platform"]), stack.get("vllm")
    return Notes.of(_platform(name, wanted.get("platform"), platform, image), _version(name, wanted, version, image), _claim(name, plan, version))


def _platform(name: str, wanted: str | None, platform: str, image: str) -> Refusal | None:
    if wanted == "zen" and platform != "zen":
        return Refusal("blocked", f"{name}: zentorch is not active in {image}", f"platform {platform}", "vLLM's Zen platform with zentorch",
                       "report the image; set backend: stock to serve without zentorch (slower)")
    if wanted == "cpu" and platform not in ("cpu", "zen"):
        return Refusal("blocked", f"{name}: {image} is not built for CPUs", f"platform {platform}", "vLLM's CPU platform",
                       "name a CPU image, or leave image out")
    return None


def _version(name: str, wanted: Mapping[str, str], version: Any, image: str) -> Refusal | None:
    pinned = wanted.get("vllm")
    if not pinned or version is None or _release(version) == pinned:
        return None
    return Refusal("needs-consent", f"{name}: this stack is not validated on {wanted.get('generation') or 'this generation'}", f"vLLM {version} in {image}",
                   f"vLLM {pinned}, or the consent acceptUnverified", "leave image out to use the pinned one, or set acceptUnverified: true")


def _claim(name: str, plan: Mapping[str, Any], version: Any) -> Warn | None:
    planned = (plan.get("engine") or {}).get("vllm_version")
    return Warn("stack-differs", f"{name}: the image holds vLLM {version}, the plan was made for {planned}: memory and model support may be judged wrongly"
                ) if version is not None and planned and _release(version) != planned else None


def _release(version: Any) -> str:
    """0.25.1 of 0.25.1+cpu."""
    return str(version).partition("+")[0]
