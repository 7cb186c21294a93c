"""Which GPUs: free, of one kind, near each other; kept while valid; disjoint between endpoints; devices by render node."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.detect.facts import OurContainer
from planning.families.base import Claims
from planning.plan import document
from tests.planning.families.instinct import machines
from tests.planning.families.instinct.planned import codes, made_up, plan, plan_all, request, warnings

ONE, TWO, FOUR, EIGHT = made_up(16, "o/one"), made_up(250, "o/two"), made_up(600, "o/four"), made_up(1100, "o/eight")


def test_the_smallest_power_of_two_that_fits():
    assert [plan(model).placement.gpus for model in (ONE, TWO, FOUR, EIGHT)] == [(0,), (0, 1), (0, 1, 2, 3), tuple(range(8))]


def test_free_ones_first_and_one_numa_node():
    host = machines.host()
    assert plan(ONE, survey=machines.survey(host, {0: 100})).placement.gpus == (1,)
    found = plan(FOUR, survey=machines.survey(host, {0: 100}))
    assert found.placement.gpus == (4, 5, 6, 7) and found.placement.numa_nodes == (1,)
    assert plan(TWO, claims=Claims(gpus=frozenset({1, 2, 3}))).placement.gpus == (4, 5)


def test_others_gpus_are_never_taken():
    found = plan(EIGHT, claims=Claims(gpus=frozenset({3})))
    assert "no-gpu" in codes(found) or "memory" in codes(found)
    assert codes(plan(ONE, claims=Claims(gpus=frozenset(range(8))))) == ["no-gpu"]
    assert codes(plan(TWO, gpus=[0, 1], claims=Claims(gpus=frozenset({1})))) == ["no-gpu"]


def test_shared_vram_lowers_the_share():
    host = machines.host(number=1)
    found = plan(ONE, host, machines.survey(host, {0: 60}))
    assert found.verdict == "fits" and "vram-shared" in warnings(found)
    share = float(found.launch.command[found.launch.command.index("--gpu-memory-utilization") + 1])
    assert share * 192 <= 132 and found.launch.flags_from["--gpu-memory-utilization"] == "plan"


def test_configured_gpus_are_taken_as_they_are():
    found = plan(ONE, gpus=[5, 6])
    assert found.placement.gpus == (5, 6) and found.placement.tensor_parallel_size == 2
    assert "bad-value" in codes(plan(ONE, gpus=[5, 6, 7])) and "bad-value" in codes(plan(ONE, gpus=[1, 2], tensorParallelSize=4))
    assert plan(ONE, tensorParallelSize=4).placement.gpus == (0, 1, 2, 3)


def test_only_gpus_of_one_kind_together():
    whole = tuple(machines.device("mi300x", i, 4) for i in range(2))
    parts = tuple(machines.device("mi300x", i, 4, compute_partition="CPX", vram_bytes=24 * machines.GIB) for i in (2, 3))
    devices = (*whole, *parts)
    host = machines.host(devices=devices)
    assert plan(TWO, host).placement.gpus == (0, 1)
    assert codes(plan(ONE, host, gpus=[1, 2])) == ["no-gpu"]


def test_partitions_count_with_what_they_have():
    mode = {"compute_partition": "CPX", "memory_partition": "NPS4", "vram_bytes": 24 * machines.GIB}
    devices = tuple(machines.device("mi300x", i, 64, numa_node=i // 8, **mode) for i in range(64))
    found = plan(made_up(60), machines.host(devices=devices))
    assert found.placement.tensor_parallel_size == 4 and found.memory.available_bytes < 24 * machines.GIB and len(found.placement.numa_nodes) == 1


def test_a_virtual_function_has_what_the_guest_reports():
    guest = machines.host(devices=(machines.device("mi300x", 0, 1, virtual_function=True, vram_bytes=205822885888, market_name="AMD Instinct MI300X VF"),))
    assert plan(ONE, guest).memory.available_bytes == int(0.92 * 205822885888)


def test_a_subset_is_passed_by_render_node_and_counted_from_zero():
    launch = plan(TWO, gpus=[2, 3]).launch
    assert launch.devices == ("/dev/kfd", "/dev/dri/renderD144", "/dev/dri/renderD152")
    assert launch.environment["HIP_VISIBLE_DEVICES"] == "0,1" and "CUDA_VISIBLE_DEVICES" not in launch.environment
    assert plan(EIGHT).launch.devices == ("/dev/kfd", "/dev/dri")


def test_without_render_nodes_the_hip_numbers_are_used_and_said():
    devices = tuple(machines.device("mi300x", i, 4, render_node=None, hip_index=3 - i) for i in range(4))
    found = plan(TWO, machines.host(devices=devices))
    assert found.launch.devices == ("/dev/kfd", "/dev/dri") and found.launch.environment["HIP_VISIBLE_DEVICES"] == "2,3"
    assert "gpu-isolation" in warnings(found)


def test_several_endpoints_share_no_gpu_and_no_port():
    requests = {name: request(model.id) for name, model in (("a", TWO), ("b", FOUR), ("c", ONE))}
    plans = plan_all(requests, machines.host(), {"a": TWO, "b": FOUR, "c": ONE})
    taken = [gpu for found in plans.values() for gpu in found.placement.gpus]
    assert len(taken) == len(set(taken)) == 7 and len({found.launch.port for found in plans.values()}) == 3


def test_an_endpoint_keeps_its_gpus_whatever_comes():
    host, requests = machines.host(), {"b": request("o/one", gpus=[5])}
    first = plan_all(requests, host, {"b": ONE})
    again = {"a": request("o/two"), "b": request("o/one")}
    running = OurContainer("vllm-test-b", "test", "b", True, gpus=(5,), port=8000)
    survey = machines.survey(host, {5: 180}, containers=(running,))
    second = plan_all(again, host, {"a": TWO, "b": ONE}, {"b": document(first["b"])}, survey)
    assert second["b"].placement.gpus == (5,) and second["b"].launch == replace(first["b"].launch, labels=second["b"].launch.labels)
    assert 5 not in second["a"].placement.gpus


def test_planning_twice_changes_nothing():
    host = machines.host()
    requests, manifests = {"a": request("o/two"), "b": request("o/four")}, {"a": TWO, "b": FOUR}
    first = plan_all(requests, host, manifests)
    used = {gpu: 180 for found in first.values() for gpu in found.placement.gpus}
    containers = tuple(OurContainer(f"vllm-test-{name}", "test", name, True, gpus=found.placement.gpus, port=found.launch.port)
                       for name, found in first.items())
    before = {name: document(found) for name, found in first.items()}
    second = plan_all(requests, host, manifests, before, machines.survey(host, used, containers=containers))
    assert {name: found.launch for name, found in second.items()} == {name: found.launch for name, found in first.items()}


def test_another_configuration_is_judged_anew_where_it_launches_the_same():
    host = machines.host(numa_balancing=True)
    first = plan_all({"a": request("o/two")}, host, {"a": TWO})["a"]
    again = plan_all({"a": request("o/two")}, machines.host(numa_balancing=False), {"a": TWO}, {"a": document(first)})["a"]
    fixed = plan_all({"a": request("o/two", fixNumaBalancing=True)}, host, {"a": TWO}, {"a": document(first)})["a"]
    assert "numa-balancing" in warnings(first) and again == first, "what was said on the day it was placed stays said"
    assert "numa-balancing" not in warnings(fixed) and fixed.launch == first.launch


def test_a_lowered_share_and_a_size_stay():
    host = machines.host(number=2)
    first = plan_all({"a": request("o/one")}, host, {"a": ONE}, survey=machines.survey(host, {0: 60, 1: 60}))["a"]
    assert "vram-shared" in warnings(first)
    survey = machines.survey(host, {0: 180, 1: 60}, containers=(OurContainer("vllm-test-a", "test", "a", True, gpus=(0,), port=8000),))
    assert plan_all({"a": request("o/one")}, host, {"a": ONE}, {"a": document(first)}, survey)["a"].launch == first.launch
    crowded = plan_all({"a": request("o/two")}, host, {"a": TWO}, survey=machines.survey(host, {}))["a"]
    smaller = plan_all({"a": request("o/two", kvCacheDtype="fp8")}, host, {"a": TWO}, {"a": document(crowded)})["a"]
    assert smaller.placement.gpus == crowded.placement.gpus == (0, 1)
    assert plan_all({"a": request("o/one")}, host, {"a": ONE}, {"a": document(crowded)})["a"].placement.tensor_parallel_size == 1


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_order_of_declaration_does_not_matter(order):
    models = {"a": TWO, "b": FOUR}
    plans = plan_all({name: request(models[name].id) for name in order}, machines.host(), models)
    assert plans["a"].placement.gpus == (0, 1) and plans["b"].placement.gpus == (4, 5, 6, 7)
