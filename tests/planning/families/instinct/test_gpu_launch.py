"""The container of an Instinct endpoint: least rights, numeric groups, its own GPUs, every setting with its source."""
from __future__ import annotations

from dataclasses import replace

from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import codes, flags, llama, made_up, plan, warnings

SMALL = made_up(16, "Qwen/Qwen3-8B")


def test_rights_and_groups():
    launch = plan(SMALL).launch
    assert (launch.cap_add, launch.security_opt, launch.ipc, launch.network) == (("SYS_PTRACE",), ("seccomp=unconfined",), "host", "bridge")
    assert launch.group_add == ("109", "44"), "numbers, as names differ between host and image"
    assert "groups-unknown" in warnings(plan(SMALL, machines.host(kfd_gid=None, render_gids=())))


def test_rootless_podman_keeps_the_users_groups():
    host = machines.host()
    host = replace(host, podman=replace(host.docker, rootless=True))
    assert plan(SMALL, host, runtime="podman").launch.group_add == ("keep-groups",)
    assert "rootless-groups" in warnings(plan(SMALL, replace(host, docker=replace(host.docker, rootless=True))))


def test_every_setting_has_a_source():
    launch = plan(SMALL, extraArgs=["--max-log-len", "100"], env={"NCCL_DEBUG": "INFO"}, maxNumSeqs=64).launch
    options = {word.split("=")[0] for word in launch.command if word.startswith("--")}
    assert options | set(launch.environment) <= set(launch.flags_from)
    assert launch.flags_from["--max-num-seqs"] == "configuration" and launch.flags_from["--max-log-len"] == "extraArgs"
    assert launch.flags_from["NCCL_DEBUG"] == "configuration" and launch.flags_from["--tool-call-parser"] == "recipe Qwen/Qwen3-8B, tool_calling"


def test_keys_win_over_recipes():
    dots = made_up(16, "dots-studio/dots3-note-prev-fp8")
    found = flags(plan(dots, acceptUnverified=True, maxNumBatchedTokens=4096, blockSize=32))
    assert (found["--max-num-batched-tokens"], found["--block-size"]) == ("4096", "32")
    assert found["--served-model-name"] == "dots-studio/dots3-note-prev-fp8"


def test_extra_args_may_change_a_recipe_but_not_the_plan():
    scout = made_up(16, "meta-llama/Llama-4-Scout-17B-16E-Instruct")
    assert flags(plan(scout, extraArgs=["--enable-prefix-caching"]))["--enable-prefix-caching"] is True
    assert "bad-value" in codes(plan(SMALL, extraArgs=["--port", "9"])) and "bad-value" in codes(plan(SMALL, extraArgs=["--tensor-parallel-size", "2"]))


def test_visible_devices_are_the_plans():
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        for value in ("", "0"):
            assert "bad-value" in codes(plan(SMALL, env={name: value}))


def test_the_users_env_wins_over_recipes_but_not_over_what_a_gfx_must_have():
    assert plan(SMALL, env={"VLLM_ROCM_USE_AITER": "0"}).launch.environment["VLLM_ROCM_USE_AITER"] == "0"
    assert "bad-value" in codes(plan(SMALL, env={"VLLM_ROCM_USE_AITER_FP4BMM": "1"}))
    assert plan(SMALL, machines.host("mi355x"), env={"VLLM_ROCM_USE_AITER_FP4BMM": "0"}).verdict == "fits"


def test_the_commit_is_pinned():
    found = flags(plan(SMALL))
    assert found["--revision"] == found["--tokenizer-revision"] == "a" * 40 and "--code-revision" not in found


def test_entrypoint_and_addresses():
    launch = plan(SMALL, servedModelName="qwen", port=9000).launch
    assert launch.entrypoint == ("vllm", "serve") and launch.command[0] == "Qwen/Qwen3-8B"
    assert flags(plan(SMALL, servedModelName="qwen"))["--served-model-name"] == "qwen"
    assert (launch.port, launch.bind_address) == (9000, "192.0.2.10") and launch.labels["amd-vllm.gpus"] == "0"


def test_a_directory_on_the_host_is_served_from_there():
    model = replace(made_up(16, "/models/mine", config=llama()), revision=None)
    launch = plan(model).launch
    assert launch.command[0] == "/models/mine" and "--revision" not in launch.command
    assert any(mount.source == mount.target == "/models/mine" and mount.read_only for mount in launch.mounts)


def test_a_chat_template_of_the_users_replaces_the_recipes():
    r1 = made_up(16, "deepseek-ai/DeepSeek-R1")
    assert flags(plan(r1))["--chat-template"] == "/app/vllm/examples/tool_chat_template_deepseekr1.jinja"
    assert flags(plan(r1, chatTemplate="~/t.jinja"))["--chat-template"] == "/home/ops/t.jinja"


def test_bench_runs_once():
    launch = plan(SMALL, mode="bench").launch
    assert launch.entrypoint == ("vllm", "bench", "throughput") and launch.restart == "no"
    assert "--port" not in launch.command and "--tool-call-parser" not in launch.command and "--num-prompts" in launch.command


def test_settings_that_were_left_out_are_said():
    nemotron = made_up(60, "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    assert any("nano_v3_reasoning_parser.py" in w.message for w in plan(nemotron).warnings)
    assert "option-left-out" not in warnings(plan(SMALL))
