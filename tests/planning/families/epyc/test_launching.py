"""The launch of an EPYC endpoint: arguments, variables, mounts, limits; what is never set; what the user may not add."""
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planning.catalog import load_json, load_toml
from planning.detect.facts import Runtime
from planning.resolve import ChatTemplate
from planning.units import GIB
from tests.planning.paper import COMMIT, MODEL, codes, host, model, plan_one, warned


def test_zentorch_image_gets_the_whole_command():
    launch = plan_one("genoa-dual").launch
    assert launch.entrypoint is None
    assert launch.command == ("vllm", "serve", MODEL, "--dtype", "bfloat16", "--max-model-len", "4096", "--revision", COMMIT, "--tokenizer-revision", COMMIT,
                              "--host", "192.0.2.10", "--port", "8000")
    assert launch.environment == {"VLLM_CPU_OMP_THREADS_BIND": "0-95", "VLLM_CPU_KVCACHE_SPACE": "307"}
    assert (launch.ipc, launch.shm_bytes, launch.network, launch.cap_add) == ("host", None, "host", ("SYS_NICE",))
    assert launch.security_opt == ("no-new-privileges", "seccomp=seccomp-vllm.json")
    assert launch.container_name == "vllm-dev-chat" and launch.restart == "unless-stopped" and launch.log_options == {"max-size": "50m", "max-file": "3"}
    assert [(m.source, m.target, m.read_only) for m in launch.mounts] == [("/home/ops/.cache/huggingface", "/root/.cache/huggingface", False)]


def test_stock_image_serves_by_its_entrypoint_and_is_pinned():
    launch = plan_one("milan-dual", acceptStockVllm=True).launch
    assert launch.image == "vllm/vllm-openai-cpu:v0.25.1-x86_64" and launch.entrypoint is None and launch.command[0] == MODEL


def test_image_of_the_users_own_gets_an_entrypoint():
    launch = plan_one("milan-dual", backend="stock", image="mine/vllm:v0.25.1").launch
    assert launch.entrypoint == ("vllm", "serve") and launch.command[0] == MODEL


@pytest.mark.parametrize("keys", [{}, {"throughputFlags": True}, {"extraArgs": ["--disable-log-requests"]}, {"tensorParallelSize": 2}])
def test_never_set(keys):
    launch = plan_one("genoa-dual", **keys).launch
    assert not {"OMP_NUM_THREADS", "VLLM_CPU_NUM_OF_RESERVED_CPU", "HF_TOKEN"} & set(launch.environment)
    assert "--device" not in launch.command and "latest" not in launch.image


def test_throughput_flags_together_or_not_at_all():
    flags = load_toml("epyc.toml")["throughput"]
    assert set(flags) == {"TORCHINDUCTOR_FREEZING", "VLLM_USE_AOT_COMPILE", "ZENTORCH_WEIGHT_PREPACK"}
    assert flags.items() <= plan_one("genoa-dual", throughputFlags=True).launch.environment.items()
    assert not set(flags) & set(plan_one("genoa-dual").launch.environment)
    assert codes(plan_one("genoa-dual", env={"TORCHINDUCTOR_FREEZING": "1"})) == ["bad-value"]
    assert codes(plan_one("genoa-dual", env=flags)) == []


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "VLLM_CPU_NUM_OF_RESERVED_CPU", "VLLM_CPU_OMP_THREADS_BIND", "VLLM_CPU_KVCACHE_SPACE"])
def test_variables_that_are_refused(variable):
    plan = plan_one("genoa-dual", env={variable: "12345"})
    assert codes(plan) == ["bad-value"] and "12345" not in plan.refusals[0].text()


@pytest.mark.parametrize("variable", ["VLLM_ZENTORCH_WEIGHT_PREPACK", "VLLM_CPU_SGL_KERNEL"])
def test_variables_that_are_left_alone_and_may_be_set(variable):
    plan = plan_one("genoa-dual", env={variable: "0"})
    assert variable not in plan_one("genoa-dual").launch.environment and plan.launch.environment[variable] == "0" and "unknown-variable" not in warned(plan)


def test_unknown_variable_is_a_warning():
    assert "unknown-variable" in warned(plan_one("genoa-dual", env={"VLM_LOGGING_LEVEL": "DEBUG"}))
    assert "unknown-variable" not in warned(plan_one("genoa-dual", env={"VLLM_LOGGING_LEVEL": "DEBUG"}))


@pytest.mark.parametrize("words", [
    ["--max-model-len", "8192"], ["--max_model_len=8192"], ["--port=1"], ["-tp", "2"], ["--dtype", "float32"], ["--model", "x/y"], ["--api-k", "secret"],
    ["--device", "cpu"], ["--pipeline-parallel-size", "2"], ["-dp=2"], ["--data-parallel-size", "2"], ["--enable-auto-tool-choice"], ["other/model"],
    ["--revision", "main"], ["--max-model", "9"], ["--kv-cache-memory-bytes", "5"]])
def test_extra_arguments_that_conflict(words):
    plan = plan_one("genoa-dual", extraArgs=words)
    assert codes(plan) == ["bad-value"] and "secret" not in plan.refusals[0].text()


@pytest.mark.parametrize("words", [["--enable-auto-tool-choice", "--tool-call-parser", "hermes"], ["--pipeline-parallel-size", "1"],
                                   ["--no-enable-prefix-caching"], ["--enforce-eager"], ["--tokenizer", "x/y"], ["--hf-overrides", '{"a": -1}']])
def test_extra_arguments_that_pass(words):
    plan = plan_one("genoa-dual", extraArgs=words)
    assert plan.verdict == "fits" and plan.launch.command[-len(words):] == tuple(words)
    assert plan.launch.flags_from[words[0].replace("--no-", "--")] == "extraArgs"


@pytest.mark.parametrize("size, refused", [(10, ["bad-value"]), (16, ["bad-value"]), (32, []), (128, [])])
def test_block_size_is_a_multiple_of_32(size, refused):
    assert codes(plan_one("genoa-dual", blockSize=size)) == refused


def test_keys_become_options():
    command = plan_one("genoa-dual", maxNumSeqs=16, maxNumBatchedTokens=4096, blockSize=64, servedModelName="small", maxModelLen=2048).launch.command
    for option, value in {"--max-num-seqs": "16", "--max-num-batched-tokens": "4096", "--block-size": "64", "--served-model-name": "small",
                          "--max-model-len": "2048"}.items():
        assert command[command.index(option) + 1] == value


def test_code_revision_is_pinned_where_code_is_loaded():
    manifest = replace(model(), has_remote_code=True)
    assert "--code-revision" in plan_one("genoa-dual", manifest=manifest, trustRemoteCode=True).launch.command
    assert "--code-revision" not in plan_one("genoa-dual").launch.command


def test_local_model_is_mounted_and_not_pinned():
    launch = plan_one("genoa-dual", model="/data/models/tiny").launch
    assert launch.command[2] == "/data/models/tiny" and "--revision" not in launch.command
    assert any(m.source == m.target == "/data/models/tiny" and m.read_only for m in launch.mounts)


def test_gated_model_reads_its_token_from_a_file():
    launch = plan_one("genoa-dual", manifest=replace(model(), gated=True)).launch
    assert launch.environment["HF_TOKEN_PATH"] == "/run/secrets/hf_token" and "HF_TOKEN" not in launch.environment


def test_memory_limit_leaves_room_for_the_page_cache_and_is_below_the_host():
    plan = plan_one("genoa-dual")
    limit = plan.launch.memory_bytes
    assert limit % GIB == 0 and plan.memory.required_bytes + plan.memory.weights_bytes_per_rank <= limit < 2 * 768 * GIB
    assert plan_one("small").launch.memory_bytes is None


def test_labels():
    labels = plan_one("genoa-dual", cores=4).launch.labels
    assert {key.removeprefix("amd-vllm."): value for key, value in labels.items() if key != "amd-vllm.plan"} == {
        "stack": "dev", "endpoint": "chat", "family": "epyc", "cpus": "0-3", "port": "8000", "node": "0", "revision": COMMIT, "generation": "0",
        "memory-bytes": str(plan_one("genoa-dual", cores=4).memory.required_bytes - 16 * GIB)}
    assert labels["amd-vllm.plan"] != plan_one("genoa-dual", cores=5).launch.labels["amd-vllm.plan"]


def test_podman_keeps_its_own_seccomp_profile():
    facts = host("synthetic-genoa-dual")[0]
    podman = replace(facts, docker=Runtime(False, "missing"), podman=Runtime(True, rootless=True, cgroup_version=2, controllers=("memory", "pids")))
    plan = plan_one("genoa-dual", facts=podman)
    assert (plan.launch.runtime, plan.launch.security_opt) == ("podman", ("no-new-privileges",)) and "cpuset-dropped" in warned(plan)


@pytest.mark.parametrize("tools, prefix, note", [
    (("numactl", "taskset"), ("numactl", "--physcpubind=0-95", "--membind=0"), None), (("taskset",), ("taskset", "-c", "0-95"), "by taskset"),
    ((), (), "nothing binds")])
def test_host_runtime_binds_with_what_is_there(tools, prefix, note):
    facts = replace(host("synthetic-genoa-dual")[0], tools=tools, libraries=("/x/libiomp5.so", "/y/libtcmalloc_minimal.so.4"))
    plan = plan_one("genoa-dual", facts=facts, runtime="host", pythonEnv="/opt/vllm")
    launch, notes = plan.launch, [warning.message for warning in plan.warnings if warning.code == "not-bound"]
    assert len(notes) == bool(note) and all(note in text for text in notes)
    assert launch.runtime == "host" and launch.entrypoint == (*prefix, "/opt/vllm/bin/python", "-m", "vllm.entrypoints.cli.main", "serve")
    assert launch.environment["LD_PRELOAD"] == "/y/libtcmalloc_minimal.so.4:/x/libiomp5.so" and launch.mounts == ()


def test_bench_mode_runs_once():
    launch = plan_one("milan-dual", backend="stock", mode="bench").launch
    assert launch.entrypoint == ("vllm", "bench", "throughput") and launch.restart == "no" and "--port" not in launch.command
    assert plan_one("genoa-dual", mode="bench").launch.command[:3] == ("vllm", "bench", "throughput")


def test_health_is_the_procedures():
    health = plan_one("genoa-dual", manifest=replace(model(), chat_template=ChatTemplate("present"))).health
    assert (health.deadline_seconds, health.path) == (360, "/v1/chat/completions")
    assert health.body == {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16, "temperature": 0}
    assert health.requires_log == "AMD Zen CPU detected with zentorch installed"
    assert plan_one("milan-dual", backend="stock").health.requires_log is None
    assert plan_one("genoa-dual", waitSeconds=1000).health.deadline_seconds == 1000


def test_model_without_a_template_is_completed():
    plan = plan_one("genoa-dual", manifest=replace(model(), chat_template=ChatTemplate("absent")))
    assert plan.health.path == "/v1/completions" and plan.health.body["prompt"] and "completions.create" in plan.handoff.python


def test_summary_has_every_row_of_the_confirmation_table():
    assert [row[0] for row in plan_one("genoa-dual").summary] == ["Model / kind", "Backend", "Path", "Precision", "Fit", "CPU", "Hardware", "Port"]


def test_seccomp_profile_is_dockers_and_one_rule():
    profile = load_json("seccomp-vllm.json")
    allowed = {name: rule for rule in profile["syscalls"] for name in rule["names"] if rule["action"] == "SCMP_ACT_ALLOW"}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO" and json.dumps(profile)
    for name in ("migrate_pages", "get_mempolicy", "set_mempolicy", "mbind"):
        assert allowed[name]["includes"] == {"caps": ["CAP_SYS_NICE"]}
    assert "kexec_load" not in allowed
