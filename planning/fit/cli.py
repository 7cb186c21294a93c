"""`python -m planning capacity DIR`: what vLLM would allocate for the model in a folder. Reads config.json; no network."""
from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from planning.errors import PlanningError, Refusal
from planning.fit.capacity import Capacity, capacity
from planning.fit.table import capacity_text
from planning.units import GIB

DEFAULT_VERSION = "0.25.1"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The verb and its options; names are vLLM's flags."""
    parser = subparsers.add_parser("capacity", help="what vLLM would allocate for a model: weights, KV blocks, tokens, requests at once",
                                   description="What vLLM would allocate on each rank for the model in DIR (a folder with config.json).")
    parser.add_argument("dir", metavar="DIR", help="folder with the model's config.json")
    parser.add_argument("--kv-cache-gib", type=positive_number, required=True, metavar="G", help="memory for the KV cache on each rank, GiB")
    parser.add_argument("--max-model-len", type=positive_whole, metavar="L", help="longest request, tokens (default: the model's own)")
    parser.add_argument("--tensor-parallel-size", type=positive_whole, default=1, metavar="N")
    parser.add_argument("--block-size", type=positive_whole, metavar="B", help="tokens in a block (default: the platform's)")
    parser.add_argument("--dtype", metavar="D", help="what the engine computes in (default: the checkpoint's)")
    parser.add_argument("--kv-cache-dtype", default="auto", metavar="D")
    parser.add_argument("--quantization", metavar="Q", help='"none": as if the checkpoint were not quantised')
    parser.add_argument("--max-num-batched-tokens", type=positive_whole, metavar="T")
    parser.add_argument("--max-num-seqs", type=positive_whole, metavar="S")
    parser.add_argument("--card-gib", type=positive_number, metavar="G", help="total memory of a GPU, decides defaults (rocm)")
    parser.add_argument("--vllm-version", default=DEFAULT_VERSION, metavar="V", help=f"default: {DEFAULT_VERSION}")
    parser.add_argument("--device", choices=("cpu", "rocm"), default="cpu")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


def positive_whole(text: str) -> int:
    """An integer above zero. Raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def positive_number(text: str) -> float:
    """A number above zero. Raises ArgumentTypeError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return value


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any], str]:
    """(exit status, JSON document, text): 0 it fits, 1 refused. Raises PlanningError for a folder or file that cannot be read."""
    config = read_config(Path(args.dir))
    kv_cache_bytes = int(args.kv_cache_gib * GIB)
    found = capacity(config, kv_cache_bytes=kv_cache_bytes, max_model_len=args.max_model_len, tensor_parallel_size=args.tensor_parallel_size,
                     block_size=args.block_size, dtype=args.dtype, kv_cache_dtype=args.kv_cache_dtype, quantization=args.quantization,
                     max_num_batched_tokens=args.max_num_batched_tokens, max_num_seqs=args.max_num_seqs, vllm_version=args.vllm_version,
                     device=args.device, card_bytes=int(args.card_gib * GIB) if args.card_gib else None)
    found = with_shortage(found, kv_cache_bytes)
    return (1 if found.refusals else 0), found.document(), capacity_text(found, kv_cache_bytes, str(args.dir))


def read_config(folder: Path) -> Mapping[str, Any]:
    """The parsed config.json of a folder. Raises PlanningError where there is none or it is not a JSON object."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanningError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise PlanningError(f"{path} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise PlanningError(f"{path} is not a JSON object")
    return config


def with_shortage(found: Capacity, kv_cache_bytes: int) -> Capacity:
    """The refusal that the engine would end with where not even one request of max_model_len fits."""
    if found.refusals or found.one_request_bytes is None or found.one_request_bytes <= kv_cache_bytes:
        return found
    longest = found.estimated_max_model_len or 0
    do = f"set maxModelLen to {longest} or less, or give more KV memory" if longest else "give more KV memory"
    return replace(found, refusals=(Refusal("memory", f"one request of {found.max_model_len:,} tokens does not fit the KV cache",
                                            f"{kv_cache_bytes / GIB:.2f} GiB", f"{found.one_request_bytes / GIB:.2f} GiB", do),))
