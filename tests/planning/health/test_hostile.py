"""Whatever a container or a host writes: no crash, and little time. Measured as process time; the bound holds room for a slow machine."""
from __future__ import annotations

import time

import pytest

from planning.health import judge_failure, judge_generation, judge_models, judge_state, read_log

SECOND = 1.0
TEXTS = {
    "long line": "a" * 10_000_000, "newlines": "\n" * 10_000_000, "short lines": "x\n" * 5_000_000, "carriage returns": "a\r" * 5_000_000,
    "open escapes": "\x1b]" * 5_000_000, "half escapes": ("\x1b]" + "a" * 999) * 8000, "nul": "\0" * 10_000_000, "surrogates": "\ud800" * 1_000_000,
    "binary": bytes(range(256)).decode("latin-1") * 20_000, "blanks": " " * 10_000_000, "speaker": "(APIServer pid=" * 700_000, "level": "ERROR " * 2_000_000,
    "causes": "HIP out of memory\n" * 600_000, "info": "INFO 11-30 16:26:58 [x.py:1] Failed core proc(s) Value error, \n" * 150_000,
    "authorization": ("Authorization: " * 130 + "\n") * 6000, "keys": ("api_key= ' " * 180 + "\n") * 6000, "quotes": ("secret ' " * 220 + "\n") * 6000,
    "urls": ("://a:" * 380 + "\n") * 6000, "values": ("Value error, " * 150 + "\n") * 6000, "procs": ("Failed core proc(s): " * 90 + "\n") * 6000,
    "seq": ("To serve at least one request with the model's max seq len (1), (1 GiB KV cache is needed " * 20 + "\n") * 6000,
    "sizes": ("KV cache size: " + "1," * 900 + "\n") * 6000, "logo": ("█ " * 900 + "\n") * 6000, "bars": ("50%|" * 400 + "\n") * 6000,
    "banners": "█  version 1\n" * 9000, "arguments": ("error: argument " * 120 + "\n") * 6000,
    "lengths": ("max_model_len (1" * 100 + " is greater than the derived max_model_len\n") * 6000,
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_bounded(name: str) -> None:
    text = TEXTS[name]
    begin = time.process_time()
    report = read_log(text)
    assert time.process_time() - begin < SECOND
    assert len(report.tail) <= 50 and all(line.isprintable() and len(line) <= 2500 for line in report.tail)


@pytest.mark.parametrize("value", [None, "", "x" * 100_000, "\x1b[2J", 1, 1.5, [], {}, [None], {"error": []}, {"data": [1, {"id": None}]}, "[" * 200_000,
                                   {"choices": [[]]}, {"choices": [{"message": {"content": {}}}]}, b"\xff\xfe", {"State": {"Status": []}}, float("nan")])
def test_no_value_crashes_a_judge(value: object) -> None:
    for status in (None, 0, 200, 302, 400, 404, 500, 503, 999):
        assert judge_models(status, value, "m") is not None
        refusal = judge_generation(status, value, "/v1/chat/completions")
        assert refusal is not None and len(refusal.found) < 1000 and refusal.found.isprintable()
    for key in ("Status", "ExitCode", "OOMKilled", "Error", "RestartCount", "Running"):
        judge_state({key: value})
        assert judge_failure({"Status": "running", key: value}, read_log("")).do
