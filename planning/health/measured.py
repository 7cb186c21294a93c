"""What the engine reported about itself in its log: the measured side of "planned and measured". Per rank, as vLLM prints it."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planning.health.log_lines import Line
from planning.units import GIB

_NUMBER = r"([\d,]{1,20}(?:\.\d{1,9})?)"
_TOKENS = re.compile(rf"KV cache size: {_NUMBER} tokens")
_CONCURRENCY = re.compile(rf"Maximum concurrency for {_NUMBER} tokens per request: {_NUMBER}x")
_MODEL_LEN = re.compile(rf"Using max model len {_NUMBER}|max_seq_len={_NUMBER}")
_KV_BYTES = re.compile(rf"(?:Explicitly|Auto) set \({_NUMBER}/{_NUMBER}\) GiB for KV cache|Available KV cache memory: {_NUMBER} GiB")
_WEIGHTS = re.compile(rf"(?:Model loading|Loading model weights|loading model weights) took {_NUMBER} G(?:i)?B")
_MODEL_SECONDS = re.compile(rf"Model loading took {_NUMBER} GiB(?: memory)? and {_NUMBER} seconds")
_LOAD_SECONDS = re.compile(rf"Loading weights took {_NUMBER} seconds")
_GRAPH_SECONDS = re.compile(rf"Graph capturing finished in {_NUMBER} secs")
_INIT_SECONDS = re.compile(rf"init engine \(profile, create kv cache, warmup model\) took {_NUMBER} s")
_HINTS = ("KV cache", "aximum concurrency", "max model len", "max_seq_len=", "took ", "Graph capturing")


@dataclass(frozen=True)
class Measured:
    """None is unknown. `startup_seconds`: from the first line to serving, or the engine's own part of it if lines carry no time."""

    kv_cache_tokens: int | None = None
    max_concurrency: float | None = None
    max_model_len: int | None = None
    kv_cache_bytes: int | None = None
    weights_bytes: int | None = None
    load_seconds: float | None = None
    graph_capture_seconds: float | None = None
    startup_seconds: float | None = None


def measured(lines: Sequence[Line], serving: bool) -> Measured:
    """`lines`: of one start, none after it. Of several ranks or engines the smallest cache and the largest weights count."""
    telling = [line.body for line in lines if line.level in (None, "INFO") and any(hint in line.body for hint in _HINTS)]

    def value(pattern: re.Pattern[str], choose: Callable[[list[float]], float], group: int | None = None) -> float | None:
        found = [_number(m, group) for m in map(pattern.search, telling) if m]
        known = [number for number in found if number is not None]
        return choose(known) if known else None

    kv, weights = value(_KV_BYTES, min), value(_WEIGHTS, max)
    load = value(_MODEL_SECONDS, max, 2)
    return Measured(
        kv_cache_tokens=_whole(value(_TOKENS, min)),
        max_concurrency=value(_CONCURRENCY, min, 2),
        max_model_len=_whole(value(_CONCURRENCY, max, 1) or value(_MODEL_LEN, max)),
        kv_cache_bytes=None if kv is None else round(kv * GIB),
        weights_bytes=None if weights is None else round(weights * GIB),
        load_seconds=load if load is not None else value(_LOAD_SECONDS, max),
        graph_capture_seconds=value(_GRAPH_SECONDS, max),
        startup_seconds=(_elapsed(lines) or value(_INIT_SECONDS, max)) if serving else None)


def _number(found: re.Match[str], group: int | None) -> float | None:
    texts = [found[group]] if group else [text for text in found.groups() if text]
    try:
        return float(texts[0].replace(",", ""))
    except (ValueError, IndexError):
        return None


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _elapsed(lines: Sequence[Line]) -> float | None:
    """Seconds between the first and the last line with a time; a start takes less than a day."""
    stamps = [line.second for line in lines if line.second is not None]
    return float((stamps[-1] - stamps[0]) % 86400) if len(stamps) > 1 else None
