"""Pythons of other minor versions than the project's on this machine, each with the program's pinned packages in an environment of its own."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from .processes import BedError, run

OLDEST = 10
"""3.10 is the first that the program runs with."""
PLACES = ("~/.pyenv/versions/*/bin", "~/.local/share/uv/python/*/bin", "~/.asdf/installs/python/*/bin", "/opt/hostedtoolcache/Python/*/x64/bin",
          "/opt/python*/bin", "/usr/local/bin", "/usr/bin")
"""Where pyenv, uv, asdf, GitHub's machines and distributions have theirs."""
WHO = "import ensurepip, sys; print(*sys.version_info[:2], sys.implementation.name)"


def others() -> dict[int, Path]:
    """Minor version -> an interpreter that runs: all that are here but the one of the tests. uv is asked for one where there is none."""
    found = dict(_looked_up())
    if not found and shutil.which("uv"):
        run("uv", "python", "install", "3.12" if sys.version_info.minor != 12 else "3.13", check=False, timeout=300)
        found = dict(_looked_up())
    return found


def _looked_up() -> Iterator[tuple[int, Path]]:
    folders = [each for each in os.environ["PATH"].split(os.pathsep) if "shims" not in each]
    for place in PLACES:
        folders += sorted(glob.glob(os.path.expanduser(place)))
    named = [path for folder in folders for path in sorted(Path(folder).glob("python3*")) if re.fullmatch(r"python3(\.\d+)?", path.name)]
    for python in dict.fromkeys(named):
        said = run(python, "-c", WHO, check=False).stdout.split()
        if len(said) == 3 and said[0] == "3" and int(said[1]) >= OLDEST and said[2] == "cpython" and int(said[1]) != sys.version_info.minor:
            yield int(said[1]), python


def environment(python: Path, locked: Path) -> Path:
    """A virtual environment of this interpreter with what `locked` pins, hashes checked; made once for all sessions of this machine."""
    key = hashlib.sha256(locked.read_bytes() + str(python.resolve()).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amd-vllm" / "pythons"
    target = cache / f"{python.name}-{key}"
    if target.exists():
        return target
    part = target.with_name(f"{target.name}.{os.getpid()}")
    cache.mkdir(parents=True, exist_ok=True)
    run(python, "-m", "venv", part, timeout=120)
    run(part / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", locked, timeout=300)
    try:
        part.rename(target)
    except OSError:                                    # another session was first
        shutil.rmtree(part)
    if not target.exists():
        raise BedError(f"{target} could not be made")
    return target


class Interpreters:
    """Which Pythons ran in a folder: those that the kernel says processes with that working directory are."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._over = folder.resolve(), threading.Event()
        self.seen: set[Path] = set()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Interpreters:
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.1):
            for process in filter(str.isdigit, os.listdir("/proc")):
                try:
                    program = Path(os.readlink(f"/proc/{process}/exe"))
                    if program.name.startswith("python") and Path(os.readlink(f"/proc/{process}/cwd")) == self._folder:
                        self.seen.add(program)
                except OSError:
                    continue

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
