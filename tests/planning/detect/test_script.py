"""The probe script on this machine's shells: one round trip, hanging tools cost their own limit only, nothing is left behind."""
from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from planning.detect import probes, read_host, summary
from planning.detect.probes import Probe
from planning.detect.probes.script import script as script_of
from planning.detect.sources import subject_of

SHELLS = [shell for shell in (["sh"], ["dash"], ["busybox", "sh"], ["bash", "--posix"]) if shutil.which(shell[0])]


def run(shell: list[str], text: str, path: str | None = None, folder: Path | None = None, seconds: float = 60) -> tuple[dict[str, str], float]:
    environment = {**os.environ, **({"PATH": path} if path else {}), **({"TMPDIR": str(folder)} if folder else {})}
    started = time.monotonic()
    done = subprocess.run([*shell, "-s"], input=text.encode(), capture_output=True, timeout=seconds, env=environment)
    assert done.returncode == 0, done.stderr
    return probes.split(done.stdout.decode(errors="replace")), time.monotonic() - started


def statuses(sections: dict[str, str]) -> dict[str, int]:
    return {line.split()[0]: int(line.split()[1]) for line in sections["probe-status.txt"].splitlines()}


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_one_round_trip_tells_this_machine(shell: list[str], tmp_path: Path) -> None:
    sections, _ = run(shell, probes.script(("facts", "survey")), folder=tmp_path)
    assert set(sections) == {probe.name for probe in probes.PROBES} | {"probe-status.txt"}
    facts, survey = read_host("here", sections)
    assert facts.cpu.cpus_online == os.cpu_count() and len(facts.cpu.topology) == facts.cpu.cpus_online
    assert facts.memory.total_bytes and survey.available_bytes and facts.uid == os.getuid()
    assert facts.gpus.state != "unknown" and survey.used_ports is not None and survey.socket_load
    assert "unknown" not in summary(facts)
    assert list(tmp_path.iterdir()) == []


def test_every_probe_is_read_by_somebody() -> None:
    names = [probe.name for probe in probes.PROBES]
    assert len(set(names)) == len(names)
    for probe in probes.PROBES:
        assert subject_of(probe.name) == probe.parser and probe.why and probe.timeout_seconds <= 10, probe.name
        assert probe.group in ("facts", "survey") and "AMD_VLLM_PROBE_END" not in probe.command


def fake_tools(folder: Path, tools: dict[str, str]) -> str:
    folder.mkdir()
    for name, text in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_sleeping_amd_smi_costs_its_limit(tmp_path: Path) -> None:
    path = fake_tools(tmp_path / "bin", {"amd-smi": "sleep 300"})
    wanted = [probe for probe in probes.PROBES if probe.lane == "amd-smi" or probe.name in ("lscpu.txt", "meminfo.txt")]
    quick = [Probe(**{**probe.__dict__, "timeout_seconds": 2}) for probe in wanted]
    sections, seconds = run(["sh"], script_of(quick), path)
    found = statuses(sections)
    assert found["amd-smi-static.json"] == 124 and found["lscpu.txt"] == 0
    assert seconds < 2 + 8
    facts, _ = read_host("box", sections)
    assert any(note.code == "probe-timeout" and "amd-smi-static.json" in note.message for note in facts.warnings)
    assert facts.cpu.sockets and facts.memory.total_bytes


def test_without_timeout_the_shell_watches(tmp_path: Path) -> None:
    path = fake_tools(tmp_path / "bin", {"timeout": "exit 127", "amd-smi": "exec sleep 300"})
    hanging = Probe("amd-smi-list.json", "exec amd-smi", "amd-smi", "hangs", timeout_seconds=1)
    fine = Probe("meminfo.txt", "grep ^MemTotal /proc/meminfo", "meminfo", "answers")
    sections, seconds = run(["sh"], script_of([hanging, fine]), path)
    assert statuses(sections) == {"amd-smi-list.json": 124, "meminfo.txt": 0} and seconds < 8


def test_a_tool_that_ignores_signals_cannot_hold_the_connection() -> None:
    deaf = Probe("rocminfo.txt", "trap '' TERM INT HUP; n=0; while [ $n -lt 12 ]; do sleep 1; n=$((n+1)); done", "rocminfo", "deaf", timeout_seconds=1)
    sections, seconds = run(["sh"], script_of([deaf]))
    assert statuses(sections) == {"rocminfo.txt": 124} and seconds < 8


def test_output_is_limited_and_said(tmp_path: Path) -> None:
    endless = Probe("rocminfo.txt", "yes", "rocminfo", "endless", timeout_seconds=3, max_bytes=10_000)
    sections, _ = run(["sh"], script_of([endless]), folder=tmp_path)
    assert len(sections["rocminfo.txt"]) <= 10_001 and statuses(sections)["rocminfo.txt"] in (250, 124)


def test_text_comes_through_as_it_is() -> None:
    exact = [Probe("a.txt", "printf 'no newline'", "unknown", "-"), Probe("b.txt", "printf 'x\\n\\n'", "unknown", "-"), Probe("c.txt", ":", "unknown", "-"),
             Probe("d.txt", "echo '==0 BEGIN a.txt'; echo \"it's \\$HOME\"; cat", "unknown", "-"), Probe("e.txt", "exit 3", "unknown", "-")]
    sections, _ = run(["sh"], script_of(exact))
    assert [sections[name] for name in ("a.txt", "b.txt", "c.txt", "e.txt")] == ["no newline", "x\n\n", "", ""]
    assert sections["d.txt"] == "==0 BEGIN a.txt\nit's $HOME\n" and statuses(sections)["e.txt"] == 3


def test_split_survives_banners_and_a_broken_connection() -> None:
    done = subprocess.run(["sh", "-s"], input=script_of([Probe("a.txt", "echo 1", "unknown", "-"), Probe("b.txt", "echo 2", "unknown", "-")]).encode(),
                          capture_output=True)
    text = "Welcome!\n==x BEGIN nothing\n" + done.stdout.decode()
    assert probes.split(text)["b.txt"] == "2\n" and probes.split(text.replace("\n", "\r\n"))["a.txt"].strip() == "1"
    assert probes.split("") == {} and probes.split("ssh: connection refused\n") == {}
    for end in range(len(text)):
        part = probes.split(text[:end])
        assert all(part[name] == value for name, value in (("a.txt", "1\n"), ("b.txt", "2\n")) if name in part)


def test_the_script_is_plain_posix_sh() -> None:
    text = probes.script(("facts", "survey"))
    assert "[[" not in text.replace("[[:", "") and "function " not in text and "<<<" not in text and "sudo " not in text.replace(" sudo;", "")
    subprocess.run(["sh", "-n"], input=text.encode(), check=True)
