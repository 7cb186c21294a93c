"""A Pulumi stack that is measured: a copy of a program, with state, passphrase and Hub cache of its own.

Unlike the tests' projects it keeps Python's bytecode, as every checkout does after its first run.
"""
from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.processes import Cost, run
from tests.e2e.bed.pulumi_run import base_environment

CHECKOUT = Path(__file__).resolve().parents[1]
OURS = ("Pulumi.yaml", "__main__.py", "components", "planning", "providers", "data")
STACK = "bench"


class Stack:
    """`name` is a folder below `folder`; `source`: which files are the program, from which folder of the checkout."""

    def __init__(self, folder: Path, hub_url: str | None = None, source: Path = CHECKOUT, files: tuple[str, ...] = OURS) -> None:
        self.folder = folder / "program"
        self.folder.mkdir(parents=True)
        for name in files:
            copy = shutil.copytree if (source / name).is_dir() else shutil.copy2
            copy(source / name, self.folder / name)
        (self.folder / ".venv").symlink_to(CHECKOUT / ".venv")
        (self.folder / "stacks").mkdir()
        (folder / "state").mkdir()
        self.environment = base_environment(CHECKOUT, folder)
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.environment.update({"HF_ENDPOINT": hub_url} if hub_url else {})
        self.run("stack", "init", STACK).ok()

    def configure(self, **config: Any) -> None:
        """The whole configuration, by the keys of the project `amd-vllm`."""
        path = self.folder / "stacks" / f"Pulumi.{STACK}.yaml"
        salt = [line for line in path.read_text().splitlines() if line.startswith("encryptionsalt:")] if path.exists() else []
        path.write_text("\n".join([*salt, "config: " + json.dumps({f"amd-vllm:{key}": value for key, value in config.items()})]) + "\n")

    def preview(self, **options: Any) -> Cost:
        return self.run("preview", **options)

    def up(self, **options: Any) -> Cost:
        return self.run("up", "--yes", "--skip-preview", **options)

    def refresh(self) -> Cost:
        return self.run("refresh", "--yes", "--skip-preview")

    def destroy(self) -> Cost:
        return self.run("destroy", "--yes", "--skip-preview")

    def run(self, *words: str, memory: bool = False, extra: Mapping[str, str] = {}) -> Cost:
        """`pulumi WORDS` on this stack."""
        stack = [] if words[:2] == ("stack", "init") else ["--stack", STACK]
        return run(["pulumi", "-C", str(self.folder), "--non-interactive", "--color", "never", *words, *stack], {**self.environment, **extra}, memory=memory)

    def state_bytes(self) -> int:
        """Size of the state file."""
        return sum(os.path.getsize(path) for path in (self.folder.parent / "state" / ".pulumi" / "stacks").rglob(f"{STACK}.json"))
