"""The runtime `podman`, rootful and rootless, through its own command (docs/adr/0007).

API key and Hub token are Podman secrets: given on stdin, in no argument, removed with the container. The key, which vLLM takes from its
environment, is in `inspect` while the container runs, as with Docker; the token is a file. Image names are written in full, as Podman
guesses no registry; of a tag and a digest it takes only the digest.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.errors import Refusal
from providers.runtimes.arguments import podman_arguments
from providers.runtimes.base import START_SECONDS, Secrets, check, full_name, repository
from providers.runtimes.containers import Containers
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection

_SECRET = 'podman secret rm "$1" >/dev/null 2>&1; cat | podman secret create "$1" - >/dev/null'
_CREATE = 'podman create "$@"'
_FORGET = 'for name in "$@"; do podman secret rm "$name" >/dev/null 2>&1; done; exit 0'
_NAME = 'podman inspect --type container --format "{{.Name}}" "$1" 2>/dev/null'
_LAST_EXIT = """podman events --stream=false --since 24h --filter "container=$1" --filter event=died --format '{{.ContainerExitCode}}' 2>/dev/null |
tail -n 1"""
_LINGERS = '''[ "$(id -u)" != 0 ] || { echo root; exit 0; }
loginctl show-user "$(id -un)" --property=Linger --value 2>/dev/null || echo unknown'''


class Podman(Containers):
    def create(self, connection: Connection, launch: Mapping[str, Any], secrets: Secrets) -> str:
        _must_outlive_the_session(connection)
        given = {key: value for key, value in (("api-key", secrets.api_key), ("hf-token", secrets.hf_token)) if value}
        if not launch["environment"].get("HF_TOKEN_PATH"):
            given.pop("hf-token", None)
        for key, value in given.items():
            result = connection.run(_SECRET, arguments=[secret(launch["container_name"], key)], stdin=value.encode())
            check(connection, result, "a secret could not be handed to podman")
        words = podman_arguments(launch, self.image_name(launch["image"]), tuple(given))
        made = connection.run(_CREATE, arguments=words, timeout=START_SECONDS)
        if made.status:
            self._forget(connection, launch["container_name"])
        return check(connection, made, "the container could not be created").stdout.split()[-1]

    def _forget(self, connection: Connection, container: str) -> None:
        connection.run(_FORGET, arguments=[secret(container, key) for key in ("api-key", "hf-token")])

    def hand_over(self, connection: Connection, name: str, path: str, token: str) -> None:
        """It was given when the container was created."""

    def start(self, connection: Connection, name: str, cpuset_mems: str | None = None) -> str:
        """The memory nodes were given when the container was created."""
        return super().start(connection, name)

    def last_exit(self, connection: Connection, name: str) -> int | None:
        told = connection.run(_LAST_EXIT, arguments=[name]).stdout.strip()
        return int(told) if told.isdigit() else None

    def remove(self, connection: Connection, name: str) -> None:
        told = connection.run(_NAME, arguments=[name]).stdout.strip() or name
        super().remove(connection, name)
        self._forget(connection, told)

    def image_name(self, image: str) -> str:
        """`docker.io/library/x:1` of `x:1`; the digest alone where there is one."""
        digest = image.partition("@")[2]
        return f"{repository(image)}@{digest}" if digest else full_name(image)


def secret(container: str, key: str) -> str:
    return f"{container}-{key}"


def _must_outlive_the_session(connection: Connection) -> None:
    """A rootless container ends with its user's last session, unless systemd lets the user linger."""
    if connection.run(_LINGERS).stdout.strip() == "no":
        raise CommandFailed(Refusal("no-linger", f"{connection.target.name}: rootless containers end with the user's last session", "Linger=no",
                                    "a user that lingers", "run `loginctl enable-linger` once as that user on the host"))


RUNTIME = Podman("podman")
