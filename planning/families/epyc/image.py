"""Which image serves, and which vLLM is in it: the pinned one of the backend, or one of the user's own.

The version in a tag of the user's is a claim; the stack gate reads the real one before the start.
"""
from __future__ import annotations

import re

from planning.catalog import load_toml
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case

VERSION = re.compile(r"(?:^|[^\d.])v?(\d+\.\d+\.\d+)")


def image_of(case: Case, backend: str) -> tuple[str, str, str, Notes]:
    """Image reference (with the digest when one is given), vLLM version, where it is from (user, default), notes."""
    request, pinned = case.request, load_toml("epyc.toml")[backend]
    if request.image is None:
        return _with_digest(pinned["image"], request.image_digest), pinned["vllm_version"], "default", Notes()
    tag = request.image.rsplit("/", 1)[-1].partition("@")[0].partition(":")[2]
    found = VERSION.search(tag)
    version = found.group(1) if found else pinned["vllm_version"]
    return _with_digest(request.image, request.image_digest), version, "user", _judged(case, tag, version, bool(found))


def _with_digest(image: str, digest: str | None) -> str:
    return f"{image}@{digest}" if digest and "@" not in image else image


def _judged(case: Case, tag: str, version: str, told: bool) -> Notes:
    request = case.request
    pinned = "@sha256:" in request.image or request.image_digest
    oldest = load_toml("epyc.toml")["images"]["oldest_vllm"]
    return Notes.of(
        Refusal("bad-value", f"image of {case.name} names no version", request.image, "a version tag or a digest",
                "name a tag like v0.25.1-x86_64, or set imageDigest") if tag in ("", "latest", "latest-x86_64", "nightly") and not pinned else None,
        Refusal("bad-value", f"image of {case.name} is built for another architecture", request.image, "an x86_64 image",
                "choose the x86_64 tag") if re.search(r"arm64|aarch64|s390x|ppc64", tag) else None,
        Refusal("vllm-too-old", f"image of {case.name} holds vLLM {version}", version, f"{oldest} or newer",
                "choose a newer tag") if told and _numbers(version) < _numbers(oldest) else None,
        None if told else Warn("version-unknown", f"the tag of {request.image} does not tell its vLLM; {version} is assumed and checked before the start"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
