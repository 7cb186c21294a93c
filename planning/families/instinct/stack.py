"""The stack gate of the Instinct family: vLLM's ROCm platform must be active in the image, in a version that the recipe takes.

`wanted_stack` goes into the plan; `judge_stack` holds what the probe read after the pull against it.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case
from planning.families.instinct.image import min_version
from planning.families.instinct.model import wanted
from planning.resolve.registry import version_key


def wanted_stack(case: Case) -> Mapping[str, str]:
    """`platform`: vLLM's platform that must be active; `oldest_vllm`: what the recipe asks for, where that is a release."""
    oldest = min_version(wanted(case)[0].match)
    return {"platform": "rocm", **({"oldest_vllm": oldest} if oldest and version_key(oldest) else {})}


def judge_stack(plan: Mapping[str, Any], stack: Mapping[str, Any] | None) -> Notes:
    """`plan`: the document of an endpoint's plan; `stack`: what the probe read, None where it could not."""
    name, needs, image = plan["name"], plan["health"].get("stack") or {}, plan["launch"]["image"]
    if not stack or not stack.get("platform"):
        return Notes.of(Warn("stack-unknown", f"{name}: the versions and the platform inside {image} could not be read; the start decides"))
    return Notes.of(_platform(name, str(stack["platform"]), image), _version(name, needs.get("oldest_vllm"), stack.get("vllm"), image))


def _platform(name: str, platform: str, image: str) -> Refusal | None:
    """`unspecified`: vLLM found no GPU, as its amdsmi module is missing or the container does not reach the devices."""
    if platform == "rocm":
        return None
    do = ("look whether the container reaches /dev/kfd and the image holds the amdsmi module (`No module named amdsmi`)" if platform == "unspecified"
          else "name a ROCm image, or leave image out")
    return Refusal("blocked", f"{name}: vLLM's ROCm platform is not active in {image}", f"platform {platform}", "platform rocm", do)


def _version(name: str, oldest: str | None, version: Any, image: str) -> Refusal | Warn | None:
    if not oldest or version is None:
        return None
    found = version_key(str(version).partition("+")[0])
    if not found or found >= version_key(oldest):
        return None
    return Refusal("vllm-too-old", f"{name}: the vLLM inside {image} is older than its recipe asks for", f"vLLM {version}", f"vLLM {oldest} or newer",
                   "name a newer image")
