"""`python -m planning resolve DIR|ORG/NAME`: what a model is and whether one vLLM serves it. A folder needs no network."""
from __future__ import annotations

import argparse
import pathlib
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from planning.errors import PlanningError, printable
from planning.resolve import registry as registries
from planning.resolve.directory import load_model_dir
from planning.resolve.manifest import ModelManifest, ModelSupport
from planning.resolve.support import judge

_REPO_ID = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")
ReadHub = Callable[[str, str], ModelManifest]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The verb and its options; `verb` is set for the dispatcher."""
    parser = subparsers.add_parser("resolve", help="what a model is, and whether vLLM serves it",
                                   description="MODEL is a folder with config.json (no network) or a repository of the Hub.")
    parser.add_argument("model", metavar="DIR|ORG/NAME")
    parser.add_argument("--revision", default="main", help="branch, tag or commit on the Hub (default: main)")
    parser.add_argument("--vllm-version", help="default: that of the device's image")
    parser.add_argument("--device", choices=("cpu", "rocm"), default="cpu")
    parser.add_argument("--dtype", help="as the endpoint's `dtype`")
    parser.add_argument("--quantization", help="as the endpoint's `quantization`")
    parser.add_argument("--trust-remote-code", action="store_true")
    parser.add_argument("--chat-template", action="store_true", help="judge as if `chatTemplate` were given")
    parser.add_argument("--backend", choices=("zentorch", "stock", "rocm"), help="default: zentorch on cpu, rocm on rocm")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


def run(args: argparse.Namespace, read_hub: ReadHub | None = None) -> tuple[int, dict[str, Any], str]:
    """(exit status, JSON document, text). 0 served or not known, 1 refused. Raises PlanningError for unusable input (exit 2).

    `read_hub`: reads (repository, revision) from the Hub; without it only folders can be resolved.
    """
    manifest = _read(args.model, args.revision, read_hub)
    version = args.vllm_version or registries.default_version(args.device)
    if not registries.version_key(version):
        raise PlanningError(f"--vllm-version {version}: not a version; 0.25.1 is one")
    support = judge(manifest, vllm_version=version, device=args.device, dtype=getattr(args, "dtype", None),
                    quantization=getattr(args, "quantization", None), trust_remote_code=getattr(args, "trust_remote_code", False),
                    chat_template_given=getattr(args, "chat_template", False), backend=getattr(args, "backend", None))
    document = to_document(manifest, support)
    return (1 if support.refusals else 0), document, to_text(document)


def _read(model: str, revision: str, read_hub: ReadHub | None) -> ModelManifest:
    path = pathlib.Path(model)
    if path.is_dir():
        return load_model_dir(path)
    if path.exists():
        raise PlanningError(f"{model}: a file. A folder with config.json or a repository ORG/NAME is needed")
    if not _REPO_ID.match(model) or model.count("/") != 1:
        raise PlanningError(f"{model}: no such folder, and not the name of a repository (ORG/NAME)")
    if read_hub is None:
        raise PlanningError(f"{model}: no such folder, and there is no access to the Hub here")
    return read_hub(model, revision)


def to_document(manifest: ModelManifest, support: ModelSupport) -> dict[str, Any]:
    """The JSON of the contract; unknown is None."""
    return {"id": manifest.id, "revision": manifest.revision, "architecture": support.architecture, "task": support.task,
            "launchable": support.launchable, "multimodal": support.multimodal, "primary_endpoint": support.primary_endpoint,
            "supported_endpoints": list(support.supported_endpoints),
            "chat_template": {"status": manifest.chat_template.status, "names": list(manifest.chat_template.names)},
            "dtype": support.dtype, "quantization": support.quantization, "max_model_len": support.max_model_len,
            "default_max_model_len": support.default_max_model_len, "weights_bytes": manifest.weights_bytes,
            "parameters": manifest.parameters, "gated": manifest.gated, "engine_args": list(support.engine_args),
            "refusals": [asdict(r) for r in support.refusals], "warnings": [asdict(w) for w in support.warnings]}


def to_text(document: dict[str, Any]) -> str:
    """A table for people; the refusals below it, in their four parts."""
    launchable = False if document["refusals"] else document["launchable"]
    verdict = {True: "vLLM serves it", False: "refused", None: "cannot be judged here: start-up decides"}[launchable]
    weights = f"{document['weights_bytes'] / 2**30:,.2f} GiB" if document["weights_bytes"] else None
    none = "none" if document["architecture"] else None             # known to be none, where the config was read
    rows = [("model", document["id"]), ("revision", document["revision"]), ("verdict", verdict), ("architecture", document["architecture"]),
            ("task", document["task"]), ("multimodal", document["multimodal"]), ("endpoint", document["primary_endpoint"] or none),
            ("chat template", document["chat_template"]["status"]), ("dtype", document["dtype"]), ("quantization", document["quantization"] or none),
            ("longest context", document["max_model_len"]), ("weights", weights), ("gated", document["gated"])]
    lines = [f"{name:<16} {_shown(value)}" for name, value in rows]
    for r in document["refusals"]:
        lines += ["", f"refused [{r['code']}]: {r['what']}", f"  found:   {r['found']}", f"  needed:  {r['needed']}", f"  do this: {r['do']}"]
    lines += ["", *[f"warning [{w['code']}]: {w['message']}" for w in document["warnings"]]] if document["warnings"] else []
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return "unknown" if value is None else "yes" if value is True else "no" if value is False else f"{value:,}" if isinstance(value, int) else printable(value)
