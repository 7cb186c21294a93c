"""A model from a folder: a recorded one (config.json, meta.json) or a checkpoint as it was downloaded. Reads headers, never weights."""
from __future__ import annotations

import pathlib
from typing import Any

from planning.errors import PlanningError
from planning.resolve import json_object, weight_files
from planning.resolve.assemble import manifest_from_files
from planning.resolve.manifest import ModelManifest

_READ = ("config.json", "tokenizer_config.json", "generation_config.json", "hf_quant_config.json", "chat_template.json",
         "chat_template.jinja", weight_files.INDEX)
_LIMIT = 50_000_000             # bytes of one text file
_NOT_OF_THE_MODEL = ("meta.json", "vllm.json", "README.md")


def load_model_dir(dir: pathlib.Path, id: str | None = None) -> ModelManifest:
    """The manifest of a folder. `id`: its name (default: from `org__name`). Raises PlanningError when there is no readable config.json."""
    if not dir.is_dir():
        raise PlanningError(f"{dir}: no such folder. A recorded model is a folder with config.json, see tests/models")
    if not (dir / "config.json").is_file():
        raise PlanningError(f"{dir}: no config.json in it, so this is not a model folder")
    listing = [{"path": p.relative_to(dir).as_posix(), "size": p.stat().st_size} for p in sorted(dir.rglob("*")) if p.is_file()]
    files: dict[str, bytes | str] = {n: _read(dir / n) for n in _READ if (dir / n).is_file()}
    for path in (p for p in dir.glob("*.safetensors") if p.is_file()):
        header = _header(path)
        if header:
            files[path.name] = header
    _check(files["config.json"], dir)
    meta = _meta(dir / "meta.json")
    listing = [f for f in listing if f["path"] not in _NOT_OF_THE_MODEL]
    return manifest_from_files(id or dir.resolve().name.replace("__", "/", 1), None, files, listing, _info(meta, listing))


def _read(path: pathlib.Path) -> bytes:
    try:
        if path.stat().st_size > _LIMIT:
            raise PlanningError(f"{path}: {path.stat().st_size} bytes, more than the {_LIMIT} that such a file may have")
        return path.read_bytes()
    except OSError as error:
        raise PlanningError(f"{path}: cannot be read: {error.strerror}") from None


def _header(path: pathlib.Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")
            return start + file.read(length) if len(start) == 8 and length <= _LIMIT else None
    except OSError:
        return None


def _check(content: bytes | str, dir: pathlib.Path) -> None:
    try:
        json_object.parse(content)
    except ValueError as error:
        raise PlanningError(f"{dir / 'config.json'}: not JSON that can be used: {error}") from None


def _meta(path: pathlib.Path) -> dict[str, Any]:
    """meta.json of a recorded model: optional, and what it cannot say is unknown."""
    try:
        return json_object.parse(path.read_bytes()) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise PlanningError(f"{path}: cannot be read: {error}") from None


def _info(meta: dict[str, Any], listing: list[dict[str, Any]]) -> dict[str, Any]:
    def inner(key: str, name: str) -> Any:
        return meta[key].get(name) if isinstance(meta.get(key), dict) else None

    weights = weight_files.choose(listing).kind is not None
    return {"gated": meta.get("gated"), "parameters": inner("parameters", "total"), "weights_bytes": inner("weights", "total_bytes"),
            "chat_template": meta.get("chat_template"), "complete": weights and not meta, "notes": meta.get("notes")}
