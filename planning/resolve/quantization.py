"""How a checkpoint's weights are stored: vLLM's name of the method, and the number format that decides which hardware can use it."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planning.resolve import hf_config
from planning.resolve import registry as registries


@dataclass(frozen=True)
class Quantization:
    """`method` as config.json says it (ModelOpt: by algorithm, as vLLM names it); `engine_method`: what vLLM makes of it.

    `format`: int4, int8, fp8, mxfp4, mxfp8, nvfp4, nf4, gguf; None when the config does not say.
    """

    method: str
    engine_method: str
    format: str | None


def read(config: Mapping[str, Any], weight_format: str | None = None) -> Quantization | None:
    """None for an unquantised checkpoint. Sources: quantization_config, compression_config, both also of the language part."""
    for part in (config, hf_config.section(config, "text_config"), hf_config.text_part(config)):
        raw = hf_config.section(part, "quantization_config") or hf_config.section(part, "compression_config")
        if raw:
            return _describe(raw, config)
    return Quantization("gguf", "gguf", "gguf") if weight_format == "gguf" else None


def named(method: str) -> Quantization:
    """What a user asks for by name (`quantization: fp8`)."""
    name = method.lower()
    return Quantization(name, name, _format_of(name))


def _describe(raw: Mapping[str, Any], config: Mapping[str, Any]) -> Quantization:
    names = registries.platforms()["quantization_aliases"]
    method = str(raw.get("quant_method") or "").lower().replace("compressed_tensors", "compressed-tensors")
    inner = hf_config.section(raw, "quantization")
    algorithm = str(inner.get("quant_algo") or raw.get("quant_algo") or "").upper()
    if algorithm and (method.startswith("modelopt") or not method):
        method = names["modelopt"].get(algorithm, method or "modelopt")
    if not method and raw.get("config_groups"):
        method = "compressed-tensors"
    method = {"auto-round": "inc"}.get(method, method) or "unknown"
    engine = next((a[method] for t in hf_config.model_types(config) if method in (a := names["by_model_type"].get(t, {}))), method)
    return Quantization(method, engine, _format_in(raw) or _format_of(method))


def _format_of(method: str) -> str | None:
    value = registries.platforms()["formats"].get(method)
    return value if method != "source" else None


# A checkpoint may mix formats (NVFP4 experts, FP8 attention): the most demanding one decides.
_DEMANDING_FIRST = ("nvfp4", "mxfp4", "mxfp6", "mxfp8", "nf4", "fp8", "int4", "int8")


def _format_in(raw: Mapping[str, Any]) -> str | None:
    """The number format that the details say: compressed-tensors groups, Quark's and ModelOpt's specs, bits of GPTQ, AWQ."""
    layers = [v for v in hf_config.section(raw, "quantized_layers").values() if isinstance(v, Mapping)]
    stated = [raw.get("format"), raw.get("moe_quant_algo"), *[v.get("quant_algo") for v in layers]]
    found = {name for text in stated for name in _DEMANDING_FIRST[:4] if name in str(text or "").lower()}
    found |= {f for spec in _weight_specs(raw) if (f := _format_of_spec(spec))}
    bits = hf_config.number(raw, "bits")
    found |= {f"int{int(bits)}"} if bits else set()
    return next((f for f in _DEMANDING_FIRST if f in found), next(iter(sorted(found)), None))


def _format_of_spec(spec: Mapping[str, Any]) -> str | None:
    kind, bits = str(spec.get("type") or spec.get("dtype") or "").lower(), hf_config.number(spec, "num_bits")
    if kind.startswith("fp8") or (kind == "float" and bits == 8):
        return "fp8"
    if kind in ("fp4", "mxfp4", "nvfp4") or (kind == "float" and bits == 4):
        return "nvfp4" if kind == "nvfp4" or hf_config.number(spec, "group_size") == 16 else "mxfp4"   # scale blocks: 16, 32
    if kind.startswith(("int", "uint")):
        return f"int{int(bits)}" if bits else kind.removeprefix("u")
    return "mxfp6" if kind.startswith("fp6") else None


def _weight_specs(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    groups = [g for g in hf_config.section(raw, "config_groups").values() if isinstance(g, Mapping)]
    quark = [hf_config.section(raw, "global_quant_config"),
             *[g for g in hf_config.section(raw, "layer_quant_config").values() if isinstance(g, Mapping)]]
    found = []
    for group in [*groups, *quark]:
        for key in ("weights", "weight"):
            spec = group.get(key)
            found += [spec] if isinstance(spec, Mapping) else [s for s in spec if isinstance(s, Mapping)] if isinstance(spec, list) else []
    return found
