"""Refusals that no end-to-end test comes by: this machine lacks ssh, a user does not linger, a bench says nothing."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from providers.endpoint_bench import _figures
from providers.proof import NotReady, Subject
from providers.runtimes import Secrets, runtime_of
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection

SUBJECT = Subject("chat", "docker", "vllm-dev-chat", "127.0.0.1", 8000, "m", "/v1/completions", {}, None, 60)
ENDED = {"State": {"Status": "exited", "ExitCode": 0}}


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """`programs(id="echo 1000")`: what is on PATH besides the system's own; without any, nothing at all is."""
    def there(**scripts: str) -> Path:
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if scripts else str(tmp_path))
        return tmp_path
    return there


def test_a_machine_without_ssh(programs, monkeypatch):
    monkeypatch.setenv("HOME", str(programs()))
    with pytest.raises(CommandFailed) as told:
        Connection(Target("box", "ssh://ops@10.0.0.5")).run("true")
    assert told.value.refusal.code == "no-ssh" and "openssh-client" in told.value.refusal.do


def test_a_rootless_user_whose_containers_would_end_with_the_session(programs):
    programs(id="echo 1000", loginctl="echo no", podman="echo podman was called >&2; exit 9")
    with pytest.raises(CommandFailed) as told:
        runtime_of("podman").create(Connection(Target("box", "local")), {}, Secrets())
    assert told.value.refusal.code == "no-linger" and "loginctl enable-linger" in told.value.refusal.do


@pytest.mark.parametrize(("seen", "code"), [(ENDED, "bench-failed"), (None, "bench-failed"), ({"State": {**ENDED["State"], "ExitCode": 137}}, "out-of-memory")])
def test_a_bench_without_figures(seen, code):
    with pytest.raises(NotReady) as told:
        _figures(replace(SUBJECT), seen, "no figures here\n")
    assert told.value.refusal.code == code
