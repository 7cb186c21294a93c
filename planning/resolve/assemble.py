"""`ModelManifest` from the files of a model, wherever they came from: the Hub, a folder, a directory read over SSH."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from traceback import extract_tb
from typing import Any

from planning.errors import Refusal, Warn
from planning.fit.checkpoint import predicts
from planning.resolve import chat_template, hf_config, json_object, weight_files
from planning.resolve.manifest import ChatTemplate, ModelManifest

CONFIG, TOKENIZER, GENERATION, QUANT = "config.json", "tokenizer_config.json", "generation_config.json", "hf_quant_config.json"
# Long lists that nobody here reads; they would only make the state bigger.
_JUNK = ("id2label", "label2id", "task_specific_params", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens",
         "forced_decoder_ids", "short_factor", "long_factor", "_name_or_path")


def manifest_from_files(id: str, revision: str | None, files: Mapping[str, bytes | str], listing: Sequence[Mapping[str, Any]],
                        info: Mapping[str, Any]) -> ModelManifest:
    """`files`: path -> content of those that were read (a *.safetensors: its header). `listing`: {"path", "size"} of all files.

    `info`: gated, requested_revision, parameters, safetensors ({"parameters": {dtype: elements}, "total"}), weights_bytes,
    chat_template ({"where", "chars"}), complete (whether `listing` names every file). Broken files become warnings, a missing or
    broken config.json a refusal. Never raises for content.
    """
    warnings: list[Warn] = []
    parsed = {n: _parse(n, c, warnings) for n, c in files.items() if n.endswith(".json")}
    config = parsed.get(CONFIG)
    config = _with_quantization(config, parsed.get(QUANT)) if config is not None else None
    paths = {str(f.get("path")) for f in listing} | set(files)
    weights = weight_files.choose(listing, parsed.get(weight_files.INDEX))
    tensors = _tensors(files, parsed, weights, info, config)
    return ModelManifest(
        id=id, revision=revision, requested_revision=str(info.get("requested_revision") or "main"),
        config=slim(config) if config is not None else None, generation_config=parsed.get(GENERATION),
        chat_template=_template(parsed, files, paths, info),
        weights_bytes=_weights_bytes(tensors, weights, info), tensors=_public(tensors), parameters=_parameters(info),
        gated=_gated(info.get("gated")), has_remote_code=bool(config and hf_config.remote_code(config)),
        download_bytes=weight_files.download_bytes(listing, weights),
        refusals=() if config is not None else (_no_config(id, files, paths, weights.kind),), warnings=tuple(warnings),
        tokenizer=_tokenizer(parsed.get(TOKENIZER)), sentence_transformers="modules.json" in paths,
        weight_format=weights.kind, extra={k: info[k] for k in ("canonical_id", "notes") if info.get(k)})


def _parse(name: str, content: bytes | str, warnings: list[Warn]) -> dict[str, Any] | None:
    try:
        return json_object.parse(content)
    except ValueError:
        warnings.append(Warn("file-unreadable", f"{name} is not a JSON object that can be used ({len(content)} bytes): ignored"))
        return None


def _with_quantization(config: dict[str, Any], separate: Mapping[str, Any] | None) -> dict[str, Any]:
    """ModelOpt before 0.31 kept the quantisation in a file of its own; vLLM reads it when config.json has none."""
    if separate and not hf_config.section(config, "quantization_config"):
        return {**config, "quantization_config": dict(separate)}
    return config


def slim(config: Mapping[str, Any]) -> dict[str, Any]:
    """config.json without what nobody reads, at every depth."""
    return {k: slim(v) if isinstance(v, Mapping) else v for k, v in config.items() if k not in _JUNK}


def _template(parsed: Mapping[str, Any], files: Mapping[str, Any], paths: set[str], info: Mapping[str, Any]) -> ChatTemplate:
    present = {p for p in paths if p != chat_template.JINJA or not _is_empty(files.get(p))}
    processor = parsed.get(chat_template.PROCESSOR)
    found = chat_template.find(parsed.get(TOKENIZER), processor, present, listing_complete=bool(info.get("complete")))
    said = info.get("chat_template")
    if found.status == "unknown" and isinstance(said, Mapping):
        return ChatTemplate("absent" if str(said.get("where", "")).startswith("absent") or not said.get("chars") else "present")
    return found


def _is_empty(content: bytes | str | None) -> bool:
    return content is not None and not content.strip()


def _tensors(files: Mapping[str, bytes | str], parsed: Mapping[str, Any], weights: weight_files.WeightFiles, info: Mapping[str, Any],
             config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Exact bytes, best source first: headers of all files, the index, the Hub's summary."""
    starts = [_bytes(files[p]) for p in weights.paths if p in files] if weights.kind == "safetensors" else []
    headers = [header for start in starts if (header := weight_files.parse_header(start))]
    found = weight_files.from_headers(headers) if headers and len(headers) == len(weights.paths) else None
    slack = sum(map(len, starts)) if found else 0     # a file holds its header too
    found = (found or weight_files.from_index(parsed.get(weight_files.INDEX) or {})
             or weight_files.from_counts(hf_config.section(hf_config.section(info, "safetensors"), "parameters")))
    if not found or not found["total_bytes"]:
        return None
    if weights.bytes and abs(found["total_bytes"] - weights.bytes) > 0.02 * weights.bytes + slack:
        return None                                # written by a tool that counted something else: the files decide
    return _tied(found, config)


def _tied(found: dict[str, Any], config: Mapping[str, Any] | None) -> dict[str, Any]:
    """A head that is tied to the embedding and stored all the same is loaded once: `tied_head_bytes`; multi-token-prediction layers are not
    loaded, where the headers tell their size: `loaded_bytes` is what is left."""
    part = hf_config.text_part(config or {})
    tied = bool((config or {}).get("tie_word_embeddings", part.get("tie_word_embeddings")))
    heads = [n for n in found.get("names", ()) if n.endswith("lm_head.weight")]
    size = 0
    if tied and heads:
        vocab, hidden = hf_config.number(part, "vocab_size"), hf_config.number(part, "hidden_size")
        size = found.get("sizes", {}).get(heads[0]) or int((vocab or 0) * (hidden or 0) * 2)
        size = size if 0 <= 2 * size <= found["total_bytes"] else 0     # the embedding that it is tied to is as large
    predictors = sum(bytes_ for name, bytes_ in found.get("sizes", {}).items() if predicts(name, config or {}))
    return {**found, "tied_head_bytes": size, "loaded_bytes": found["total_bytes"] - size - predictors}


def _public(tensors: dict[str, Any] | None) -> dict[str, Any] | None:
    """What goes into state: sums, no list of names."""
    return {k: v for k, v in tensors.items() if k not in ("names", "sizes")} if tensors else None


def _weights_bytes(tensors: Mapping[str, Any] | None, weights: weight_files.WeightFiles, info: Mapping[str, Any]) -> int | None:
    if tensors:
        return int(tensors["total_bytes"])
    said = hf_config.number(info, "weights_bytes")
    return weights.bytes if weights.bytes is not None else (int(said) if said and said > 0 else None)


def _parameters(info: Mapping[str, Any]) -> int | None:
    value = hf_config.number(info, "parameters") or hf_config.number(hf_config.section(info, "safetensors"), "total")
    return int(value) if value and value > 0 else None


def _gated(value: Any) -> bool | None:
    """The Hub says false, "auto" or "manual"."""
    return None if value is None else bool(value)


def _tokenizer(config: Mapping[str, Any] | None) -> dict[str, Any]:
    if config is None:
        return {}
    mapped = hf_config.remote_code(config).get("AutoTokenizer")
    return {"class": hf_config.text(config, "tokenizer_class"), "remote_code": bool(mapped)}


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def unreadable(id: str, error: Exception) -> Refusal:
    """The refusal for metadata that we fell over. Names the error and its place; its text could hold anything, so it is left out."""
    place = extract_tb(error.__traceback__)[-1]
    return Refusal("metadata-missing", f"{id}: what is told about the model cannot be used",
                   f"{type(error).__name__} in {PurePath(place.filename).name}, line {place.lineno}", "metadata of a Transformers checkpoint",
                   "check the files of the model; if they are as they should be, this is a defect of amd-vllm: report it")


# What a repository without config.json is, by a file that tells: (what it is, what to do).
_NO_MODEL = {"adapter_config.json": ("a LoRA adapter (adapter_config.json), not a model", "name the model that the adapter was trained on"),
             "model_index.json": ("a diffusion pipeline (model_index.json), not a language model", "choose a model that generates text"),
             "params.json": ("a checkpoint in Mistral's own format (params.json)", "choose a repository that has config.json too")}


def _no_config(id: str, files: Mapping[str, Any], paths: set[str], kind: str | None) -> Refusal:
    what, needed = f"{id}: config.json cannot be read, so that nothing is known about the model", "config.json of a Transformers checkpoint"
    if CONFIG in files:
        return Refusal("metadata-missing", what, "a config.json that is not a JSON object", needed, "check the files of the model")
    sign = next((n for n in _NO_MODEL if n in paths), None)
    if sign:
        return Refusal("metadata-missing", what, _NO_MODEL[sign][0], needed, _NO_MODEL[sign][1])
    if kind == "gguf":
        return Refusal("metadata-missing", what, "GGUF files without config.json", needed, "name the repository that the GGUF files were made from")
    return Refusal("metadata-missing", what, "no config.json", needed, "check the name of the model and its revision")
