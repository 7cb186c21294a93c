"""`ModelManifest`: what the Hub (or a model directory) says about one model at one commit, before anybody judges it.

The judgement for one engine (vLLM version, device) is `planning.resolve.judge`; the bytes are `planning.fit`'s business.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planning.errors import Refusal, Warn


@dataclass(frozen=True)
class ChatTemplate:
    """`status`: present, absent, ambiguous (several named, none `default`), unknown. `names`: the named templates."""

    status: str = "unknown"
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelManifest:
    """Facts about a model. `config` is the parsed config.json (None: could not be read).

    `tensors`: exact bytes as stored, where headers or index were read: {"total_bytes": int, "dtypes": {…}, "source": str}.
    `refusals` are reasons why nothing is known (gated, missing, private …): a misfit is a value.
    """

    id: str
    revision: str | None = None                # commit, 40 hex digits; None: a local directory or unknown
    requested_revision: str = "main"
    config: Mapping[str, Any] | None = None
    generation_config: Mapping[str, Any] | None = None
    chat_template: ChatTemplate = ChatTemplate()
    weights_bytes: int | None = None           # bytes of the weight files vLLM would load, as stored
    tensors: Mapping[str, Any] | None = None
    parameters: int | None = None
    gated: bool | None = None
    has_remote_code: bool = False              # auto_map in config
    download_bytes: int | None = None
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[Warn, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Mapping[str, Any] = field(default_factory=dict)   # {"class", "remote_code"}; empty: not read
    sentence_transformers: bool = False        # modules.json is there: vLLM starts it as a pooling model
    weight_format: str | None = None           # safetensors, bin, pt, gguf; None: no listing


@dataclass(frozen=True)
class ModelSupport:
    """A manifest judged for one engine. `launchable` None: cannot be judged here, start-up decides (a warning says so).

    `engine_args` are arguments without which this engine does not start this model (a warning says why each is there).
    """

    architecture: str | None
    task: str | None                           # generate, pooling, transcription …
    launchable: bool | None
    multimodal: bool | None
    primary_endpoint: str | None               # chat_completions, completions, None
    supported_endpoints: tuple[str, ...]
    dtype: str | None                          # what the engine will compute in: bfloat16, float32 …
    quantization: str | None
    max_model_len: int | None                  # the model's own limit (derived as vLLM derives it)
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[Warn, ...] = ()
    default_max_model_len: int | None = None   # what vLLM takes when nobody asks; lower than the limit for LongRoPE
    engine_args: tuple[str, ...] = ()
