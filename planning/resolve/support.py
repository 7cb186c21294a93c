"""The support gate: a `ModelManifest` judged for one vLLM version on one device, as a `ModelSupport`."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planning.errors import Notes, Refusal, Warn
from planning.resolve import architecture, context_length, hf_config, precision
from planning.resolve import registry as registries
from planning.resolve.manifest import ModelManifest, ModelSupport
from planning.resolve.registry import Kind, Registry

_COMPLETIONS, _CHAT = "completions", "chat_completions"


def judge(manifest: ModelManifest, *, vllm_version: str, device: str, dtype: str | None = None, quantization: str | None = None,
          trust_remote_code: bool = False, chat_template_given: bool = False, backend: str | None = None,
          gfx: str | None = None) -> ModelSupport:
    """Everything that can be said before a host is chosen. `device`: cpu or rocm. `backend`: zentorch (the default on a CPU), stock, rocm.

    The refusals of the manifest (gated, missing …) are part of the answer. Every gate is judged: all refusals are listed.
    """
    registry = registries.for_version(vllm_version)
    said = Notes(manifest.refusals, (), manifest.warnings) + Notes.of(registry.warning)
    config = manifest.config
    if config is None:
        return _unknown(manifest, said)
    found = architecture.find(manifest.id, config, registry, trust_remote_code=trust_remote_code)
    kind = _pooled(found.kind, manifest)
    platform = "rocm" if device == "rocm" else "stock" if backend == "stock" else "zentorch"
    task = kind.task if kind else None
    chosen, dtype_notes = precision.choose_dtype(manifest.id, config, manifest.tensors, registry, platform=platform, asked=dtype,
                                                 pooling=task == "pooling")
    used, quant_notes, quant_args = precision.choose_quantization(manifest.id, config, manifest.weight_format, registry, device=device,
                                                                  asked=quantization, gfx=gfx)
    ends = _endpoints(manifest, kind, registry, chat_template_given)
    notes = Notes.total([said, found.notes, _tokenizer(manifest, registry, trust_remote_code, found.notes), _generative(manifest, kind),
                         _attention(manifest.id, config, registry, device), dtype_notes, quant_notes, ends.notes,
                         _gate(manifest)])
    length = context_length.derive(config, registry)
    unsure = kind is None or (ends.chat is None and kind.multimodal)
    return ModelSupport(
        architecture=kind.architecture if kind else found.asked, task=task, launchable=False if notes.refusals else None if unsure else True,
        multimodal=kind.multimodal if kind else None, primary_endpoint=ends.primary, supported_endpoints=ends.supported,
        dtype=chosen, quantization=used.method if used else None, max_model_len=None if length.assumed else length.limit,
        refusals=notes.refusals, warnings=notes.warnings, default_max_model_len=length.default,
        engine_args=found.engine_args + quant_args)


def _unknown(manifest: ModelManifest, said: Notes) -> ModelSupport:
    warning = Warn("support-unknown", f"{manifest.id}: without its config.json nobody can tell whether vLLM serves it")
    return ModelSupport(None, None, None, None, None, (), None, None, None, said.refusals, (*said.warnings, warning))


def _pooled(kind: Kind | None, manifest: ModelManifest) -> Kind | None:
    """modules.json makes vLLM start any model as a pooling one (sentence-transformers)."""
    if kind and manifest.sentence_transformers and kind.task == "generate":
        return Kind(kind.architecture, "pooling", kind.multimodal, kind.how)
    return kind


@dataclass(frozen=True)
class _Ends:
    """`chat`: whether chats can be served, None when nobody knows."""

    chat: bool | None
    primary: str | None
    supported: tuple[str, ...]
    notes: Notes = Notes()


def _endpoints(manifest: ModelManifest, kind: Kind | None, registry: Registry, given: bool) -> _Ends:
    if kind is None or kind.task != "generate":
        return _Ends(None, None, ())
    if given or _renders(manifest, kind, registry) or manifest.chat_template.status == "present":
        return _Ends(True, _CHAT, (_CHAT, _COMPLETIONS))
    status, names = manifest.chat_template.status, ", ".join(manifest.chat_template.names)
    if status == "unknown":
        if kind.multimodal:
            note = Warn("chat-template-unknown", f"{manifest.id}: whether it has a chat template is not known; a multimodal model needs one")
            return _Ends(None, _COMPLETIONS, (_COMPLETIONS,), Notes.of(note))
        return _Ends(None, _COMPLETIONS, (_COMPLETIONS,))
    choose = f"set `chatTemplate` to one of its own ({names}) or to a file" if names else "set `chatTemplate` to a file that the model's authors give"
    if kind.multimodal:
        found = f"several templates, none called default: {names}" if names else "none in tokenizer_config.json, chat_template.* or additional_chat_templates/"
        refusal = Refusal("no-chat-template", f"{manifest.id} is multimodal and has no usable chat template, so images cannot be sent to it",
                          found, "a chat template", choose)
        return _Ends(False, None, (), Notes.of(refusal))
    note = Warn("no-chat-template", f"{manifest.id}: {'several chat templates, none called default' if names else 'no chat template'}; "
                                    f"/v1/completions is served. For chats {choose}")
    return _Ends(False, _COMPLETIONS, (_COMPLETIONS,), Notes.of(note))


def _renders(manifest: ModelManifest, kind: Kind, registry: Registry) -> bool:
    """vLLM renders chats of some architectures in Python and has template files of its own for some model types."""
    types = hf_config.model_types(manifest.config or {})
    return (kind.architecture in registries.platforms()["builtin_chat"]["architectures"]
            or any(t in registry.table["chat_template_fallbacks"] for t in types))


_KINDS = {"pooling": "embeds, ranks or classifies: it has no completions", "transcription": "transcribes speech: it is no chat endpoint",
          "draft": "is a draft model for speculative decoding"}


def _generative(manifest: ModelManifest, kind: Kind | None) -> Notes:
    if kind is None or kind.task == "generate":
        return Notes()
    name = registries.platforms()["alternatives"]["generate"]
    why = "modules.json (sentence-transformers)" if manifest.sentence_transformers else kind.architecture
    return Notes.of(Refusal("not-generative", f"{manifest.id} {_KINDS[kind.task]}", f"{why}, task {kind.task}",
                            "a model that generates text", f"choose a generative model, for example {name}"))


def _attention(model: str, config: Mapping[str, Any], registry: Registry, device: str) -> Notes:
    """Latent attention (MLA) and sparse attention have no CPU backend in every version."""
    if device != "cpu":
        return Notes()
    part, facts = hf_config.text_part(config), registry.table["cpu_attention"]
    mla = uses_mla(config, registry)
    sparse = mla and any(hf_config.number(part, k) for k in ("index_topk", "index_n_heads"))
    for wanted, key, name, sign in ((mla, "mla", "MLA (latent attention)", "kv_lora_rank"), (sparse, "sparse", "Sparse attention", "an indexer")):
        if wanted and not facts[key]:
            newer = None if sparse else registries.first_with_cpu_attention(key)
            return Notes.of(Refusal("architecture-unsupported", f"{model}: {name} is not supported on CPU by vLLM {registry.vllm_version}",
                                    f"model_type {hf_config.text(part, 'model_type')} with {sign}", "ordinary attention",
                                    "serve it on an Instinct host (kind: instinct), "
                                    + (f"or with an image of vLLM {newer} or newer, " if newer else "") + "or choose another model"))
    return Notes()


def uses_mla(config: Mapping[str, Any], registry: Registry) -> bool:
    """Whether vLLM takes its latent-attention path: a model type of its list, with the latent rank set (is_deepseek_mla)."""
    part = hf_config.text_part(config)
    if (hf_config.text(part, "model_type") or "") not in registry.table["mla_model_types"]:
        return False
    return part.get("head_dim") is not None if "compress_ratios" in part else part.get("kv_lora_rank") is not None


def _tokenizer(manifest: ModelManifest, registry: Registry, trusted: bool, earlier: Notes) -> Notes:
    """A tokenizer that comes as code needs the same consent as a model that does."""
    name = manifest.tokenizer.get("class")
    if trusted or not manifest.tokenizer.get("remote_code") or any(r.code == "needs-consent" for r in earlier.refusals):
        return Notes()
    if hf_config.text(manifest.config or {}, "model_type") in registry.transformers["tokenizer_model_types"]:
        return Notes()
    if name and {name, f"{name}Fast", str(name).removesuffix("Fast")} & set(registry.transformers["tokenizers"]):
        return Notes()
    return Notes.of(architecture.needs_code(manifest.id, f"a tokenizer ({name or 'unnamed class'}) that is code in the repository"))


def _gate(manifest: ModelManifest) -> Notes:
    if not manifest.gated:
        return Notes()
    return Notes.of(Warn("gated", f"{manifest.id} is gated: the token that the host uses must belong to an account that accepted its licence"))
