"""`ModelManifest` to and from plain JSON values, for Pulumi's state: numbers may come back as floats, the order of keys is lost."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from planning.errors import PlanningError, Refusal, Warn
from planning.resolve.manifest import ChatTemplate, ModelManifest

_PARTS = ("refusals", "warnings", "chat_template")


def manifest_to_dict(manifest: ModelManifest) -> dict[str, Any]:
    """Compact: what is None, empty or default is left out."""
    plain = {f.name: _plain(getattr(manifest, f.name)) for f in fields(ModelManifest) if f.name not in _PARTS}
    plain["chat_template"] = {"status": manifest.chat_template.status, "names": list(manifest.chat_template.names)}
    plain["refusals"] = [dict(vars(r)) for r in manifest.refusals]
    plain["warnings"] = [dict(vars(w)) for w in manifest.warnings]
    return {k: v for k, v in plain.items() if v is not None and v is not False and v != {} and v != []}


def manifest_from_dict(value: Mapping[str, Any]) -> ModelManifest:
    """The inverse. Whole floats become integers. Unknown keys are ignored (state of a newer version). Raises PlanningError."""
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), str):
        raise PlanningError("not a model manifest: an object with an `id` is needed")
    try:
        known = {f.name: whole(value[f.name]) for f in fields(ModelManifest) if f.name in value and f.name not in _PARTS}
        template = value.get("chat_template") or {}
        return ModelManifest(**known, chat_template=ChatTemplate(str(template.get("status", "unknown")), tuple(template.get("names", ()))),
                             refusals=tuple(Refusal(**r) for r in value.get("refusals", ())),
                             warnings=tuple(Warn(**w) for w in value.get("warnings", ())))
    except (TypeError, AttributeError) as error:
        raise PlanningError(f"not a model manifest: {error}") from None


def whole(value: Any) -> Any:
    """Floats without a fraction as integers, at every depth: 4096.0 is the state's way to write 4096. 1e-06 stays."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {k: whole(v) for k, v in value.items()}
    return [whole(v) for v in value] if isinstance(value, (list, tuple)) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value
