"""The runtime `host`: a Python environment with vllm on the machine, kept running by a supervisor of ours in a folder of its own.

The user's systemd keeps the supervisor where it answers and the user lingers; else it is a session of its own, which outlives the
SSH session. Everything lies in ~/.local/state/amd-vllm/NAME and goes with it. An id is NAME@NONCE. Scripts: `host_scripts`.
"""
from __future__ import annotations

import io
import json
import secrets as random
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planning.errors import Refusal
from providers.runtimes import host_scripts as scripts
from providers.runtimes.base import LOG_LINES, START_SECONDS, Secrets, Software, check
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection, Result

STACK_SECONDS = 120
MARK = "--amd-vllm-log--\n"


class HostProcesses:
    """Processes on the host itself."""

    def fetch(self, connection: Connection, launch: Mapping[str, Any], say: Callable[[str], None]) -> None:
        """There is no image: the environment is the user's."""

    def create(self, connection: Connection, launch: Mapping[str, Any], secrets: Secrets) -> str:
        nonce, name = random.token_hex(6), launch["container_name"]
        made = connection.run(scripts.CREATE, arguments=[name], stdin=archive(files(launch, secrets, nonce)), timeout=START_SECONDS)
        if made.status == 17:
            raise CommandFailed(Refusal("name-taken", f"{connection.target.name}: {name}", made.stderr.strip()[-200:], "no folder of that name",
                                        "look at it, and remove it if nothing of yours is in it"))
        check(connection, made, "the process could not be prepared")
        return f"{name}@{nonce}"

    def hand_over(self, connection: Connection, name: str, path: str, token: str) -> None:
        """It was given when the process was prepared."""

    def start(self, connection: Connection, name: str, cpuset_mems: str | None = None) -> str:
        folder, _, nonce = name.partition("@")
        nonce = nonce or str((self._seen(connection, folder, 0)[0] or {}).get("Id", "")).partition("@")[2]
        result = connection.run(scripts.START, arguments=[folder, nonce], timeout=START_SECONDS)
        return check(connection, result, "the process could not be started").stdout.strip()

    def stop(self, connection: Connection, name: str) -> None:
        connection.run(scripts.STOP, arguments=[name.partition("@")[0]], timeout=3700)

    def remove(self, connection: Connection, name: str) -> None:
        folder, _, nonce = name.partition("@")
        seen = self._seen(connection, folder, 0)[0]
        if nonce and seen and seen["Id"] != name:
            return          # another has the name by now
        self.stop(connection, folder)
        check(connection, connection.run(scripts.REMOVE, arguments=[folder], timeout=120), f"the folder of {folder} could not be removed")

    def inspect(self, connection: Connection, names: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
        return {name: self._seen(connection, name, 0)[0] for name in names}

    def look(self, connection: Connection, name: str, lines: int = LOG_LINES) -> tuple[Mapping[str, Any] | None, str]:
        return self._seen(connection, name, lines)

    def last_exit(self, connection: Connection, name: str) -> int | None:
        return None     # the state itself says it

    def software(self, connection: Connection, launch: Mapping[str, Any], name: str | None = None) -> Software:
        return Software()

    def read_stack(self, connection: Connection, software: Software, code: str, launch: Mapping[str, Any]) -> Result:
        return connection.run(scripts.READ_STACK, arguments=[interpreter(launch), code, str(STACK_SECONDS)], timeout=STACK_SECONDS + 30)

    def image_name(self, image: str) -> str:
        return image

    def _seen(self, connection: Connection, name: str, lines: int) -> tuple[Mapping[str, Any] | None, str]:
        result = connection.run(scripts.LOOK, arguments=[name.partition("@")[0], str(lines)])
        head, _, log = result.stdout.partition(MARK)
        state = described(head) if result.status == 0 else None
        return state, log if state else ""


def interpreter(launch: Mapping[str, Any]) -> str:
    """The Python of the launch: what stands before `-m`."""
    words = list(launch["entrypoint"])
    return words[words.index("-m") - 1]


def files(launch: Mapping[str, Any], secrets: Secrets, nonce: str) -> dict[str, tuple[str, int]]:
    """Name -> content and mode of what the state folder begins with. Raises CommandFailed for a value of several lines."""
    words = [*launch["entrypoint"], *launch["command"]]
    environment = [f"{name}={value}" for name, value in sorted(launch["environment"].items())]
    hidden = [f"VLLM_API_KEY={secrets.api_key}"] if secrets.api_key else []
    if any("\n" in line or "\r" in line for line in (*words, *environment, *hidden)):
        raise CommandFailed(Refusal("bad-value", f"{launch['container_name']}: arguments and variables of a process on the host", "one with a line break",
                                    "single lines", "remove the line break from extraArgs, env or the API key"))
    meta = {"Id": f"{launch['container_name']}@{nonce}", "Image": launch["image"], "Labels": dict(launch["labels"]), "entrypoint": len(launch["entrypoint"])}
    row = {"Names": launch["container_name"], "Labels": dict(launch["labels"]), "State": "@STATE@"}   # for the survey of a later run
    token = {"hf_token": (secrets.hf_token, 0o600)} if secrets.hf_token and launch["environment"].get("HF_TOKEN_PATH") else {}
    return {"id": (nonce, 0o600), "meta.json": (json.dumps(meta), 0o600), "ps.json": (json.dumps(row), 0o600),
            "argv": (_listed(words), 0o600), "environment": (_listed(environment), 0o600),
            "secrets": (_listed(hidden), 0o600), "policy": (f"{launch['restart']} {int(launch['stop_seconds'])}\n", 0o600),
            "supervise.sh": (scripts.SUPERVISE, 0o700), "stop.sh": (scripts.STOP_FILE, 0o700), **token}


def archive(content: Mapping[str, tuple[str, int]]) -> bytes:
    """The files as one tar, which goes to the host through stdin."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (text, mode) in content.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), mode
            tar.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def described(head: str) -> dict[str, Any] | None:
    """What LOOK printed, as `docker inspect` would say it. None where there is no such folder, or a damaged one."""
    first, _, rest = head.partition("\n")
    try:
        meta = json.loads(first)
        return _described(meta, rest.split("\n")) if meta else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _described(meta: Mapping[str, Any], lines: Sequence[str]) -> dict[str, Any]:
    status, restarts, ended = [*(lines[0].split() or ["created"]), "0", "0"][:3]
    alive = lines[2] == "alive"
    if status in ("running", "restarting") and not alive:
        status, ended = "exited", "137"                 # the supervisor itself was killed, or the machine restarted
    argv, after = _block(lines, 3)
    environment, _ = _block(lines, after)
    return {"Id": meta["Id"], "Name": meta["Id"].partition("@")[0], "RestartCount": int(restarts),
            "State": {"Status": status, "Running": status == "running", "ExitCode": int(ended), "OOMKilled": False, "StartedAt": lines[1]},
            "Config": {"Image": meta["Image"], "Labels": dict(meta["Labels"]), "Entrypoint": argv[:meta["entrypoint"]],
                       "Cmd": argv[meta["entrypoint"]:], "Env": environment},
            "HostConfig": {"CpusetCpus": "", "CpusetMems": ""}}


def _block(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    count = int(lines[at])
    return list(lines[at + 1:at + 1 + count]), at + 1 + count


def _listed(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


RUNTIME = HostProcesses()
