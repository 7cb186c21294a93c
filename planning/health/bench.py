"""The figures of one `vllm bench throughput`, from its output."""
from __future__ import annotations

import re
from collections.abc import Mapping

# vllm/benchmarks/throughput.py: "Throughput: 1.23 requests/s, 456.78 total tokens/s, 123.45 output tokens/s", and two totals.
_RATES = re.compile(r"Throughput: ([\d.]+) requests/s, ([\d.]+) total tokens/s, ([\d.]+) output tokens/s")
_TOTALS = {"prompt_tokens": re.compile(r"Total num prompt tokens:\s+(\d+)"), "output_tokens": re.compile(r"Total num output tokens:\s+(\d+)")}


def read_bench(text: str) -> Mapping[str, float] | None:
    """requests_per_second, total_tokens_per_second, output_tokens_per_second, and the totals where they are told. None: no result in it."""
    rates = _RATES.findall(text)
    if not rates:
        return None
    names = ("requests_per_second", "total_tokens_per_second", "output_tokens_per_second")
    totals = {name: pattern.findall(text) for name, pattern in _TOTALS.items()}
    return {**dict(zip(names, map(float, rates[-1]))), **{name: int(found[-1]) for name, found in totals.items() if found}}
