"""Cases that no log of this machine shows: GPUs, signals, restarts, secrets, texts of public reports."""
from __future__ import annotations

import pytest

from planning.health import read_log

BANNER = "(APIServer pid=1) INFO 11-30 10:00:00 [api_utils.py:339]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.25.1\n"
CAPTURE = "Capturing CUDA graphs (decode, FULL):  35%|███▌      | 12/35 [00:05<00:09]\n"
HIP_OOM = "(EngineCore pid=9) ERROR 11-30 10:01:00 [core.py:1231] torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0\n"
LAST = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"


@pytest.mark.parametrize(("text", "code"), [
    (CAPTURE + HIP_OOM + LAST, "graph-capture-oom"),
    (HIP_OOM + LAST, "out-of-memory"),
    ("RuntimeError: HIP error: no kernel image is available for execution on the device", "no-kernel-image"),
    ("Unable to open /dev/kfd read-write: Permission denied", "kfd-permission"),
    ("RuntimeError: No HIP GPUs are available", "no-gpu"),
    ("ModuleNotFoundError: No module named 'amdsmi'", "no-platform"),
    ("RuntimeError: Failed to infer device type, please set", "no-platform"),
    ("Illegal instruction (core dumped)", "illegal-instruction"),
    ("!!!!!!! Segfault encountered !!!!!!!", "segfault"),
    ("Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f", "gpu-fault"),
    (LAST.replace("{}", "{'EngineCore_DP0': -9}"), "out-of-memory"),
    (LAST.replace("{}", "{'EngineCore_DP0': -4}"), "illegal-instruction"),
    (LAST.replace("{}", "{'EngineCore_DP0': -11}"), "segfault"),
    (LAST, "engine-failed"),
    ("ValueError: Free memory on device cuda:0 (1.33/23.98 GiB) on startup is less than desired GPU memory utilization (0.92, 22 GiB).", "gpu-memory-taken"),
    ("ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported architectures: dict_keys([", "architecture-unsupported"),
    ("OSError: [Errno 28] No space left on device", "disk-full"),
    ("ValueError: Total number of attention heads (14) must be divisible by tensor parallel size (4).", "bad-flag"),
    ("exec /usr/bin/vllm: exec format error", "wrong-platform-image"),
    ("RuntimeError: unable to write to file: insufficient shared memory (shm)", "shm-too-small"),
    ("pydantic_core.ValidationError: 1 validation error\n  Value error, these two do not go together [type=value_error]", "bad-config"),
    ("TimeoutError: RPC call to sample_tokens timed out.", "hung"),
    ("huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested "
     "files in the local cache.", "hub-unreachable"),
    ("HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://hub.invalid/api/models/m", "hub-unreachable"),
    ("PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface/hub/models--m'", "cache-permission"),
    ("safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered", "weights-broken"),
    ("OSError: /models/m does not appear to have a file named config.json. Checkout 'main' for available files.", "no-config"),
    ("OSError: Can't load tokenizer for '/models/m'. If you were trying to load it from the Hub, make sure you don't have a local directory", "no-tokenizer"),
    ("ValueError: The supplied chat template (/templates/none.jinja) looks like a file path, but it failed to be opened.", "chat-template-missing"),
    ("ValueError: The model type 'gemma2' does not support float16. Reason: Numerical instability. Please use bfloat16 or float32 instead.",
     "dtype-unsupported"),
    ("OSError: [Errno 99] Cannot assign requested address", "no-address"),
    ("RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)", "rccl-failed"),
    ("RuntimeError: sched_setaffinity failed. errno: 22", "binding-failed"),
    ("OSError: [Errno 24] Too many open files", "too-many-files"),
    ("RuntimeError: can't start new thread", "too-many-threads"),
])
def test_cause(text: str, code: str) -> None:
    cause = read_log(BANNER + text).cause
    assert cause is not None and cause.code == code


def test_graph_capture_names_the_key() -> None:
    cause = read_log(CAPTURE + HIP_OOM).cause
    assert cause is not None and "enforceEager: true" in cause.do


def test_unknown_reason_shows_the_first_exception() -> None:
    text = "(Worker pid=3) ERROR 11-30 10:01:00 [multiproc_executor.py:898] KeyError: 'layers.0.mystery'\n" + LAST
    cause = read_log(text).cause
    assert cause is not None and cause.code == "engine-failed" and cause.found == "KeyError: 'layers.0.mystery'"


def test_what_users_say_in_info_lines_or_after_the_start_is_no_cause() -> None:
    ready = BANNER + "(APIServer pid=1) INFO:     Application startup complete.\n"
    report = read_log("INFO 11-30 10:00:00 [x.py:1] prompt: 'HIP out of memory'\n" + ready + "ValueError: HIP out of memory\n")
    assert report.cause is None and report.died is None and report.phase == "serving"


def test_engine_that_runs_out_of_memory_while_serving() -> None:
    ready = BANNER + "INFO:     Application startup complete.\n"
    report = read_log(ready + HIP_OOM + "ERROR 11-30 10:02:00 [async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: x\n")
    assert report.cause is None and report.died is not None and report.died.code == "out-of-memory"


def test_of_several_starts_the_last_counts() -> None:
    failed, good = BANNER + "OSError: [Errno 98] Address already in use\n", BANNER + "INFO:     Application startup complete.\n"
    assert read_log(failed + good).cause is None
    again = read_log(good + failed)
    assert again.cause is not None and again.cause.code == "port-taken"
    loading = read_log(failed + BANNER + "INFO 11-30 10:00:01 [m.py:1] Starting to load model x\n")
    assert loading.phase == "load" and loading.cause is not None and loading.cause.code == "port-taken"
    assert loading.failed_phase == "start", "the phase belongs to the start that failed"


def test_gpu_wordings_and_several_ranks() -> None:
    report = read_log(BANNER + """INFO 11-30 10:00:01 [core.py:114] Initializing a V1 LLM engine (v0.22.0) with config: model='m', device_config=cuda, x
INFO 11-30 10:00:02 [rocm.py:250] Using AITER
(Worker_TP0 pid=5) INFO 11-30 10:00:30 [default_loader.py:268] Loading weights took 21.40 seconds
(Worker_TP0 pid=5) INFO 11-30 10:00:31 [gpu_model_runner.py:5307] Model loading took 14.99 GiB memory and 25.500000 seconds
(Worker_TP1 pid=6) INFO 11-30 10:00:31 [gpu_model_runner.py:5307] Model loading took 15.00 GiB memory and 26.250000 seconds
(Worker_TP0 pid=5) INFO 11-30 10:00:50 [gpu_worker.py:539] Available KV cache memory: 145.80 GiB
(Worker_TP1 pid=6) INFO 11-30 10:00:50 [gpu_worker.py:539] Available KV cache memory: 145.90 GiB
(EngineCore pid=4) INFO 11-30 10:00:51 [kv_cache_utils.py:2146] GPU KV cache size: 1,194,384 tokens
(EngineCore pid=4) INFO 11-30 10:00:51 [kv_cache_utils.py:2147] Maximum concurrency for 8,192 tokens per request: 145.80x
(Worker_TP0 pid=5) INFO 11-30 10:01:10 [gpu_model_runner.py:6708] Graph capturing finished in 18 secs, took 0.85 GiB
INFO 11-30 10:01:11 [core.py:344] init engine (profile, create kv cache, warmup model) took 40.25 s
""")
    m = report.measured
    assert (m.kv_cache_tokens, m.max_concurrency, m.max_model_len) == (1_194_384, 145.8, 8192)
    assert m.weights_bytes == 15 << 30 and m.kv_cache_bytes == round(145.8 * (1 << 30))
    assert (m.load_seconds, m.graph_capture_seconds, m.startup_seconds) == (26.25, 18.0, None)
    assert report.platform == "rocm" and report.phase == "warm-up" and report.cause is None


def test_kernels_that_aiter_builds_are_compilation() -> None:
    report = read_log(BANNER + "(Worker_TP0 pid=5) [aiter] start build [module_rmsnorm] under /usr/local/lib/python3.12/dist-packages/aiter/jit/build\n")
    assert report.phase == "compile" and report.cause is None


def test_zentorch_by_its_proving_line() -> None:
    proof = "INFO 11-30 10:00:00 [__init__.py:193] AMD Zen CPU detected with zentorch installed, using ZenCpuPlatform.\n"
    assert read_log(proof + BANNER).zentorch_active is True and read_log(proof).platform == "zen"
    assert read_log("DEBUG 11-30 10:00:00 [i.py:1] AMD Zen CPU detected but zentorch not installed, falling back to CpuPlatform.").zentorch_active is False
    assert read_log("INFO 11-30 10:00:00 [core.py:1] device_config=cpu").zentorch_active is None     # the beginning is missing
    assert read_log("").zentorch_active is None


def test_tail_is_short_masked_and_clean() -> None:
    text = "\n".join(f"line {i}" for i in range(100)) + "\n\x1b[31mred\x1b[0m\x07 \u202eevil\n"
    text += "HF_TOKEN=hf_abcdefghijklmnop Authorization: Bearer s3cr3t-value api_key='topsecret' --api-key plainsecret https://u:pw123@host/x?token=abcdef\n"
    report = read_log(text)
    assert len(report.tail) == 50 and report.tail[0] == "line 52"
    assert report.tail[-2] == "red   evil"
    assert not any(secret in "\n".join(report.tail) for secret in ("abcdefghij", "s3cr3t", "topsecret", "plainsecret", "pw123", "abcdef"))


def test_progress_bars_take_one_line() -> None:
    bars = "".join(f"Loading safetensors checkpoint shards: {i}% Completed | {i}/99 [00:01<00:02]\r" for i in range(99))
    report = read_log("before\n" + bars + "\nafter\n")
    assert report.phase == "load" and len(report.tail) == 3 and "98%" in report.tail[1]
