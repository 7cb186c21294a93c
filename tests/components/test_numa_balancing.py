"""The lines that switch NUMA balancing off and put the old value back, run by this machine's shell on a file that stands for the kernel's."""
from __future__ import annotations

import os
import subprocess

import pytest

from components import numa_balancing
from providers.transport.address import Target

HERE, FAR = Target("box", "local"), Target("box", "ssh://ops@[2001:db8::1]:2222")


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    file = tmp_path / "numa_balancing"
    monkeypatch.setattr(numa_balancing, "FILE", str(file))
    return file


def run(script: str, old: str | None = None) -> subprocess.CompletedProcess[str]:
    """As the plugin runs it: the last standard output in the environment, none the first time."""
    environment = {**os.environ, **({} if old is None else {"PULUMI_COMMAND_STDOUT": old})}
    return subprocess.run(["/bin/sh", "-c", numa_balancing._command(HERE, script)], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.skipif(os.getuid() != 0, reason="as root; others go through sudo")
@pytest.mark.parametrize("old", ["0", "1", "2"])
def test_the_old_value_is_kept_through_updates_and_put_back(kernel, old):
    kernel.write_text(f"{old}\n")
    assert run(numa_balancing._OFF).stdout == f"{old}\n" and kernel.read_text() == "0\n"
    assert run(numa_balancing._OFF, old).stdout == f"{old}\n", "an update does not take 0 for the old value"
    assert run(numa_balancing._BACK, old).returncode == 0 and kernel.read_text() == f"{old}\n"


@pytest.mark.skipif(os.getuid() != 0, reason="as root; others go through sudo")
def test_a_value_that_somebody_set_meanwhile_stays(kernel):
    kernel.write_text("2\n")
    assert run(numa_balancing._BACK, "1").returncode == 0 and kernel.read_text() == "2\n"


def test_a_kernel_without_it_has_nothing_to_switch_off(kernel):
    assert run(numa_balancing._OFF).stdout == "0\n" and not kernel.exists()


def test_what_cannot_be_written_is_told(kernel):
    kernel.mkdir()
    failed = run(numa_balancing._OFF)
    assert failed.returncode == 1 and "[no-access] box: kernel.numa_balancing could not be set" in failed.stderr and "remove fixNumaBalancing" in failed.stderr


def test_over_ssh_it_is_our_own_connection():
    line = numa_balancing._command(FAR, numa_balancing._OFF)
    assert " ssh -o BatchMode=yes " in line and f"ControlPath={FAR.control_path}" in line and "-l ops -p 2222 -- 2001:db8::1 " in line
