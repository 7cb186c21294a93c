"""Which files of a repository hold the weights that vLLM loads, and how many bytes they are.

vLLM loads `*.safetensors` of the top folder, else `*.bin`, else `*.pt` (default_loader.py); copies in other formats are not loaded.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planning.resolve import hf_config, json_object

INDEX = "model.safetensors.index.json"
ITEM_BYTES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "BF16": 2, "F16": 2, "I16": 2, "U16": 2, "F8_E4M3": 1,
              "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1, "I8": 1, "U8": 1, "BOOL": 1, "F4": 0.5}
_OTHER_FORMATS = re.compile(r"\.(safetensors|bin|pt|pth|gguf|onnx|h5|msgpack|ot|tflite|mlmodel|npz|ckpt|data|onnx_data)$")
_NOT_WEIGHTS = re.compile(r"^(training_args|optimizer|scheduler|rng_state|adapter_model|consolidated.*)\.|^optimizer")
_HEADER_LIMIT = 100_000_000     # bytes; the format's own limit


@dataclass(frozen=True)
class WeightFiles:
    """`kind`: safetensors, bin, pt, gguf or None; `bytes`: sum of the file sizes, None when one is unknown."""

    kind: str | None
    paths: tuple[str, ...]
    bytes: int | None


def choose(listing: Sequence[Mapping[str, Any]], index: Mapping[str, Any] | None = None) -> WeightFiles:
    """The files that vLLM loads. `listing`: {"path", "size"} of every file. `index`: the parsed safetensors index, if there is one."""
    sizes = {str(f.get("path")): count(f.get("size")) for f in listing}
    top = [p for p in sizes if "/" not in p]
    for kind, ending in (("safetensors", ".safetensors"), ("bin", ".bin"), ("pt", ".pt"), ("gguf", ".gguf")):
        found = [p for p in top if p.endswith(ending)]
        chosen = [p for p in found if not _NOT_WEIGHTS.match(p)] or [p for p in found if p.startswith("consolidated")]
        if kind == "safetensors" and index:
            mapped = set(_weight_map(index).values())
            chosen = [p for p in chosen if p in mapped] or chosen
        if chosen:
            known = [sizes[p] for p in chosen]
            return WeightFiles(kind, tuple(sorted(chosen)), None if None in known else sum(s for s in known if s))
    return WeightFiles(None, (), None)


def download_bytes(listing: Sequence[Mapping[str, Any]], weights: WeightFiles) -> int | None:
    """What a first start fetches: the weights and everything that is not another format's weights (tokenizer, configs), in bytes."""
    if weights.bytes is None:
        return None
    rest = [f for f in listing if not _OTHER_FORMATS.search(str(f.get("path"))) and "/" not in str(f.get("path"))]
    return weights.bytes + sum(count(f.get("size")) or 0 for f in rest)


def from_index(index: Mapping[str, Any]) -> dict[str, Any] | None:
    """{"total_bytes", "source", "names"} of a safetensors index; None when it does not say a total."""
    total = hf_config.number(hf_config.section(index, "metadata"), "total_size")
    if total is None or total <= 0:
        return None
    return {"total_bytes": int(total), "source": INDEX, "names": tuple(_weight_map(index))}


def from_headers(headers: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """{"total_bytes", "dtypes": {dtype: bytes}, "source", "names", "sizes"} of safetensors headers: exact. None when one says no sizes."""
    sizes, dtypes = {}, {}
    for header in headers:
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            if (size := _size_of_tensor(entry)) is None:
                return None
            sizes[name] = size
            dtypes[str(entry.get("dtype"))] = dtypes.get(str(entry.get("dtype")), 0) + size
    return {"total_bytes": sum(sizes.values()), "dtypes": dtypes, "source": "safetensors header", "names": tuple(sizes), "sizes": sizes}


def from_counts(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same from the Hub's count of elements per dtype; None when a dtype is not one whose size is known."""
    if not parameters or any(d not in ITEM_BYTES or count(n) is None for d, n in parameters.items()):
        return None
    dtypes = {str(d): int(n * ITEM_BYTES[d]) for d, n in parameters.items()}
    return {"total_bytes": sum(dtypes.values()), "dtypes": dtypes, "source": "the Hub's safetensors summary"}


def parse_header(content: bytes) -> dict[str, Any] | None:
    """The JSON header at the beginning of a safetensors file, or the JSON alone. None when it is cut off or something else."""
    if not content.lstrip().startswith(b"{"):
        length = int.from_bytes(content[:8], "little")
        if len(content) < 8 or length > _HEADER_LIMIT or len(content) < 8 + length:
            return None
        content = content[8:8 + length]
    try:
        return json_object.parse(content)
    except ValueError:
        return None


def count(value: Any) -> int | None:
    """A number of bytes or elements; None for everything that cannot be one."""
    return value if type(value) is int and 0 <= value < json_object.MAX_NUMBER else None


def _size_of_tensor(entry: Any) -> int | None:
    match entry:
        case {"data_offsets": [start, end]} if type(start) is type(end) is int and 0 <= start <= end:
            return end - start
    return None


def _weight_map(index: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: path for name, path in hf_config.section(index, "weight_map").items() if isinstance(path, str)}
