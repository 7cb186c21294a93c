"""The dtype an engine computes in and the quantisations it can load, per platform: zentorch, the stock CPU build, ROCm."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.errors import Notes, Refusal, Warn
from planning.resolve import hf_config
from planning.resolve import quantization as quantizations
from planning.resolve import registry as registries
from planning.resolve.quantization import Quantization
from planning.resolve.registry import Registry

_NAMES = {"half": "float16", "float": "float32", "float16": "float16", "bfloat16": "bfloat16", "float32": "float32"}
_STORED = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float32"}


def checkpoint_dtype(config: Mapping[str, Any], tensors: Mapping[str, Any] | None) -> str:
    """What config.json declares, else what the tensors are stored in, else float32 (model_arch_config_convertor.py, get_torch_dtype)."""
    parts = (config, hf_config.text_part(config), hf_config.section(config, "vision_config"), hf_config.section(config, "encoder_config"))
    for part in parts:
        said = hf_config.text(part, "dtype") or hf_config.text(part, "torch_dtype")
        if said:
            return said.removeprefix("torch.")
    stored = hf_config.section(tensors or {}, "dtypes")
    known = [_STORED[d] for d in stored if d in _STORED]
    return max(known, key=("bfloat16", "float16", "float32").index) if known else "float32"


def choose_dtype(model: str, config: Mapping[str, Any], tensors: Mapping[str, Any] | None, registry: Registry, *, platform: str,
                 asked: str | None, pooling: bool) -> tuple[str | None, Notes]:
    """`platform`: zentorch, stock or rocm. The rules are vLLM's: float32 becomes the platform's first dtype, an unsupported one too."""
    supported = list(registries.platforms()["dtypes"][platform])
    banned = set(hf_config.model_types(config)[:1]) & set(registry.table["no_float16_model_types"])
    usable = [d for d in supported if not (banned and d == "float16")]
    if asked and asked.lower() != "auto":
        name = _NAMES.get(asked.lower())
        if name in usable:
            return name, Notes()
        return None, Notes.of(_refused_dtype(model, asked, usable, platform, banned))
    declared = checkpoint_dtype(config, tensors)
    preferred = "float16" if pooling and "float16" in usable else usable[0]
    if declared == "float32" or declared not in usable:
        cast = Warn("dtype-cast", f"{model} is stored as {declared}; on {_platform_name(platform)} it is computed in {preferred}")
        return preferred, Notes.of(cast if declared == "float16" else None)
    return declared, Notes()


def _refused_dtype(model: str, asked: str, usable: list[str], platform: str, banned: set[str]) -> Refusal:
    why = f"{sorted(banned)[0]} is numerically unstable in float16" if banned else f"{_platform_name(platform)} does not compute in it"
    other = ", or backend: stock" if platform == "zentorch" and asked.lower() in ("float16", "half") and not banned else ""
    return Refusal("precision-unsupported", f"{model}: dtype {asked} cannot be used, {why}", f"dtype: {asked}", " or ".join(usable),
                   f"leave `dtype` out (auto) or set {usable[0]}{other}")


def _platform_name(platform: str) -> str:
    return {"zentorch": "zentorch (EPYC)", "stock": "vLLM's stock CPU build", "rocm": "ROCm"}[platform]


def choose_quantization(model: str, config: Mapping[str, Any], weight_format: str | None, registry: Registry, *, device: str,
                        asked: str | None, gfx: str | None) -> tuple[Quantization | None, Notes, tuple[str, ...]]:
    """The quantisation that will run, notes, and arguments that vLLM needs for it. Refusals: precision-unsupported."""
    own = quantizations.read(config, weight_format)
    wanted = quantizations.named(asked) if asked and asked.lower() not in ("none", "auto") else None
    if own and wanted and not _compatible(own, wanted):
        return own, Notes.of(Refusal("precision-unsupported", f"{model}: its checkpoint is quantised in another way than `quantization` says",
                                     f"{own.method} in config.json, quantization: {wanted.method}", own.method,
                                     "leave `quantization` out, vLLM reads it from the checkpoint")), ()
    used = own or wanted
    if used is None:
        return None, Notes(), ()
    judge = _on_cpu if device == "cpu" else _on_rocm
    if used.engine_method not in registry.table["quantization_methods"]:
        return used, Notes.of(_refused(model, used, f"vLLM {registry.vllm_version}", "a method it has", device)), ()
    notes = judge(model, used, registry, gfx)
    if used.engine_method in registry.table["deprecated_quantization"] and not notes.refusals:
        said = Warn("quantization-deprecated", f"{model}: vLLM {registry.vllm_version} calls {used.method} deprecated and starts it only "
                                               "with --allow-deprecated-quantization")
        return used, notes + Notes.of(said), ("--allow-deprecated-quantization",)
    return used, notes, ()


def _compatible(own: Quantization, wanted: Quantization) -> bool:
    def stem(name: str) -> str:
        return name.removeprefix("auto_").removesuffix("_marlin")
    return wanted.method in (own.method, own.engine_method) or stem(wanted.method) == stem(own.method) or wanted.method == "moe_wna16"


def _on_cpu(model: str, used: Quantization, registry: Registry, gfx: str | None) -> Notes:
    facts = registries.platforms()["cpu_quantization"]
    if used.format is not None and used.format not in facts["formats"]:
        return Notes.of(_refused(model, used, "vLLM on an EPYC CPU", " or ".join(facts["formats"]), "cpu"))
    if used.engine_method in facts["methods"] and used.format is not None:
        return Notes()
    if used.engine_method in facts["methods"] or used.engine_method in facts["unverified"]:
        return Notes.of(Warn("quantization-unverified", f"{model}: {used.method} on a CPU is not in vLLM's table of supported hardware; "
                                                        "start-up decides"))
    return Notes.of(_refused(model, used, "vLLM on an EPYC CPU", ", ".join(facts["methods"]), "cpu"))


def _on_rocm(model: str, used: Quantization, registry: Registry, gfx: str | None) -> Notes:
    formats = registries.platforms()["rocm_formats"]
    row = formats.get(gfx or "any", formats["any"])
    where = gfx or "ROCm"
    if used.format in row["unsupported"]:
        needed = "fp8, mxfp4, int8, int4 or 16 bit; AMD's own texts differ on NVFP4 (emulated, or does not load)"
        return Notes.of(_refused(model, used, where, needed, "rocm"))
    if used.engine_method not in registry.table["rocm_quantization"]:
        return Notes.of(_refused(model, used, f"vLLM {registry.vllm_version} on ROCm", "one of its ROCm platform's methods", "rocm"))
    if used.format in row["emulated"]:
        return Notes.of(Warn("precision-emulated", f"{model}: {used.format} is computed in bfloat16 on {where}; the weights stay packed"))
    return Notes()


def _refused(model: str, used: Quantization, where: str, needed: str, device: str) -> Refusal:
    shown = used.method + (f" ({used.format})" if used.format and used.format != used.method else "")
    other = ("the checkpoint in 16 bit, or quantised as AWQ, GPTQ or INT8 (compressed-tensors)" if device == "cpu"
             else "the checkpoint in 16 bit or FP8, or AMD's Quark one (amd/…)")
    return Refusal("precision-unsupported", f"{model}: {where} cannot load {used.method} weights", shown, needed, f"choose {other}")
