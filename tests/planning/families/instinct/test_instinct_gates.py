"""Gates of the Instinct family: model, GPUs, driver, runtime, image, consent. Every refusal names the next step."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.catalog import load_json
from planning.detect.facts import Runtime
from planning.families.instinct.recipe import records
from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import codes, flags, llama, made_up, plan, warnings

SMALL = made_up(16)


def refusal(found, code):
    return next(r for r in found.refusals if r.code == code)


@pytest.mark.parametrize("model", [name for row in load_json("blacklist.json")["categories"] for name in row["models"]])
def test_the_blacklist_is_refused_with_reason_and_alternative(model):
    said = refusal(plan(made_up(16, model)), "blacklisted")
    assert ": " in said.found and "model: " in said.do


def test_omni_recipes_are_no_llm_endpoints():
    omni = [record["model"] for record in records() if record.get("omni")]
    assert len(omni) >= 25
    assert all("blacklisted" in codes(plan(model)) for model in omni)


@pytest.mark.parametrize(("changes", "code", "words"), [
    ({"state": "none", "count": 0, "devices": ()}, "no-gpu", "kind: epyc"), ({"state": "no-driver", "devices": ()}, "no-gpu", "lsmod"),
    ({"state": "no-access"}, "no-access", "usermod -aG video,render ops"), ({"state": "unknown", "devices": (), "count": None}, "unknown-fact", "amd-smi")])
def test_no_card_no_driver_no_access_are_three_answers(changes, code, words):
    found = plan(SMALL, machines.host(**changes))
    assert found.verdict == "refused" and words in refusal(found, code).do


def test_no_access_names_the_groups_that_own_the_nodes():
    assert "109, 44" in refusal(plan(SMALL, machines.host(state="no-access")), "no-access").found


def test_a_gfx_without_data_needs_a_consent_and_one_without_kernels_is_refused():
    mi210 = machines.host("mi210")
    assert codes(plan(SMALL, mi210)) == ["gfx-unsupported"]
    assert [(c.key, c.given) for c in plan(SMALL, mi210).consents] == [("acceptUnverified", False)]
    assert plan(SMALL, mi210, acceptUnverified=True).verdict == "fits"
    mi100 = machines.host(devices=(machines.device("mi210", 0, 1, gfx="gfx908", market_name="AMD Instinct MI100", device_id="0x738c"),))
    assert codes(plan(SMALL, mi100, acceptUnverified=True)) == ["gfx-unsupported"]


def test_other_gpus_than_instinct_do_not_count():
    radeon = machines.device("mi300x", 0, 1, gfx="gfx1100", market_name="Radeon RX 7900 XTX", instinct=False)
    assert codes(plan(SMALL, machines.host(devices=(radeon,)))) == ["gfx-unsupported"]
    mixed = machines.host(devices=(radeon, machines.device("mi300x", 1, 2)))
    assert plan(SMALL, mixed).placement.gpus == (1,)


def test_unknown_gfx_and_unknown_vram_are_unknown_facts():
    for changes in ({"gfx": None}, {"vram_bytes": None}):
        host = machines.host(devices=(machines.device("mi300x", 0, 1, **changes),))
        assert codes(plan(SMALL, host)) == ["unknown-fact"]


def test_a_recipe_may_say_that_a_gpu_is_not_supported():
    found = plan(made_up(200, "deepseek-ai/DeepSeek-V4-Flash"))
    assert "gfx-unsupported" in codes(found) and "MI325X" in refusal(found, "gfx-unsupported").needed


def test_docker_only_unless_podman_is_asked_for():
    reachable = Runtime(reachable=True, rootless=True, is_podman=False)
    host = replace(machines.host(), docker=Runtime(reachable=False, reason="no-daemon"), podman=reachable)
    assert "no-runtime" in codes(plan(SMALL, host))
    assert plan(SMALL, host, runtime="podman").launch.runtime == "podman"
    assert "no-runtime" in codes(plan(SMALL, machines.host(), runtime="host", pythonEnv="/opt/venv"))


def test_docker_desktop_does_not_see_the_gpus():
    host = machines.host()
    assert codes(plan(SMALL, replace(host, docker=replace(host.docker, desktop=True)))) == ["no-runtime"]


def test_warnings_about_the_host():
    assert "rocm-old" in warnings(plan(SMALL, machines.host(rocm_version="6.1.0")))
    assert "rocm-old" in warnings(plan(SMALL, machines.host("mi355x", rocm_version="6.4.1")))
    assert "rocm-old" not in warnings(plan(SMALL, machines.host(rocm_version=None)))
    assert "numa-balancing" in warnings(plan(SMALL, machines.host(numa_balancing=True)))
    assert "numa-balancing" not in warnings(plan(SMALL, machines.host(numa_balancing=True), fixNumaBalancing=True))
    assert "shared-memory" in warnings(plan(SMALL, machines.host("mi300a", 4)))


def test_remote_code_needs_consent_only_where_there_is_code():
    model = made_up(16, "Qwen/Qwen3.5-9B")
    assert plan(model).verdict == "fits" and "--trust-remote-code" not in flags(plan(model))
    assert "--trust-remote-code" not in flags(plan(model, trustRemoteCode=True)), "a consent permits, it never selects"
    coded = replace(model, has_remote_code=True)
    found = plan(coded)
    assert codes(found) == ["needs-consent"] and "a" * 12 in found.consents[0].why, "the commit is shown"
    assert [s.set for s in found.suggestions] == [{"trustRemoteCode": True}]
    given = flags(plan(coded, trustRemoteCode=True))
    assert given["--trust-remote-code"] is True and given["--code-revision"] == given["--revision"] == "a" * 40


@pytest.mark.parametrize(("model", "keys", "image", "source", "version"), [
    ("org/model", {}, "vllm/vllm-openai-rocm:v0.31.0", "default", "0.31.0"),
    ("zai-org/GLM-4.5", {}, "vllm/vllm-openai-rocm:v0.15.1", "recipe", "0.15.1"),
    ("Qwen/Qwen3-VL-235B-A22B-Instruct", {}, "vllm/vllm-openai-rocm:v0.22.1", "recipe", "0.22.1"),
    ("zai-org/GLM-4.5", {"image": "me/vllm:v0.30.0"}, "me/vllm:v0.30.0", "user", "0.30.0"),
    ("moonshotai/Kimi-K2.5", {}, "vllm/vllm-openai-rocm:v0.31.0", "default", "0.31.0"),
    ("org/model", {"imageDigest": "sha256:" + "0" * 64}, "vllm/vllm-openai-rocm:v0.31.0@sha256:" + "0" * 64, "default", "0.31.0"),
])
def test_image_user_over_recipe_over_default(model, keys, image, source, version):
    found = plan(made_up(16, model), **keys)
    assert (found.engine.image, found.engine.image_from, found.engine.vllm_version) == (image, source, version)


def test_moving_tags_pin_nothing():
    assert "recipe-image" in warnings(plan(made_up(16, "moonshotai/Kimi-K2.5")))
    for image in ("vllm/vllm-openai-rocm", "vllm/vllm-openai-rocm:latest", "vllm/vllm-openai-rocm:nightly-abc"):
        assert "bad-value" in codes(plan(SMALL, image=image))
    assert plan(SMALL, image="vllm/vllm-openai-rocm:latest", imageDigest="sha256:" + "0" * 64).verdict == "fits"


def test_min_vllm_version():
    assert "vllm-too-old" in codes(plan(made_up(16, "Qwen/Qwen3.8-2.4T-A95B")))
    old = plan(made_up(16, "moonshotai/Kimi-K2.6"), image="vllm/vllm-openai-rocm:v0.22.0")
    assert "vllm-older-than-recipe" in warnings(old) and "vllm-too-old" not in codes(old)
    assert "recipe-nightly" in warnings(plan(made_up(16, "tencent/Hy3")))


def test_nvfp4_is_refused_and_says_that_sources_differ():
    said = refusal(plan("thinkingmachines/Inkling-NVFP4"), "precision-unsupported")
    assert "differ" in said.what and "variant: mxfp4" in said.do


def test_bad_values_name_what_there_is():
    found = plan(made_up(16, "Qwen/Qwen3.5-9B"), variant="fp9", features=["flying"], gpus=[0, 17])
    texts = [(r.what, r.needed) for r in found.refusals]
    assert codes(found) == ["bad-value"] * 3
    for word in ("default", "spec_decoding", "7]"):
        assert any(word in needed for _, needed in texts)


def test_all_gates_are_judged():
    coded = replace(made_up(16, "moonshotai/Kimi-K2.5"), has_remote_code=True)
    found = plan(coded, machines.host("mi210"), image="a/b:latest", variant="nope")
    assert codes(found) == ["bad-value", "gfx-unsupported", "bad-value", "needs-consent"]


def test_metadata_missing_names_the_model_and_weight_gib_stands_in():
    assert codes(plan("org/unknown")) == ["metadata-missing"]
    found = plan("Qwen/Qwen3-32B", weightGib=64)
    assert found.verdict == "fits" and found.memory.weights_bytes_per_rank == 64 * machines.GIB and found.memory.kv_cache_tokens is None


def test_moe_of_an_unread_model_is_what_its_recipe_says():
    found = plan("Qwen/Qwen3-Coder-480B-A35B-Instruct", weightGib=960)
    assert found.placement.tensor_parallel_size == 8 and flags(found)["--distributed-executor-backend"] == "mp"
    assert "--distributed-executor-backend" not in flags(plan(made_up(300, config=llama())))
