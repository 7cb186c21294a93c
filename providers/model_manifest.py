"""`ModelManifest`: what the Hub says about a model, at a commit that stays pinned until the requested revision changes.

Inputs: `model`, `requested_revision`, and for a directory on a host its connection. Found by `check`: `manifest` (packed).
A model that cannot be read is a value (refusals in the manifest); it is read again in the next run.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import CheckResult, Resource

from planning.resolve.manifest import ModelManifest as Manifest
from providers import run
from providers.base import StepProvider, checked, unknown
from providers.packed import packed, unpacked
from providers.transport.address import Target


class ModelManifestProvider(StepProvider):
    packed = ("manifest",)
    compared = ("manifest", "model", "requested_revision")

    def name_of(self, props: dict[str, Any]) -> str:
        return f"{props['model']}@{props['requested_revision']}"

    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        from planning import resolve

        if unknown(news):
            return checked(news, manifest=None)
        same = all((olds or {}).get(key) == news.get(key) for key in ("model", "requested_revision", "connection"))
        known = resolve.manifest_from_dict(unpacked(olds["manifest"])) if same and olds.get("manifest") else None
        if known is None:
            read_ahead()
        manifest = manifest_of(news, known)
        return checked(news, manifest=packed(resolve.manifest_to_dict(manifest)))


def manifest_of(props: dict[str, Any], known: Manifest | None = None) -> Manifest:
    """The manifest, read at most once in a run. `known`: the one in state, taken as it is when it was read without problems."""
    key = (props["model"], props["requested_revision"], (props.get("connection") or {}).get("name"))
    if known is not None and not known.refusals and known.revision:
        return run.take_manifest(key, known)
    return run.manifest_of(key, lambda: _read(props)).result()


def read_ahead() -> None:
    """Begin to read all models that the configuration names, at once: the engine would ask for one after the other."""
    run.once(("models",), _read_all)


def _read_all() -> None:
    from planning.families import family_of

    for keys in run.endpoints().values():
        model = keys.get("model") or family_of(keys["kind"]).default_model()
        props = {"model": model, "requested_revision": keys.get("revision") or "main"}
        if not model.startswith("/"):
            run.manifest_of((*props.values(), None), lambda props=props: _read(props))


def _read(props: Mapping[str, Any]) -> Manifest:
    if props.get("connection"):
        from providers.transport.model_dir import read_directory

        return read_directory(Target.of(props["connection"]["name"], props["connection"]), props["model"])
    from providers.transport.hub import read_manifest

    return read_manifest(props["model"], props["requested_revision"], token=run.hf_token())


class ModelManifest(Resource, module="amd-vllm", name="ModelManifest"):
    manifest: pulumi.Output[Any]  # one text; in an older state the value itself

    def __init__(self, resource_name: str, model: str, revision: str, connection: dict[str, Any] | None = None,
                 opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(ModelManifestProvider(), resource_name,
                         {"model": model, "requested_revision": revision, "connection": connection, "manifest": None}, opts)
