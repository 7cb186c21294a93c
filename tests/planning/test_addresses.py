"""IP addresses in every spelling, addresses that readers use, and what a host says of its own."""
from __future__ import annotations

from dataclasses import replace

import pytest

from planning.addresses import host_and_port, ip
from planning.detect import load_recording, read_host
from planning.request import parse_endpoint, parse_stack
from tests.planning.paper import TESTS, host, plan_all, warned

BASE = {"kind": "epyc", "host": "box"}


@pytest.mark.parametrize("text, bound", [
    ("0.0.0.0", "0.0.0.0"), ("0:0:0:0:0:0:0:0", "::"), ("2001:DB8:0::1", "2001:db8::1"), ("::ffff:192.0.2.7", "192.0.2.7"), ("0:0:0:0:0:0:0:1", "::1")])
def test_an_address_is_kept_in_one_spelling(text, bound):
    assert parse_endpoint("chat", {**BASE, "bindAddress": text})[0].bind_address == bound


@pytest.mark.parametrize("text", ["cafe", "127.", "000.0.0.0", "....", "999.1.1.1", "::1::", "fe80::1%eth0", "[::1]", "127.0.0.1:80", "0", ""])
def test_what_is_no_ip_address(text):
    assert ip(text) is None
    request, (problem,) = parse_endpoint("chat", {**BASE, "bindAddress": text})
    assert request is None and problem.code == "bad-value"


@pytest.mark.parametrize("text, found", [
    ("203.0.113.7", ("203.0.113.7", None)), ("203.0.113.7:9000", ("203.0.113.7", 9000)), ("2001:db8::1", ("2001:db8::1", None)),
    ("[2001:db8::1]", ("2001:db8::1", None)), ("[2001:db8::1]:9000", ("2001:db8::1", 9000)), ("epyc.example.org", ("epyc.example.org", None)),
    ("epyc_1:443", ("epyc_1", 443)), ("7.example.org.", ("7.example.org.", None))])
def test_where_readers_find_a_host(text, found):
    assert host_and_port(text) == found
    assert not parse_stack({"box": {"address": "local", "advertiseAddress": text}}, {}).refusals


@pytest.mark.parametrize("text", ["", "999.1.1.1", "[epyc.example.org]", "a..b", "-x", "x:0", "x:70000", "x:", "http://x", "x/v1", "user@x", "[::1", "x y",
                                  "$(id)", "fe80::1%eth0", "a" * 64, "[cafe]"])
def test_where_no_reader_finds_a_host(text):
    assert host_and_port(text) is None
    assert [refusal.code for refusal in parse_stack({"box": {"address": "local", "advertiseAddress": text}}, {}).refusals] == ["bad-value"]


@pytest.mark.parametrize("options, keys, url", [
    ({"advertise_address": "203.0.113.7:9000"}, {}, "http://203.0.113.7:9000/v1"), ({"advertise_address": "[2001:db8::1]"}, {}, "http://[2001:db8::1]:8000/v1"),
    ({"advertise_address": "[2001:db8::1]:9000"}, {}, "http://[2001:db8::1]:9000/v1"), ({}, {"bindAddress": "0:0:0:0:0:0:0:0"}, "http://192.0.2.10:8000/v1"),
    ({"local": True}, {"bindAddress": "::"}, "http://192.0.2.10:8000/v1")])
def test_the_base_url(options, keys, url):
    assert plan_all("genoa-dual", {"chat": keys}, **options)["chat"].handoff.base_url == url


def test_every_spelling_of_loopback_is_loopback():
    assert "bind-loopback" in warned(plan_all("genoa-dual", {"chat": {"bindAddress": "0:0:0:0:0:0:0:1"}})["chat"])
    unknown = replace(host("synthetic-genoa-dual")[0], ssh_address=None)
    assert plan_all("genoa-dual", {"chat": {"bindAddress": "::"}}, facts=unknown)["chat"].handoff.base_url == "http://[::1]:8000/v1"


@pytest.mark.parametrize("said, known", [("192.0.2.9", "192.0.2.9"), ("2001:DB8::1", "2001:db8::1"), ("--trust-remote-code", None), ("evil.example.com", None),
                                         ("192.0.2.9 --x", None), ("fe80::1%$(id)", None)])
def test_what_a_host_says_of_its_address_is_an_ip_address_or_unknown(said, known):
    outputs = load_recording(TESTS / "hosts/synthetic-genoa-dual")
    outputs = {**outputs, "session.txt": outputs["session.txt"].replace("ssh_address=192.0.2.10", f"ssh_address={said}")}
    assert read_host("box", outputs)[0].ssh_address == known
