"""Which Pulumi: an installed one of a sufficient version, else one that is built here (`toolchain.py`)."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import toolchain
from .progress import say

OLDEST = (3, 270, 0)
"""The oldest CLI that the tests ran with the Python SDK of requirements.txt."""


@dataclass(frozen=True)
class Pulumi:
    """A Pulumi to use. `bin` and `home` are None for an installed one: it has its own."""

    version: str
    bin: Path | None = None
    home: Path | None = None

    @property
    def built_here(self) -> bool:
        return self.bin is not None

    def describe(self) -> str:
        where = "built from Go modules, a stand-in for the official download" if self.built_here else "installed"
        return f"pulumi {self.version} ({where})"


def prepare(checkout: Path) -> Pulumi:
    """The Pulumi that this checkout uses, built first when it must be."""
    installed = _installed()
    if installed:
        return installed
    folder = toolchain.prepare(checkout)
    return Pulumi(version=toolchain.PULUMI_VERSION, bin=folder / "bin", home=folder / "home")


def _installed() -> Pulumi | None:
    """`pulumi` on PATH, unless it is one of ours or too old."""
    ours = str(toolchain.cache())
    folders = [each for each in os.environ.get("PATH", "").split(os.pathsep) if each and not each.startswith(ours)]
    found = shutil.which("pulumi", path=os.pathsep.join(folders))
    if not found:
        return None
    asked = subprocess.run([found, "version"], capture_output=True, text=True,
                           env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"})
    numbers = re.match(r"v?(\d+)\.(\d+)\.(\d+)", asked.stdout.strip())
    version = tuple(int(each) for each in numbers.groups()) if numbers else (0, 0, 0)
    if version < OLDEST:
        say(f"{found} is {asked.stdout.strip() or 'of unknown version'}; "
            f"needed is {'.'.join(map(str, OLDEST))} or newer: building one beside it")
        return None
    return Pulumi(version=".".join(map(str, version)))
