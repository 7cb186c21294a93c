"""What an app is given: an address that readers reach, a model name that is served, commands without a secret in them."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.resolve import ChatTemplate
from tests.planning.paper import MODEL, host, model, plan_all, plan_one, warned

CHAT = replace(model(), chat_template=ChatTemplate("present"))


@pytest.mark.parametrize("options, keys, bound, url", [
    ({}, {}, "192.0.2.10", "http://192.0.2.10:8000/v1"), ({"local": True}, {}, "127.0.0.1", "http://127.0.0.1:8000/v1"),
    ({}, {"bindAddress": "0.0.0.0"}, "0.0.0.0", "http://192.0.2.10:8000/v1"), ({}, {"bindAddress": "::1"}, "::1", "http://[::1]:8000/v1"),
    ({"advertise_address": "epyc.example.org"}, {}, "192.0.2.10", "http://epyc.example.org:8000/v1")])
def test_addresses(options, keys, bound, url):
    plan = plan_all("genoa-dual", {"chat": keys}, **options)["chat"]
    assert (plan.launch.bind_address, plan.handoff.base_url) == (bound, url)


def test_unknown_address_binds_to_loopback_with_a_warning():
    plan = plan_one("genoa-dual", facts=replace(host("synthetic-genoa-dual")[0], ssh_address=None))
    assert plan.launch.bind_address == "127.0.0.1" and "bind-unknown" in warned(plan)


def test_loopback_of_a_remote_host_warns():
    keys = {"bindAddress": "127.0.0.1"}
    assert "bind-loopback" in warned(plan_one("genoa-dual", **keys)) and "bind-loopback" not in warned(plan_one("genoa-dual", local=True, **keys))
    assert "bind-loopback" not in warned(plan_all("genoa-dual", {"chat": keys}, advertise_address="proxy.example.org")["chat"])


def test_an_open_endpoint_warns_and_a_key_is_read_from_the_environment():
    assert "open-endpoint" in warned(plan_one("genoa-dual"))
    plan = plan_all("genoa-dual", {"chat": {}}, api_keys=("chat",))["chat"]
    assert "open-endpoint" not in warned(plan) and "$VLLM_API_KEY" in plan.handoff.curl and 'os.environ["VLLM_API_KEY"]' in plan.handoff.python
    assert "open-endpoint" not in warned(plan_one("genoa-dual", bindAddress="127.0.0.1"))


def test_chat_and_completions():
    chat, base = plan_one("genoa-dual", manifest=CHAT).handoff, plan_one("genoa-dual", manifest=replace(CHAT, chat_template=ChatTemplate("absent"))).handoff
    assert chat.primary_endpoint == "chat_completions" and "/v1/chat/completions" in chat.curl and "chat.completions.create" in chat.python
    assert base.primary_endpoint == "completions" and "/v1/completions" in base.curl and "client.completions.create" in base.python
    compile(chat.python, "chat", "exec")
    compile(base.python, "base", "exec")


def test_stop_of_a_process_on_the_host():
    plan = plan_one("genoa-dual", runtime="host", pythonEnv="/opt/vllm")
    assert plan.handoff.stop == "sh ~/.local/state/amd-vllm/vllm-dev-chat/stop.sh"


def test_served_name_and_stop():
    plan = plan_one("genoa-dual", servedModelName="small")
    assert plan.handoff.model == "small" and plan.health.body["model"] == "small" and plan.handoff.stop == "docker rm -f vllm-dev-chat"
    assert plan_one("genoa-dual").handoff.model == MODEL and plan.handoff.model_id == MODEL


def test_whether_there_is_a_key_is_said_and_never_which():
    assert plan_one("genoa-dual").handoff.api_key == "none"
    assert plan_all("genoa-dual", {"chat": {}}, api_keys=("chat",))["chat"].handoff.api_key == "set"
