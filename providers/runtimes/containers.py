"""What Docker and Podman share: the same words on the command line, the same JSON back."""
from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planning.errors import Refusal
from providers.runtimes.arguments import create_arguments
from providers.runtimes.base import LOG_LINES, START_SECONDS, Secrets, Software, check
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection, Result

STACK_SECONDS, FETCH_SECONDS = 120, 6 * 3600

_INSPECT = '''rt=$1; shift
for name in "$@"; do
  if seen=$("$rt" inspect --type container "$name" 2>/dev/null); then printf '%s\\n' "$seen"; continue; fi
  said=$("$rt" inspect --type container "$name" 2>&1) && { printf '%s\\n' "$said"; continue; }
  case $said in *"o such container"*) echo "[]" ;; *) printf '%s\\n' "$said" >&2; exit 1 ;; esac
done'''
_LOOK = '"$1" inspect --type container "$2" && echo --amd-vllm-log-- && "$1" logs --tail "$3" "$2" 2>&1 | head -c 4000000'
_START = '''set -eu
[ -z "$3" ] || "$1" update --cpuset-mems "$3" "$2" >/dev/null
"$1" start "$2" >/dev/null
"$1" inspect --type container --format '{{.State.StartedAt}}' "$2"'''
_STOP = '"$1" stop --time 10 "$2" >/dev/null'
_REMOVE = '''"$1" inspect --type container "$2" >/dev/null 2>&1 || exit 0
"$1" stop "$2" >/dev/null 2>&1
"$1" rm --force "$2" >/dev/null'''
_THERE = '"$1" image inspect "$2" >/dev/null 2>&1'
_FETCH = '"$1" pull "$2" >/dev/null'
_CREATE = 'rt=$1; shift; "$rt" create "$@"'
_COPY = '"$1" cp - "$2:/"'
_LAST_EXIT = """"$1" events --since 24h --until "$(date +%s)" --filter "container=$2" --filter event=die \
--format '{{.Actor.Attributes.exitCode}}' 2>/dev/null | tail -n 1"""
_SOFTWARE = '''set -eu
image=$3
[ -z "$2" ] || image=$("$1" inspect --type container --format '{{.Image}}' "$2")
"$1" image inspect "$image"'''
_READ_STACK = '''rt=$1 image=$2 code=$3 name=$4 seconds=$5; shift 5
trap '"$rt" rm --force "$name" >/dev/null 2>&1' EXIT
timeout "$seconds" "$rt" run --rm --name "$name" --label amd-vllm.probe=stack --network none --entrypoint python3 "$@" "$image" -c "$code" </dev/null'''


class Containers:
    """A runtime whose command is `command`, found on the host's PATH."""

    def __init__(self, command: str) -> None:
        self.command = command

    def fetch(self, connection: Connection, launch: Mapping[str, Any], say: Callable[[str], None]) -> None:
        image = self.image_name(launch["image"])
        if connection.run(_THERE, arguments=[self.command, image]).status == 0:
            return
        say(f"pulling {image}")
        check(connection, connection.run(_FETCH, arguments=[self.command, image], timeout=FETCH_SECONDS), f"{image} could not be pulled")

    def create(self, connection: Connection, launch: Mapping[str, Any], secrets: Secrets) -> str:
        words = [self.command, *create_arguments(launch, self.image_name(launch["image"]))]
        made = check(connection, connection.run(_CREATE, arguments=words, timeout=START_SECONDS), "the container could not be created")
        name = made.stdout.split()[-1]
        path = launch["environment"].get("HF_TOKEN_PATH")
        if path and secrets.hf_token:
            self._put(connection, name, path, secrets.hf_token, int((launch.get("user") or "0").partition(":")[0]))
        return name

    def hand_over(self, connection: Connection, name: str, path: str, token: str) -> None:
        self._put(connection, name, path, token, 0)

    def _put(self, connection: Connection, name: str, path: str, token: str, owner: int) -> None:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.uid = len(token.encode()), 0o400, owner
            tar.addfile(entry, io.BytesIO(token.encode()))
        result = connection.run(_COPY, arguments=[self.command, name], stdin=data.getvalue())
        if result.status:
            raise CommandFailed(Refusal("runtime-failed", f"{connection.target.name}: the Hub token could not be put into the container",
                                        result.stderr[-300:], f"`{self.command} cp` that works", "look at the runtime's own log on the host"))

    def start(self, connection: Connection, name: str, cpuset_mems: str | None = None) -> str:
        result = connection.run(_START, arguments=[self.command, name, cpuset_mems or ""], timeout=START_SECONDS)
        return check(connection, result, "the container could not be started").stdout.strip()

    def stop(self, connection: Connection, name: str) -> None:
        connection.run(_STOP, arguments=[self.command, name], timeout=60)

    def remove(self, connection: Connection, name: str) -> None:
        result = connection.run(_REMOVE, arguments=[self.command, name], timeout=3700)
        check(connection, result, f"the container {name} could not be removed")

    def inspect(self, connection: Connection, names: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
        result = check(connection, connection.run(_INSPECT, arguments=[self.command, *names]), f"{self.command} did not tell of its containers")
        return dict(zip(names, _decoded(connection, result.stdout, "Config", "HostConfig", "State")))

    def look(self, connection: Connection, name: str, lines: int = LOG_LINES) -> tuple[Mapping[str, Any] | None, str]:
        result = connection.run(_LOOK, arguments=[self.command, name, str(lines)])
        if result.status and "no such container" not in result.stderr.lower():
            check(connection, result, f"{self.command} did not tell of {name}")
        head, _, log = result.stdout.partition("--amd-vllm-log--\n")
        return (_decoded(connection, head, "Config", "HostConfig", "State")[0], log) if result.status == 0 and head.strip() else (None, "")

    def last_exit(self, connection: Connection, name: str) -> int | None:
        told = connection.run(_LAST_EXIT, arguments=[self.command, name]).stdout.strip()
        return int(told) if told.isdigit() else None

    def software(self, connection: Connection, launch: Mapping[str, Any], name: str | None = None) -> Software:
        words = [self.command, name or "", self.image_name(launch["image"])]
        result = check(connection, connection.run(_SOFTWARE, arguments=words), "the image could not be inspected")
        image = _decoded(connection, result.stdout)[0] or {"Id": ""}
        return Software(image["Id"].removeprefix("sha256:"), tuple(map(str, image.get("RepoDigests") or ())))

    def read_stack(self, connection: Connection, software: Software, code: str, launch: Mapping[str, Any]) -> Result:
        """With the devices and groups of the endpoint: vLLM's ROCm platform is only there where it sees a GPU."""
        options = [word for key, values in (("--device", launch.get("devices")), ("--group-add", launch.get("group_add"))) for value in values or ()
                   for word in (key, value)]
        words = [self.command, software.image_id, code, f"{launch['container_name']}-stack", str(STACK_SECONDS), *options]
        return connection.run(_READ_STACK, arguments=words, timeout=STACK_SECONDS + 30)

    def image_name(self, image: str) -> str:
        return image


def _decoded(connection: Connection, text: str, *parts: str) -> list[dict[str, Any] | None]:
    """What `inspect` printed: for each name a list of one object that has an Id and `parts`, or of none. Raises CommandFailed for anything else."""
    decoder, text, found = json.JSONDecoder(), text.lstrip(), []
    try:
        while text:
            value, end = decoder.raw_decode(text)
            found.append({**value[0], "Id": str(value[0]["Id"]), **{part: dict(value[0][part]) for part in parts}} if value else None)
            text = text[end:].lstrip()
    except (ValueError, LookupError, TypeError, RecursionError):
        raise CommandFailed(Refusal("runtime-failed", f"{connection.target.name}: what `inspect` printed cannot be read", text[:300], "JSON",
                                    "look at what the runtime's own command prints on the host")) from None
    return found
