"""A project with the Makefile and its tools, for tests that deploy by `make up` and `make destroy`, as a user types them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from .host import Host
from .project import CHECKOUT, STACK, Project
from .pulumi_run import Result, Running

MAKES = ("Makefile", "tools", "toolchain", "requirements.txt", "requirements-dev.txt", ".amd-vllm")
"""What `make` needs besides the program."""


def copy(name: str, folder: Path) -> None:
    """A file or folder of this checkout, without its caches and local records."""
    source = CHECKOUT / name
    if source.is_dir():
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "record-*"))
    else:
        shutil.copy2(source, folder / name)


class Checkout(Project):
    """`make` finds everything set up."""

    def __init__(self, folder: Path, hub_url: str | None = None, on: Host | None = None) -> None:
        super().__init__(folder, hub_url, on)
        for name in MAKES:
            copy(name, self.folder)
        (self.folder / ".passphrase").write_text("not used\n")

    def make_up(self, connection: dict[str, Any], endpoint: dict[str, Any], timeout: float = 300) -> Result:
        """`make up` of one endpoint, from the keys of the configuration."""
        settings = {key: value for key, value in endpoint.items() if key not in ("kind", "host", "model")}
        words = " ".join(f"{key}={json.dumps(value, separators=(',', ':'))}" for key, value in settings.items())
        return self.make("up", timeout, HOST=connection["address"], KIND=endpoint["kind"], MODEL=endpoint["model"], SET=words,
                         IDENTITY_FILE=connection.get("identityFile", ""), KNOWN_HOSTS=connection.get("knownHosts", ""))

    def make_destroy(self, timeout: float = 300) -> Result:
        return self.make("destroy", timeout)

    def make(self, verb: str, timeout: float, **variables: str) -> Result:
        """`make VERB`, to its end, with the state and passphrase of this project."""
        words = ["make", "--no-print-directory", "-C", str(self.folder), verb, f"PYTHON={sys.base_prefix}/bin/python3"]
        command, environment = self.placed(words, {**self.environment, "STACK": STACK, "YES": "1", **variables})
        return Running(command, environment, None).wait(timeout)
