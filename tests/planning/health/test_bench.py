"""Figures of `vllm bench throughput`."""
from __future__ import annotations

from planning.health import read_bench

PRINTED = """Processed prompts: 100%|██████████| 64/64 [00:41<00:00,  1.55it/s]
Throughput: 1.53 requests/s, 391.20 total tokens/s, 195.60 output tokens/s
Total num prompt tokens:  8192
Total num output tokens:  8192
"""


def test_figures():
    assert read_bench(PRINTED) == {"requests_per_second": 1.53, "total_tokens_per_second": 391.2, "output_tokens_per_second": 195.6,
                                   "prompt_tokens": 8192, "output_tokens": 8192}


def test_the_last_result_counts_and_no_result_is_none():
    assert read_bench(PRINTED + "Throughput: 2.00 requests/s, 4.00 total tokens/s, 3.00 output tokens/s\n")["requests_per_second"] == 2.0
    assert read_bench("INFO loading weights") is None
