"""What every runtime does for one endpoint, over one connection. Scripts are constants with positional arguments.

State is what `docker inspect` says: {"Id", "Image", "State": {"Status", "ExitCode", …}, "RestartCount", "Config", "HostConfig"}.
A runtime touches only what carries our labels; who removes something has looked at them before.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from planning.errors import Refusal
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection, Result

LABEL = "amd-vllm."
LOG_LINES = 4000
START_SECONDS = 120


@dataclass(frozen=True)
class Secrets:
    """What only exists as a secret. Never in an argument, a state, a log; a runtime hands it over through stdin."""

    api_key: str | None = None
    hf_token: str | None = None


@dataclass(frozen=True)
class Software:
    """What will run: the image's id and digests (None, () for an environment on the host)."""

    image_id: str | None = None
    digests: tuple[str, ...] = ()

    def digest_of(self, image: str) -> str:
        """`repository@digest` of an image reference; of another repository that holds the same image where its own has none, "" without any."""
        asked = image.partition("@")[2]
        own = [each for each in self.digests if repository(each) == repository(image)]
        return next((each for each in own if asked and each.endswith(f"@{asked}")), next(iter([*own, *self.digests]), ""))


def full_name(image: str) -> str:
    """A name without its digest, as registries have it: `docker.io/library/x:1` of `x:1`."""
    name = image.partition("@")[0]
    first, slash, _ = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    return name if "." in first or ":" in first or first == "localhost" else f"docker.io/{name}"


def repository(image: str) -> str:
    """`docker.io/library/x` of `x:1@sha256:…`."""
    head, _, last = full_name(image).rpartition("/")
    return f"{head}/{last.partition(':')[0]}"


class Runtime(Protocol):
    """One way to run an engine. `launch` is the plan's launch as plain data; `name` a container's name or id."""

    def fetch(self, connection: Connection, launch: Mapping[str, Any], say: Callable[[str], None]) -> None:
        """The image onto the host, if it is not there. Minutes: never in a provider call."""

    def create(self, connection: Connection, launch: Mapping[str, Any], secrets: Secrets) -> str:
        """Made, not started; its id."""

    def hand_over(self, connection: Connection, name: str, path: str, token: str) -> None:
        """The Hub token as a file at `path`, where `create` was not ours and could not do it."""

    def start(self, connection: Connection, name: str, cpuset_mems: str | None = None) -> str:
        """When it started."""

    def stop(self, connection: Connection, name: str) -> None:
        """Stopped, and it stays stopped."""

    def remove(self, connection: Connection, name: str) -> None:
        """Gone, with its secrets; one that is gone already is no error."""

    def inspect(self, connection: Connection, names: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
        """Name -> state, None for nothing of that name. One command for all."""

    def look(self, connection: Connection, name: str, lines: int = LOG_LINES) -> tuple[Mapping[str, Any] | None, str]:
        """State and the last lines of the log; (None, "") for nothing of that name."""

    def last_exit(self, connection: Connection, name: str) -> int | None:
        """The exit status of what ended last, where it was started again since; None where nobody can say."""

    def software(self, connection: Connection, launch: Mapping[str, Any], name: str | None = None) -> Software:
        """What the created container `name` will run; without a name, what the launch's image is on the host now."""

    def read_stack(self, connection: Connection, software: Software, code: str, launch: Mapping[str, Any]) -> Result:
        """What Python code printed inside of that software, without a network; its errors say why where that cannot be."""

    def image_name(self, image: str) -> str:
        """The image as `inspect` will name it."""


def labels_of(seen: Mapping[str, Any] | None) -> Mapping[str, str]:
    """The labels of a state; none of nothing."""
    return ((seen or {}).get("Config") or {}).get("Labels") or {}


def check(connection: Connection, result: Result, what: str) -> Result:
    """The result, when the command ended well. Raises CommandFailed."""
    if result.status and "no such container" in result.stderr.lower():
        raise CommandFailed(Refusal("no-container", f"{connection.target.name}: {what}", result.stderr.strip()[-400:], "the container of this endpoint",
                                    "somebody or an interrupted run removed it: run `pulumi up --refresh`, which makes it anew"))
    if result.status:
        raise CommandFailed(Refusal("runtime-failed", f"{connection.target.name}: {what}", result.stderr.strip()[-400:] or f"exit status {result.status}",
                                    "a runtime that does what it is asked", "look at the runtime's own log on the host"))
    return result
