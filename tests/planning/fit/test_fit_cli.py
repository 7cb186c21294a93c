"""`python -m planning capacity`: exit status, document of the contract, text; answers from cold in under 0.6 s."""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import pytest

from planning.errors import PlanningError
from planning.fit.cli import add_parser, run
from tests.planning.fit.recorded import MODELS

FIELDS = ["weights_bytes_per_rank", "kv_cache_num_blocks", "kv_cache_tokens", "max_concurrency", "block_size", "kv_bytes_per_token_per_rank",
          "max_model_len", "max_num_batched_tokens", "vllm_version", "refusals", "warnings"]


def called(*words):
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return run(parser.parse_args(["capacity", *map(str, words)]))


def test_the_document_is_that_of_the_contract():
    status, document, text = called(MODELS / "Qwen__Qwen3-8B", "--kv-cache-gib", 40, "--max-model-len", 4096)
    assert (status, list(document)) == (0, FIELDS)
    assert json.loads(json.dumps(document))["kv_cache_tokens"] == 291_200
    assert "291,200 tokens, 71 requests of 4,096" in text


def test_a_request_that_does_not_fit_is_refused_with_its_numbers():
    status, document, text = called(MODELS / "Qwen__Qwen3-0.6B", "--kv-cache-gib", 4, "--max-model-len", 40960)
    assert (status, document["refusals"][0]["code"], document["kv_cache_num_blocks"]) == (1, "memory", 292)
    assert document["refusals"][0]["needed"] == "4.38 GiB" and "37376" in document["refusals"][0]["do"]
    assert "refused" in text


def test_what_cannot_be_judged_is_null():
    status, document, _ = called(MODELS / "deepseek-ai__DeepSeek-V4-Flash", "--kv-cache-gib", 4, "--max-model-len", 4096)
    assert status == 1 and document["kv_cache_num_blocks"] is None and document["refusals"]


@pytest.mark.parametrize("text", [None, "{", "[1]", "\xff"])
def test_unreadable_input_is_told(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(PlanningError, match="config.json"):
        called(tmp_path, "--kv-cache-gib", 1)


@pytest.mark.parametrize("words", [["--kv-cache-gib", "0"], ["--kv-cache-gib", "lots"], ["--kv-cache-gib", "1", "--max-model-len", "-4"],
                                   ["--kv-cache-gib", "1", "--device", "tpu"], []])
def test_bad_usage_ends_with_status_2(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        called(MODELS / "Qwen__Qwen3-8B", *words)
    assert stopped.value.code == 2


def test_it_answers_from_cold_in_well_under_a_second():
    code = ("import argparse; from planning.fit.cli import add_parser, run; p = argparse.ArgumentParser(); add_parser(p.add_subparsers()); "
            f"run(p.parse_args(['capacity', {str(MODELS / 'Qwen__Qwen3.5-9B')!r}, '--kv-cache-gib', '4']))\n"
            "import sys; bad = {'pydantic', 'huggingface_hub', 'pulumi'} & set(sys.modules); assert not bad, bad")
    best = min(_seconds(code) for _ in range(3))
    assert best < 0.6


def _seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=MODELS.parents[1])
    return time.perf_counter() - start
