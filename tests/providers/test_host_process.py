"""The runtime `host` on this machine: made, started, kept running, stopped, gone; and under a (made-up) systemd of the user."""
from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from providers.runtimes import Secrets, runtime_of
from providers.runtimes import host as host_runtime
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection

NAME = "vllm-unit-chat"
ENGINE = """#!/bin/sh
echo "started with $VLLM_API_KEY in $(pwd) args $*"
[ "$2" != crash ] || exit 3
trap 'exit 0' TERM
while :; do sleep 0.1; done
"""
SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$HOME/systemctl.log"
unit="$HOME/.config/systemd/user/vllm-unit-chat.service"
case "$*" in
  *restart*) setsid nohup sh -c "$(sed -n 's/^ExecStart=//p' "$unit")" >/dev/null 2>&1 </dev/null & ;;
esac
"""


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    program = tmp_path / "env" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(ENGINE)
    program.chmod(0o755)
    yield tmp_path
    runtime_of("host").remove(Connection(Target("here", "local")), NAME)


def launch(home: Path, *command: str, restart: str = "unless-stopped") -> dict:
    return {"runtime": "host", "image": "x:1", "container_name": NAME, "entrypoint": [f"{home}/env/bin/python", "-m"], "command": list(command) or ["serve"],
            "environment": {"A": "with blanks and 'quotes' $HOME"}, "labels": {"amd-vllm.stack": "unit", "amd-vllm.endpoint": "chat"}, "restart": restart,
            "stop_seconds": 5}


def until(true, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def status(runtime, connection) -> str | None:
    seen = runtime.inspect(connection, [NAME])[NAME]
    return seen and seen["State"]["Status"]


def surveyed(connection) -> list[tuple]:
    """What the survey of a later run sees of it."""
    from planning.detect.containers import parse
    from planning.detect.probes.survey import PROCESSES

    return [(c.name, c.stack, c.endpoint, c.running) for c in parse(connection.run(PROCESSES).stdout)[2]]


def running_in(folder: Path) -> list[str]:
    found = []
    for process in os.listdir("/proc"):
        try:
            found += [process] if process.isdigit() and os.readlink(f"/proc/{process}/cwd") == str(folder) else []
        except OSError:
            continue
    return found


def test_made_started_stopped_gone(home):
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    made = runtime.create(connection, launch(home), Secrets(api_key="sk-1"))
    assert made.startswith(f"{NAME}@") and status(runtime, connection) == "created"
    with pytest.raises(CommandFailed, match="name-taken"):
        runtime.create(connection, launch(home), Secrets())
    began = runtime.start(connection, made)
    assert began.endswith("Z") and runtime.start(connection, made) == began, "a second start leaves it alone"
    folder = home / ".local/state/amd-vllm" / NAME
    until(lambda: "started" in runtime.look(connection, NAME)[1])
    seen, log = runtime.look(connection, NAME)
    assert (seen["State"]["Status"], seen["Config"]["Cmd"], seen["Config"]["Env"]) == ("running", ["serve"], ["A=with blanks and 'quotes' $HOME"])
    assert log == f"started with sk-1 in {folder} args -m serve\n" and seen["Id"] == made
    assert surveyed(connection) == [(NAME, "unit", "chat", True)]
    runtime.stop(connection, NAME)
    assert status(runtime, connection) == "exited" and not running_in(folder)
    assert surveyed(connection) == [(NAME, "unit", "chat", False)]
    runtime.start(connection, NAME)
    assert status(runtime, connection) == "running", "started again by its name, as after a refresh"
    runtime.remove(connection, made)
    assert status(runtime, connection) is None and not folder.exists() and not running_in(folder)
    runtime.remove(connection, made)


def test_an_engine_that_ends_is_started_again_and_counted(home):
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    runtime.start(connection, runtime.create(connection, launch(home, "crash"), Secrets()))
    until(lambda: runtime.inspect(connection, [NAME])[NAME]["RestartCount"] >= 2)
    seen = runtime.inspect(connection, [NAME])[NAME]
    assert seen["State"]["Status"] in ("restarting", "running")
    runtime.stop(connection, NAME)
    assert status(runtime, connection) == "exited"


def test_what_runs_once_keeps_its_exit_status(home):
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    runtime.start(connection, runtime.create(connection, launch(home, "crash", restart="no"), Secrets()))
    until(lambda: status(runtime, connection) == "exited")
    seen = runtime.inspect(connection, [NAME])[NAME]
    assert (seen["State"]["ExitCode"], seen["RestartCount"]) == (3, 0)


def test_another_ones_folder_is_not_started(home):
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    runtime.create(connection, launch(home), Secrets())
    with pytest.raises(CommandFailed, match="another's"):
        runtime.start(connection, f"{NAME}@0000")


@pytest.mark.parametrize("kept", [0, 700, 1800, 4000])
def test_a_folder_is_made_whole_or_not_at_all(home, kept, monkeypatch):
    """The archive ends in the middle, as on a full disk or a cut connection."""
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    whole = host_runtime.archive
    monkeypatch.setattr(host_runtime, "archive", lambda content: whole(content)[:kept])
    with pytest.raises(CommandFailed):
        runtime.create(connection, launch(home), Secrets(api_key="sk-1"))
    assert list((home / ".local/state/amd-vllm").iterdir()) == [] and status(runtime, connection) is None
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    assert runtime.create(connection, launch(home), Secrets())


def test_a_damaged_folder_is_no_process_and_can_be_removed(home):
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    runtime.create(connection, launch(home), Secrets())
    folder = home / ".local/state/amd-vllm" / NAME
    (folder / "argv").unlink()
    assert status(runtime, connection) is None
    runtime.remove(connection, NAME)
    assert not folder.exists()


def test_what_another_made_under_the_name_is_not_removed(home):
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    made = runtime.create(connection, launch(home), Secrets())
    runtime.remove(connection, f"{NAME}@0000")
    assert runtime.inspect(connection, [NAME])[NAME]["Id"] == made


def test_the_users_systemd_keeps_it_where_the_user_lingers(home, monkeypatch):
    tools = home / "tools"
    tools.mkdir()
    for name, text in {"systemctl": SYSTEMCTL, "loginctl": "#!/bin/sh\necho yes\n"}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    runtime, connection = runtime_of("host"), Connection(Target("here", "local"))
    made = runtime.create(connection, launch(home), Secrets())
    runtime.start(connection, made)
    unit = home / ".config/systemd/user" / f"{NAME}.service"
    assert unit.read_text().splitlines()[0] == f"# amd-vllm {NAME}" and "TimeoutStopSec=5" in unit.read_text()
    assert status(runtime, connection) == "running"
    runtime.remove(connection, made)
    asked = (home / "systemctl.log").read_text().splitlines()
    assert [f"--user {verb}" for verb in ("show-environment", "daemon-reload", f"enable --quiet {NAME}", f"restart {NAME}")] == asked[:4]
    assert not unit.exists() and f"--user disable --now --quiet {NAME}" in asked
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    made = runtime.create(connection, launch(home), Secrets())
    with pytest.raises(CommandFailed, match="not ours"):
        runtime.start(connection, made)
    runtime.remove(connection, made)
    assert unit.exists(), "somebody else's unit stays"
