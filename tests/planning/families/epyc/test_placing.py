"""Where an EPYC endpoint goes: one socket, physical cores, the rank's node; keys that force; several endpoints; tensor parallel."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.detect.facts import OurContainer
from planning.units import GIB, parse_cpu_list
from tests.planning.paper import codes, documents, host, plan_all, plan_one, warned


def place(plan):
    p = plan.placement
    return (p.socket, p.cpuset_cpus, p.cpuset_mems, p.omp_threads_bind)


def busy(on, **load):
    return replace(host(f"synthetic-{on}")[1], socket_load={int(key[1:]): value for key, value in load.items()})


@pytest.mark.parametrize("load, socket, warns", [
    ({"s0": 0.0, "s1": 0.0}, 0, False), ({"s0": 0.5, "s1": 0.1}, 1, False), ({"s0": 0.1, "s1": 0.6}, 0, False), ({"s0": 0.6, "s1": 0.3}, 1, True),
    ({"s0": 0.15, "s1": 0.149}, 1, False), ({}, 0, False)])
def test_socket_by_load(load, socket, warns):
    plan = plan_one("genoa-dual", survey=busy("genoa-dual", **load))
    assert (plan.placement.socket, "all-busy" in warned(plan)) == (socket, warns)


def test_threshold_is_a_key():
    assert plan_one("genoa-dual", survey=busy("genoa-dual", s0=0.5, s1=0.1), busyThreshold=0.6).placement.socket == 0


def test_socket_is_forced_whatever_its_load():
    assert plan_one("genoa-dual", survey=busy("genoa-dual", s0=0.0, s1=0.9), socket=1).placement.socket == 1


@pytest.mark.parametrize("on, keys, expected", [
    ("genoa-dual", {}, (0, "0-95", "0", "0-95")),
    ("genoa-dual", {"socket": 1}, (1, "96-191", "1", "96-191")),
    ("genoa-dual", {"cores": 8, "reservedCpus": 2}, (0, "0-7", "0", "0-5")),
    ("genoa-dual", {"numaNode": 1}, (1, "96-191", "1", "96-191")),
    ("venice", {}, (0, "0-255", "0", "0-255")),
    ("nps4", {}, (0, "0-95", "0-3", "0-95")),
    ("nps4", {"numaNode": 5}, (1, "120-143", "5", "120-143")),
    ("nps4", {"cores": 8}, (0, "0-7", "0", "0-7")),
    ("nps4", {"tensorParallelSize": 4}, (0, "0-95", "0-3", "0-23|24-47|48-71|72-95")),
    ("nps4", {"tensorParallelSize": 2, "socket": 1}, (1, "96-143", "4-5", "96-119|120-143")),
    ("nps4", {"tensorParallelSize": 4, "reservedCpus": 4}, (0, "0-95", "0-3", "0-22|24-46|48-70|72-94")),
    ("nps4", {"tensorParallelSize": 8}, (None, "0-191", "0-7", "|".join(f"{n * 24}-{n * 24 + 23}" for n in range(8)))),
    ("genoa-dual", {"tensorParallelSize": 2, "cores": 64}, (None, "0-31,96-127", "0-1", "0-31|96-127")),
    ("memoryless", {}, (0, "0-15,32-47", "0,2", "0-15,32-47")),
    ("container-limited", {}, (0, "0-47", "0", "0-47")),
])
def test_placement(on, keys, expected):
    plan = plan_one(on, **keys)
    assert (plan.verdict, place(plan)) == ("fits", expected)


@pytest.mark.parametrize("on, keys, code", [
    ("genoa-dual", {"socket": 2}, "bad-value"), ("genoa-dual", {"numaNode": 7}, "bad-value"), ("memoryless", {"numaNode": 1}, "bad-value"),
    ("genoa-dual", {"socket": 0, "numaNode": 1}, "bad-value"), ("nps4", {"tensorParallelSize": 4, "cores": 7}, "bad-value"),
    ("genoa-dual", {"cores": 97}, "no-cores"), ("genoa-dual", {"tensorParallelSize": 4}, "no-cores"),
    ("genoa-dual", {"tensorParallelSize": 2, "socket": 0}, "no-cores"), ("nps4", {"tensorParallelSize": 6}, "tensor-parallel"),
    ("genoa-dual", {"cores": 2, "reservedCpus": 2}, "no-cores")])
def test_placement_refused(on, keys, code):
    assert code in codes(plan_one(on, **keys))


def test_across_sockets_warns_and_nps4_notes():
    assert "cross-socket" in warned(plan_one("genoa-dual", tensorParallelSize=2))
    assert "nps" in warned(plan_one("nps4")) and "nps" not in warned(plan_one("nps4", numaNode=0))


def test_offline_isolated_and_foreign_cpus_are_left_out():
    facts = host("synthetic-genoa-single")[0]
    topology = tuple(row for row in facts.cpu.topology if row.cpu != 3)           # CPU 3 is off line, its sibling 67 is on
    changed = replace(facts, cpu=replace(facts.cpu, topology=topology, isolated=(0, 64), allowed=tuple(range(0, 62)) + tuple(range(64, 126))))
    assert plan_one("genoa-single", facts=changed).placement.cpuset_cpus == "1-2,4-61,67"


def test_node_of_a_rank_is_not_the_number_of_its_cpu():
    facts = host("synthetic-genoa-dual")[0]
    swapped = {0: 1, 1: 0}
    topology = tuple(replace(row, node=swapped[row.node]) for row in facts.cpu.topology)
    nodes = tuple(replace(node, node=swapped[node.node]) for node in facts.cpu.nodes)
    assert place(plan_one("genoa-dual", facts=replace(facts, cpu=replace(facts.cpu, topology=topology, nodes=nodes)))) == (0, "0-95", "1", "0-95")


def test_third_endpoint_finds_no_cores_and_says_how_to_make_room():
    plans = plan_all("genoa-dual", {"a": {}, "b": {}, "c": {}})
    assert [plans[name].placement and plans[name].placement.socket for name in "abc"] == [0, 1, None]
    assert codes(plans["c"]) == ["no-cores"] and "`cores`" in plans["c"].refusals[0].do and "`numaNode`" in plans["c"].refusals[0].do


def test_containers_of_other_stacks_count():
    survey = replace(host("synthetic-genoa-dual")[1], used_ports=(22, 8000), containers=(
        OurContainer("vllm-other-x", "other", "x", True, tuple(range(96)), (), 8000, 300 * GIB, 0),))
    plan = plan_one("genoa-dual", survey=survey, socket=0)
    assert codes(plan) == ["no-cores"] and any(s.set == {"socket": 1} for s in plan.suggestions)
    assert plan_one("genoa-dual", survey=survey).launch.port == 8001
    beside = plan_one("genoa-dual", survey=replace(survey, containers=(replace(survey.containers[0], cpus=(0, 1)),)), socket=0)
    assert beside.placement.cpuset_cpus == "2-95" and beside.memory.available_bytes == (768 - 300) * GIB


def test_what_its_own_container_holds_is_free_for_it():
    first = plan_one("genoa-dual", cores=96, socket=0)
    own = OurContainer("vllm-dev-chat", "dev", "chat", True, parse_cpu_list("0-95"), (), 8000, 300 * GIB, 0)
    survey = replace(host("synthetic-genoa-dual")[1], used_ports=(22, 8000), containers=(own,))
    again = plan_one("genoa-dual", documents({"chat": first})["chat"], survey, cores=96, socket=0)
    assert again == first


def test_existing_endpoint_moves_when_another_place_is_asked_for():
    first = documents(plan_all("genoa-dual", {"chat": {}}))
    plan = plan_one("genoa-dual", first["chat"], socket=1)
    assert plan.placement.socket == 1 and "moved" in warned(plan)
