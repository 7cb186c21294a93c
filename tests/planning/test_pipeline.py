"""All endpoints of one host together: no overlap in any order, nobody moves because of another, every line adds up."""
from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from planning.detect.facts import HostSurvey, OurContainer
from planning.plan import document, from_document
from planning.units import parse_cpu_list
from tests.planning.paper import documents, host, plan_all, plan_one, warned

SMALL = st.fixed_dictionaries({}, optional={"cores": st.sampled_from([1, 8, 24, 40]), "kvCacheGib": st.sampled_from([1, 16, 64])})
KEYS = SMALL | st.fixed_dictionaries({"numaNode": st.integers(0, 7)}) | st.fixed_dictionaries({"tensorParallelSize": st.sampled_from([2, 4])})
STEPS = st.lists(st.tuples(st.sampled_from("abcdefg"), KEYS | st.none()), min_size=1, max_size=7)


def together(plans) -> None:
    """No two fitting plans share a core, a port or more memory than a node has; every budget adds up."""
    cores, ports, nodes = [], [], {}
    for plan in plans.values():
        if plan.memory:
            assert plan.memory.required_bytes == sum(line.bytes for line in plan.memory.lines)
        if plan.verdict != "fits":
            assert plan.refusals and plan.launch is None and plan.handoff is None
            continue
        assert plan.memory.required_bytes <= plan.memory.available_bytes
        cores += parse_cpu_list(plan.placement.cpuset_cpus)
        ports.append(plan.launch.port)
        first = plan.placement.numa_nodes if plan.placement.tensor_parallel_size > 1 else plan.placement.numa_nodes[:1]
        for node in first:
            nodes[node] = nodes.get(node, 0) + sum(line.bytes for line in plan.memory.lines if line.name != "headroom")
    assert len(cores) == len(set(cores)) and len(ports) == len(set(ports))
    sizes = {node.node: node.memory_bytes for node in host("synthetic-nps4")[0].cpu.nodes}
    assert all(size <= sizes[node] for node, size in nodes.items())


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_endpoints_come_and_go_without_overlap_and_nobody_moves(steps):
    """Each step declares an endpoint (or takes one away) and plans again with what was planned before."""
    declared, previous = {}, {}
    for name, keys in steps:
        if keys is None:
            declared.pop(name, None)
        elif name not in declared:
            declared[name] = keys
        plans = plan_all("nps4", declared, previous)
        together(plans)
        for kept, old in previous.items():
            if kept in plans:
                assert document(plans[kept]) == old
        previous = documents({name: plan for name, plan in plans.items() if plan.verdict == "fits"})


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), KEYS, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_order_of_declaration_does_not_matter(declared, random):
    shuffled = list(declared.items())
    random.shuffle(shuffled)
    one, other = plan_all("nps4", declared), plan_all("nps4", dict(shuffled))
    together(one)
    assert {name: document(plan) for name, plan in one.items()} == {name: document(plan) for name, plan in other.items()}


def test_an_existing_endpoint_does_not_move_for_a_new_one_that_sorts_before_it():
    before = documents(plan_all("genoa-dual", {"z": {}}))
    plans = plan_all("genoa-dual", {"a": {}, "z": {}}, before)
    assert document(plans["z"]) == before["z"] and plans["a"].placement.socket == 1 and plans["a"].launch.port == 8001


def test_planning_again_is_the_same_whatever_the_host_does_meanwhile():
    before = documents(plan_all("genoa-dual", {"a": {}, "b": {"cores": 8}}))
    busy = HostSurvey(available_bytes=1 << 30, node_available_bytes={0: 1 << 30, 1: 1 << 30}, socket_load={0: 0.9, 1: 0.0})
    assert documents(plan_all("genoa-dual", {"a": {}, "b": {"cores": 8}}, before, survey=busy)) == before


def test_later_neighbours_do_not_shrink_what_an_endpoint_has():
    first = documents(plan_all("genoa-single", {"a": {"cores": 16}}))
    second = documents(plan_all("genoa-single", {"a": {"cores": 16}, "b": {"cores": 16}}, first))
    assert second["a"] == first["a"] and documents(plan_all("genoa-single", {"a": {"cores": 16}, "b": {"cores": 16}}, second)) == second
    alone = plan_all("genoa-single", {"a": {"cores": 16, "kvCacheGib": 16}}, second)["a"]
    assert alone.memory.kv_cache_bytes == 16 << 30


def test_a_warning_of_the_day_it_was_placed_stays():
    survey = replace(host("synthetic-genoa-dual")[1], socket_load={0: 0.9, 1: 0.8})
    first = documents(plan_all("genoa-dual", {"a": {}}, survey=survey))
    assert documents(plan_all("genoa-dual", {"a": {}}, first, survey=HostSurvey())) == first
    assert any(warning["code"] == "all-busy" for warning in first["a"]["warnings"])


def test_what_the_state_gives_back_is_understood():
    """Pulumi's state turns integers into floats."""
    def floated(value):
        if isinstance(value, dict):
            return {key: floated(item) for key, item in value.items()}
        if isinstance(value, list):
            return [floated(item) for item in value]
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    before = documents(plan_all("genoa-dual", {"a": {}}))
    again = documents(plan_all("genoa-dual", {"a": {}}, floated(before)))
    assert again == before and json.dumps(again) == json.dumps(before)
    assert document(from_document(before["a"])) == before["a"]


def test_generation_is_carried_over():
    before = documents(plan_all("genoa-dual", {"a": {}}))
    before["a"]["generation"] = 3
    plan = plan_all("genoa-dual", {"a": {}}, before)["a"]
    assert plan.generation == 3 and plan.launch.labels["amd-vllm.generation"] == "3"


def test_port_is_kept_forced_free_or_refused():
    seen = host("synthetic-genoa-dual")[1]
    survey = replace(seen, used_ports=(22, 8000, 8001))
    assert plan_one("genoa-dual", survey=survey).launch.port == 8002
    assert [refusal.code for refusal in plan_one("genoa-dual", survey=survey, port=8001).refusals] == ["port-taken"]
    assert plan_one("genoa-dual", survey=survey, port=8001).suggestions[0].set == {"port": 8002}
    assert plan_one("genoa-dual", survey=survey, port=9000).launch.port == 9000
    unknown = plan_one("genoa-dual", survey=replace(seen, used_ports=None))
    assert unknown.verdict == "fits" and "port-unknown" in warned(unknown)


def test_port_of_a_vanished_container_is_given_up_when_another_took_it():
    before = documents(plan_all("genoa-dual", {"chat": {}}))["chat"]
    survey = replace(host("synthetic-genoa-dual")[1], used_ports=(22, 8000))
    plan = plan_one("genoa-dual", before, survey)
    assert plan.launch.port == 8001 and "moved" in warned(plan)


def test_two_endpoints_cannot_ask_for_one_port():
    plans = plan_all("genoa-dual", {"a": {"port": 9000}, "b": {"port": 9000}})
    assert (plans["a"].verdict, [r.code for r in plans["b"].refusals]) == ("fits", ["port-taken"])


def test_a_container_of_somebody_else_is_left_alone():
    seen = host("synthetic-genoa-dual")[1]
    survey = replace(seen, container_names=("vllm-dev-chat",))
    assert [refusal.code for refusal in plan_one("genoa-dual", survey=survey).refusals] == ["name-taken"]
    ours = replace(survey, containers=(OurContainer("vllm-dev-chat", "dev", "chat", True),))
    assert plan_one("genoa-dual", survey=ours).verdict == "fits"


def test_two_states_with_one_stack_name_leave_each_other_alone():
    seen = host("synthetic-genoa-dual")[1]
    theirs = OurContainer("vllm-dev-chat", "dev", "chat", True, cpus=(0, 1), port=8000, owner="them")
    survey = replace(seen, container_names=("vllm-dev-chat",), containers=(theirs,))
    (plan,) = plan_all("genoa-dual", {"chat": {}}, survey=survey, owner="us").values()
    assert [refusal.code for refusal in plan.refusals] == ["name-taken"] and "another stack of the name dev" in plan.refusals[0].found
    (other,) = plan_all("genoa-dual", {"other": {}}, survey=survey, owner="us").values()
    assert other.launch.port == 8001 and other.placement.cpuset_cpus.split("-")[0] not in ("0", "1"), "what it holds is taken"
    assert other.launch.labels["amd-vllm.owner"] == "us"
    (mine,) = plan_all("genoa-dual", {"chat": {}}, survey=survey, owner="them").values()
    assert mine.verdict == "fits" and mine.launch.port == 8000


def test_what_this_run_removes_holds_its_place_until_the_end():
    """As after a rename: Pulumi makes the new one first."""
    seen = host("synthetic-genoa-dual")[1]
    old = OurContainer("vllm-dev-old", "dev", "old", True, cpus=(0, 1), port=8000, memory_bytes=700 << 30)
    (plan,) = plan_all("genoa-dual", {"new": {"kvCacheGib": 64}}, survey=replace(seen, containers=(old,))).values()
    assert plan.verdict == "fits" and plan.launch.port == 8001 and plan.placement.socket == 1
    stopped = replace(seen, containers=(replace(old, running=False),))
    assert plan_all("genoa-dual", {"new": {"kvCacheGib": 64}}, survey=stopped)["new"].placement.socket == 0


def test_an_endpoint_keeps_its_runtime_when_that_is_away():
    """With `runtime: auto`: another one would start beside what runs already."""
    facts = host("synthetic-genoa-dual")[0]
    before = documents(plan_all("genoa-dual", {"chat": {}}))["chat"]
    away = replace(facts, docker=replace(facts.docker, reachable=False), podman=replace(facts.podman, reachable=True))
    assert before["launch"]["runtime"] == "docker" and [r.code for r in plan_one("genoa-dual", before, facts=away).refusals] == ["no-runtime"]
    assert plan_one("genoa-dual", before, facts=away, runtime="podman").launch.runtime == "podman"
    assert plan_one("genoa-dual", facts=away).launch.runtime == "podman"


def test_the_port_of_a_stopped_container_is_given_up_when_another_took_it():
    before = documents(plan_all("genoa-dual", {"chat": {}}))["chat"]
    for running, port in ((True, 8000), (None, 8000), (False, 8001)):
        survey = replace(host("synthetic-genoa-dual")[1], used_ports=(22, 8000), containers=(OurContainer("vllm-dev-chat", "dev", "chat", running, port=8000),))
        assert plan_one("genoa-dual", before, survey).launch.port == port


def test_all_refusals_are_listed_in_one_go():
    plan = plan_one("milan-dual", blockSize=10, cores=500, port=22, env={"OMP_NUM_THREADS": "1"}, kvCacheDtype="bfloat16")
    assert [refusal.code for refusal in plan.refusals][:3] == ["needs-consent", "no-cores", "port-taken"]


def test_suggestions_fit_when_applied():
    for on, keys in (("milan-dual", {}), ("bergamo", {}), ("genoa-dual", {"port": 22}), ("genoa-dual", {"kvCacheGib": 2000}),
                     ("container-limited", {"cores": 60}), ("milan-dual", {"kvCacheDtype": "fp8", "backend": "zentorch"})):
        plan = plan_one(on, **keys)
        assert plan.verdict == "refused" and plan.suggestions
        for suggestion in plan.suggestions:
            assert plan_one(on, **{**keys, **suggestion.set}).verdict == "fits"
