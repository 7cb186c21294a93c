"""Detection over SSH: one command on one connection, the same as its recording; a tool that hangs costs its own time only."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planning import detect
from providers.transport.address import Target
from providers.transport.ssh import Connection

ROOT = Path(__file__).resolve().parents[2]


def target(host) -> Target:
    keys = host.connection()
    return Target("box", keys["address"], keys["identityFile"], keys["knownHosts"])


def read(host):
    """Facts and document of one round trip."""
    result = Connection(target(host)).run(detect.probes.script(("facts", "survey")), timeout=90)
    facts, survey = detect.read_host("box", detect.probes.split(result.stdout))
    return facts, detect.document(facts, survey)


def test_one_command_on_one_connection_tells_the_host(genoa):
    mark = genoa.mark()
    facts, document = read(genoa)
    assert genoa.connections_since(mark) <= 1
    assert (facts.cpu.generation, facts.cpu.zen, facts.cpu.avx512_bf16, facts.docker.reachable) == ("Genoa", 4, True, True)
    assert facts.ssh_address == genoa.address and document["gpus"]["count"] == 0


@pytest.mark.parametrize("kind", ["genoa", "milan"])
def test_a_recording_over_ssh_gives_the_facts_of_the_live_host(kind, request, tmp_path):
    host = request.getfixturevalue(kind)
    _, live = read(host)
    keys, folder = host.connection(), tmp_path / "box"
    command = [sys.executable, str(ROOT / "tools" / "record-host"), keys["address"], str(folder), "--identity-file", keys["identityFile"],
               "--known-hosts", keys["knownHosts"]]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "Replaced:" in said
    shown = subprocess.run([sys.executable, "-m", "planning", "detect", str(folder), "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    recorded = json.loads(shown.stdout)
    for part in ("cpu", "gpus", "runtimes"):
        assert recorded[part] == live[part], part
    assert recorded["memory"]["total_bytes"] == live["memory"]["total_bytes"]
    text = "".join(path.read_text() for path in folder.iterdir())
    assert host.address not in text and host.name not in text, "the recording holds the host's address or name"


def test_a_hanging_amd_smi_is_a_warning_and_the_rest_is_there(make_host):
    host = make_host("genoa-small")
    host.run_local("sh", "-c", "mkdir -p /run/shims; printf '#!/bin/sh\\nsleep 600\\n' > /run/shims/amd-smi; chmod +x /run/shims/amd-smi; "
                               "mount --bind /run/shims/amd-smi /usr/local/bin/amd-smi 2>/dev/null || mount --bind /run/shims /usr/local/bin")
    began = time.monotonic()
    facts, _ = read(host)
    assert time.monotonic() - began < 60, "a bound, not a measurement: the sleep is ten minutes"
    assert any(warning.code == "probe-timeout" and "amd-smi" in warning.message for warning in facts.warnings)
    assert facts.cpu.generation == "Genoa" and facts.docker.reachable
