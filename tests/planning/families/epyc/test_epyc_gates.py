"""The gates of the EPYC family, in the procedure's order: EPYC, AVX-512 BF16, validated generation, zentorch, stack."""
from __future__ import annotations

from dataclasses import replace

import pytest

from tests.planning.paper import codes, host, plan_one, warned


def cpu(on: str, **changes):
    facts = host(f"synthetic-{on}")[0]
    return replace(facts, cpu=replace(facts.cpu, **changes))


PATHS = [  # host, keys -> backend, refusals, consents (key, given)
    ("genoa-dual", {}, "zentorch", [], []),
    ("turin", {}, "zentorch", [], []),
    ("venice", {}, "zentorch", [], []),
    ("turin-dense", {}, "zentorch", [], []),
    ("genoa-dual", {"acceptStockVllm": True}, "zentorch", [], []),                     # a consent never selects
    ("genoa-dual", {"backend": "stock"}, "stock", [], []),                             # asking is the consent
    ("milan-dual", {}, "stock", ["needs-consent"], [("acceptStockVllm", False)]),
    ("milan-dual", {"acceptUnverified": True}, "stock", ["needs-consent"], [("acceptStockVllm", False)]),
    ("milan-dual", {"acceptStockVllm": True}, "stock", [], [("acceptStockVllm", True)]),
    ("milan-dual", {"backend": "stock"}, "stock", [], []),
    ("milan-dual", {"backend": "zentorch"}, "zentorch", ["zentorch-unsupported"], []),
    ("bergamo", {}, "zentorch", ["needs-consent"], [("acceptUnverified", False), ("acceptStockVllm", False)]),
    ("bergamo", {"acceptUnverified": True}, "zentorch", [], [("acceptUnverified", True)]),
    ("bergamo", {"acceptStockVllm": True}, "stock", [], [("acceptStockVllm", True)]),
    ("bergamo", {"acceptStockVllm": True, "acceptUnverified": True}, "zentorch", [], [("acceptUnverified", True)]),
    ("bergamo", {"backend": "zentorch"}, "zentorch", ["needs-consent"], [("acceptUnverified", False)]),
    ("bergamo", {"backend": "stock"}, "stock", [], []),
    ("masked-vm", {"acceptStockVllm": True}, "stock", ["cpu-unsupported"], [("acceptStockVllm", True)]),
]


@pytest.mark.parametrize("on, keys, backend, refused, consents", PATHS)
def test_path_and_consents(on, keys, backend, refused, consents):
    plan = plan_one(on, **keys)
    assert (plan.engine.backend, codes(plan), [(c.key, c.given) for c in plan.consents]) == (backend, refused, consents)
    assert plan.verdict == ("refused" if refused else "fits")


def test_not_epyc_is_refused_and_the_rest_is_judged():
    facts = cpu("genoa-dual", is_epyc=False, model_name="AMD Ryzen 9 7950X", generation=None)
    assert codes(plan_one("genoa-dual", facts=facts, blockSize=10)) == ["not-epyc", "needs-consent", "bad-value"]


def test_unknown_flag_is_not_a_yes():
    facts = cpu("genoa-dual", avx512_bf16=None)
    assert codes(plan_one("genoa-dual", facts=facts)) == ["unknown-fact", "needs-consent"]
    plan = plan_one("genoa-dual", facts=facts, acceptStockVllm=True)
    assert (plan.engine.backend, plan.verdict) == ("stock", "fits")
    assert codes(plan_one("genoa-dual", facts=facts, backend="zentorch")) == ["unknown-fact"]


def test_avx512f_alone_takes_the_stock_path():
    facts = cpu("genoa-dual", avx512_bf16=False, avx512f=True)
    plan = plan_one("genoa-dual", facts=facts, acceptStockVllm=True)
    assert plan.engine.backend == "stock" and "path" in warned(plan)


def test_genoa_x_counts_as_genoa():
    assert plan_one("genoa-dual", facts=cpu("genoa-dual", generation="Genoa-X")).verdict == "fits"


def test_unknown_generation_is_unverified():
    assert codes(plan_one("genoa-dual", facts=cpu("genoa-dual", generation=None))) == ["needs-consent"]


def test_venice_with_another_vllm_needs_a_word():
    image = "example/zentorch:vllm_v0.26.0"
    assert codes(plan_one("venice", image=image)) == ["needs-consent"]
    assert plan_one("venice", image=image, acceptUnverified=True).verdict == "fits"
    assert plan_one("genoa-dual", image=image).verdict == "fits"


@pytest.mark.parametrize("image, refused", [
    ("vllm/vllm-openai-cpu:latest-x86_64", ["bad-value"]), ("vllm/vllm-openai-cpu", ["bad-value"]), ("vllm/vllm-openai-cpu:v0.19.1-x86_64", ["vllm-too-old"]),
    ("vllm/vllm-openai-cpu:v0.25.1-arm64", ["bad-value"]), ("registry:5000/mine:v0.25.1", [])])
def test_image_of_the_users_own(image, refused):
    assert codes(plan_one("milan-dual", image=image, backend="stock")) == refused


def test_digest_is_part_of_the_reference():
    digest = "sha256:" + "a" * 64
    assert plan_one("genoa-dual", imageDigest=digest).engine.image.endswith("_ww30@" + digest)


@pytest.mark.parametrize("on, keys, refused", [
    ("genoa-dual", {"dtype": "float16"}, ["precision-unsupported"]), ("genoa-dual", {"dtype": "half"}, ["precision-unsupported"]),
    ("genoa-dual", {"dtype": "float32"}, []), ("genoa-dual", {"kvCacheDtype": "fp8"}, ["precision-unsupported"]),
    ("genoa-dual", {"kvCacheDtype": "bfloat16"}, []), ("milan-dual", {"backend": "stock", "dtype": "float16"}, []),
    ("milan-dual", {"backend": "stock", "kvCacheDtype": "fp8"}, [])])
def test_precision(on, keys, refused):
    assert codes(plan_one(on, **keys)) == refused


def test_instinct_gpus_in_the_host_do_not_matter():
    facts = host("synthetic-genoa-dual")[0]
    assert plan_one("genoa-dual", facts=replace(facts, gpus=replace(facts.gpus, count=8, state="ok"))).verdict == "fits"


@pytest.mark.parametrize("on, keys, words", [
    ("genoa-dual", {}, "zentorch accelerated (Genoa is validated)"), ("bergamo", {"acceptUnverified": True}, "zentorch, unverified (nobody validated Bergamo)"),
    ("milan-dual", {"acceptStockVllm": True}, "stock vLLM on CPU, no zentorch (no avx512_bf16)"), ("milan-dual", {"backend": "stock"}, "(asked for)"),
    ("bergamo", {"acceptStockVllm": True}, "(Bergamo is not validated)")])
def test_preview_names_the_path_and_why(on, keys, words):
    assert words in dict(plan_one(on, **keys).summary)["Backend"]
