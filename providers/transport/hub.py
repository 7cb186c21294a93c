"""Reads what the Hub says about a model, at one commit, with at most four requests and without a byte of weights.

Requests: the repository's summary with its list of files; config.json; tokenizer_config.json; and one of hf_quant_config.json
(when config.json has no quantisation), the safetensors index, the header of a single safetensors file. Everything goes through
`huggingface_hub`'s shared session, so HF_ENDPOINT, HF_HUB_OFFLINE, proxies and the client's own token file count as they do in vLLM.

What goes wrong is a value: a manifest with refusals (gated, metadata-missing), never an exception. No text holds the token.
"""
from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import replace
from typing import Any

from planning.errors import Refusal, Warn
from planning.resolve import weight_files
from planning.resolve.assemble import CONFIG, QUANT, TOKENIZER, manifest_from_files, unreadable
from planning.resolve.manifest import ModelManifest
from providers.transport.hub_session import Failed, Session

_LIMITS = {CONFIG: 5_000_000, TOKENIZER: 20_000_000, QUANT: 20_000_000, weight_files.INDEX: 50_000_000}   # bytes of an answer
_SUMMARY_LIMIT, _HEADER_BYTES = 50_000_000, 4_000_000
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


def read_manifest(model: str, revision: str, *, token: str | None = None, endpoint: str | None = None, timeout: float = 15,
                  known: ModelManifest | None = None) -> ModelManifest:
    """The manifest of `model` (ORG/NAME) at `revision` (branch, tag, commit), pinned to a commit. Safe in several threads.

    `token` None: the environment's or the Hub client's own. `timeout`: seconds for everything together. `known`: a manifest from
    before; when its commit is the one that is asked for, nothing is requested, and when the branch still points to it, one thing.
    """
    good = known if known and known.id == model and known.revision and known.config is not None and not known.refusals else None
    if good and good.revision == revision and _COMMIT.match(revision):
        return good
    answer: Future[ModelManifest] = Future()
    # A thread of its own: looking up an address cannot be given a timeout, and a preview must not wait for it.
    threading.Thread(target=_into, args=(answer, model, revision, token, endpoint, timeout, good), daemon=True).start()
    try:
        return answer.result(timeout + 2)
    except NoAnswer:
        return _failed(model, revision, Refusal(
            "metadata-missing", f"{model}: the Hub did not answer in {timeout:g} s", "no answer", "an answer of the Hub",
            "check the network and DNS of this machine (HF_ENDPOINT, HTTPS_PROXY), or give a recorded or local model directory"))


def _into(answer: Future[ModelManifest], model: str, revision: str, *what: Any) -> None:
    try:
        answer.set_result(_read(model, revision, *what))
    except Exception as error:                     # of one model: it must not end a run that has others
        answer.set_result(_failed(model, revision, unreadable(model, error)))


def _read(model: str, revision: str, token: str | None, endpoint: str | None, timeout: float, known: ModelManifest | None) -> ModelManifest:
    try:
        session = Session(model, revision, token=token, endpoint=endpoint, timeout=timeout)
        summary = session.summary(_SUMMARY_LIMIT)
    except Failed as failure:
        return _failed(model, revision, failure.refusal)
    if known and known.revision == session.commit:
        return replace(known, requested_revision=revision)
    return _assemble(session, summary, model, revision)


def _failed(model: str, revision: str, refusal: Refusal) -> ModelManifest:
    gated = True if refusal.code == "gated" else None
    return ModelManifest(id=model, requested_revision=revision, gated=gated, refusals=(refusal,))


def _assemble(session: Session, summary: Mapping[str, Any], model: str, revision: str) -> ModelManifest:
    listing = _listing(summary)
    paths = {f["path"] for f in listing}
    files: dict[str, bytes | str] = {}
    problems: list[Refusal] = []
    for name in (CONFIG, TOKENIZER):
        problems += _fetch(session, name, files) if name in paths and not problems else []
    for name, first_bytes in [] if problems else _last_request(listing, paths, files):
        _fetch(session, name, files, first_bytes)  # it only makes numbers better: what goes wrong here is not a reason to refuse
    manifest = manifest_from_files(model, session.commit, files, listing, _info(summary, revision, session, model))
    renamed = _renamed(model, session.name)
    refusals = tuple(problems) if problems else manifest.refusals
    return replace(manifest, refusals=refusals, warnings=manifest.warnings + renamed)


def _renamed(model: str, name: str) -> tuple[Warn, ...]:
    if name == model:
        return ()
    if name.lower() == model.lower():
        return (Warn("model-renamed", f"{model} is spelled {name} on the Hub"),)
    return (Warn("model-renamed", f"{model} is called {name} on the Hub now: it is found there, and the old name will stop working if "
                                  "somebody takes it"),)


def _listing(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    siblings = summary.get("siblings") if isinstance(summary.get("siblings"), list) else []
    return [{"path": s["rfilename"], "size": weight_files.count(s.get("size"))}
            for s in siblings if isinstance(s, dict) and isinstance(s.get("rfilename"), str)]


def _fetch(session: Session, name: str, files: dict[str, bytes | str], first_bytes: int | None = None) -> list[Refusal]:
    try:
        files[name] = session.file(name, _LIMITS.get(name, _HEADER_BYTES), first_bytes=first_bytes)
    except Failed as failure:
        return [failure.refusal]
    return []


def _last_request(listing: list[dict[str, Any]], paths: set[str], files: Mapping[str, bytes | str]) -> list[tuple[str, int | None]]:
    """The fourth request: whichever is worth most here. (name, how many bytes from the start or None for all)."""
    if QUANT in paths and b"quantization_config" not in bytes(files.get(CONFIG) or b""):
        return [(QUANT, None)]
    if weight_files.INDEX in paths:
        return [(weight_files.INDEX, None)]
    weights = weight_files.choose(listing)
    if weights.kind == "safetensors" and len(weights.paths) == 1:
        return [(weights.paths[0], _HEADER_BYTES)]
    return []


def _info(summary: Mapping[str, Any], revision: str, session: Session, model: str) -> dict[str, Any]:
    return {"gated": summary.get("gated"), "safetensors": summary.get("safetensors"), "requested_revision": revision, "complete": True,
            "canonical_id": session.name if session.name != model else None}
