"""What is an address and what is not; the options that every ssh process gets."""
from __future__ import annotations

import pytest

from providers.transport.address import Target, parse_address


@pytest.mark.parametrize("text, user, host, port", [
    ("ssh://ops@10.0.0.5:22", "ops", "10.0.0.5", 22), ("ssh://box", None, "box", None), ("ssh://root@[fe80::1%eth0]:2222", "root", "[fe80::1%eth0]", 2222),
    ("ssh://a.b-c@host-1.example.org/", "a.b-c", "host-1.example.org", None),
])
def test_ssh_addresses(text, user, host, port):
    parsed = parse_address(text)
    assert (parsed.scheme, parsed.user, parsed.host, parsed.port) == ("ssh", user, host, port)


@pytest.mark.parametrize("text", [
    "", "box", "ssh://", "ssh://-oProxyCommand=id", "ssh://a@-x", "ssh://$(id)@box", "ssh://box;id", "ssh://box:0", "ssh://box:70000", "ssh://b ox", "ssh://box\n",
    "ssh://user:password@box", "ssh://-l@box", "recorded:", "tcp://box:2375", "ssh://box/path", "LOCAL", "ssh://box:22\x1b[0m",
])
def test_what_is_no_address(text):
    assert parse_address(text) is None


def test_options_are_the_same_text_for_everybody_and_their_own_for_each_way_in():
    plain, keyed = Target("a", "ssh://box"), Target("b", "ssh://box", identity_file="~/.ssh/id_x")
    assert plain.ssh_options() == Target("other-name", "ssh://box").ssh_options()
    assert plain.control_path != keyed.control_path and plain.control_path.startswith("~/.ssh/")
    assert len(plain.control_path) < 40
    assert "StrictHostKeyChecking=yes" in plain.ssh_options()
    assert "StrictHostKeyChecking=accept-new" in Target("a", "ssh://box", accept_new_host_key=True).ssh_options()
    assert "IdentitiesOnly=yes" in keyed.ssh_options()
