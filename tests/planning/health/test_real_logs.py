"""The logs of the real vLLM 0.25.1 (excerpts in logs/, names as in shared/real-vllm): each failing one has its cause, no good one has."""
from __future__ import annotations

from pathlib import Path

import pytest

from planning.health import LogReport, read_log

LOGS = Path(__file__).parent / "logs"
CAUSES = {
    "bad-arch": ("architecture-unsupported", "start", "foo"),
    "bad-block": ("bad-flag", "kv-cache", "block size of 10"),
    "bad-flag": ("bad-flag", None, "--no-such-flag 3"),
    "device-flag": ("bad-flag", "start", "--device cpu"),
    "freezing-alone": ("compile-failed", "compile", "VLLM_USE_AOT_COMPILE=0"),
    "gated-no-license": ("gated", "start", "has not accepted its licence"),
    "gated-no-token": ("gated", "start", "no valid token"),
    "gptq-missing": ("quantization-unsupported", "start", "gptq"),
    "kv-too-big": ("out-of-memory", "compile", "100.0 GiB does not fit"),
    "kv-too-small": ("kv-space", "kv-cache", "maxModelLen: 8192"),
    "len-too-long": ("context-too-long", "start", "maxModelLen: 4096"),
    "mla": ("architecture-unsupported", "load", "kind: instinct"),
    "no-weights": ("no-weights", "load", "/models/noweights"),
    "not-on-hub": ("not-found", "start", "spelling"),
    "not-on-hub-offline": ("not-cached", "start", "hfCache"),
    "oom": ("out-of-memory", "compile", "0.66 of 2.15 GiB"),
    "port-taken": ("port-taken", "start", "ss -ltnp"),
    "remote-code": ("needs-consent", "start", "trustRemoteCode: true"),
    "tools": ("bad-flag", None, "--tool-call-parser"),
}
TOKENS = {"api-key": 2_097_152, "bind-missing-cpu": 2_097_152, "container-ok": 2_097_152, "float16": 2_097_152, "fp8-kv": 4_194_304,
          "freezing-together": 2_097_152, "no-sys-nice": 2_097_152, "nochat": 2_097_152, "ok": 2_097_152, "tp2": 4_194_304, "bert": None}


def report(name: str) -> LogReport:
    return read_log((LOGS / f"{name}.log").read_text(encoding="utf-8"))


def test_every_log_is_judged() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == set(CAUSES) | set(TOKENS)


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_failing_log_has_its_cause(name: str) -> None:
    code, phase, says = CAUSES[name]
    found = report(name)
    assert found.cause is not None and found.cause.code == code
    assert found.phase == phase
    assert says in found.cause.text()
    assert "Engine core initialization failed" not in found.cause.found and "{" not in found.cause.what + found.cause.needed + found.cause.do


@pytest.mark.parametrize("name", sorted(TOKENS))
def test_good_log_has_none_and_is_measured(name: str) -> None:
    found = report(name)
    assert found.cause is None and found.phase == "serving"
    assert found.zentorch_active is False and found.platform == "cpu"
    assert found.measured.kv_cache_tokens == TOKENS[name]
    if TOKENS[name]:
        assert found.measured.max_concurrency == TOKENS[name] / 2048 and found.measured.max_model_len == 2048
        assert found.measured.kv_cache_bytes == 1 << 30
        assert found.measured.startup_seconds is not None and 30 <= found.measured.startup_seconds <= 130


def test_engine_killed_while_serving_is_known_and_a_normal_stop_is_not() -> None:
    died = report("ok").died
    assert died is not None and died.code == "engine-died"
    assert report("float16").died is None and report("tp2").died is None


def test_memory_that_is_not_bound_is_a_warning() -> None:
    codes = {warning.code for warning in report("no-sys-nice").warnings}
    assert {"memory-not-bound", "pages-not-migrated"} <= codes
    bound = {warning.code for warning in report("container-ok").warnings}
    assert "pages-not-migrated" in bound and "memory-not-bound" not in bound
    assert "block-size" in {warning.code for warning in report("bad-block").warnings}
