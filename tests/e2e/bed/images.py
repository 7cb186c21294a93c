"""The stand-in for vLLM, built once and packed into images under the names that a test wants."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from .engine import DockerEngine
from .podman import Podman
from .processes import BedError, run

SOURCE = Path(__file__).resolve().parents[1] / "stand_in"
PROGRAMS = ("usr/local/bin/vllm", "usr/bin/python3", "usr/bin/python", "bin/sh", "bin/bash", "bin/sleep", "stand-in")
"""The names by which the program is called inside an image."""

ZENTORCH = {"vllm": "0.25.1", "torch": "2.11.0+cpu", "zentorch": "2.11.0.3", "platform": "zen"}
STOCK = {"vllm": "0.25.1", "torch": "2.11.0+cpu", "zentorch": None, "platform": "cpu"}
ROCM = {"vllm": "0.31.0", "torch": "2.13.0", "zentorch": None, "platform": "rocm"}
"""What the version probe of each kind of image says."""


@dataclass(frozen=True)
class Image:
    """An image of the stand-in. `entrypoint` is empty in AMD's zentorch image and `vllm serve` in vLLM's own."""

    name: str
    stack: dict[str, str | None]
    entrypoint: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)

    def load(self, engine: DockerEngine | Podman) -> str:
        """Put it into an engine's store under its name; gives the image's id. Half a second."""
        changes = ["ENV PATH=/usr/local/bin:/usr/bin:/bin", "WORKDIR /workspace", "LABEL org.opencontainers.image.description=stand-in-for-vLLM"]
        if self.entrypoint:
            changes.append(f"ENTRYPOINT {json.dumps(self.entrypoint)}")
        archive = _archive({"stack": self.stack, **self.settings})
        words = [word for change in changes for word in ("--change", change)]
        with open(archive, "rb") as stream:
            return engine.call("import", *words, "-", self.name, stdin=stream).stdout.strip()


def zentorch(name: str, **settings: object) -> Image:
    """An image like AMD's: no entrypoint, zentorch inside. `settings`: see stand_in/settings.go (fail="oom", …)."""
    return Image(name, ZENTORCH, settings=settings)


def stock(name: str, **settings: object) -> Image:
    """An image like vLLM's CPU image."""
    return Image(name, STOCK, ("vllm", "serve"), settings)


def rocm(name: str, **settings: object) -> Image:
    """An image like vLLM's ROCm image."""
    return Image(name, ROCM, ("vllm", "serve"), settings)


def binary() -> Path:
    """The stand-in's program, built when its source changed; outside the checkout, for all sessions of this machine."""
    sources = sorted(each for each in SOURCE.rglob("*") if each.suffix in (".go", ".mod", ".txt", ".log"))
    key = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    target = _cache() / f"program-{key}"
    if not target.exists():
        go = shutil.which("go")
        if not go:
            raise BedError("the end-to-end tests build their stand-in for vLLM with Go, and `go` is not on PATH")
        part = target.with_name(f"{target.name}.{os.getpid()}")
        run(go, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", part, ".", cwd=SOURCE, timeout=300,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"})
        os.replace(part, target)
    return target


def _archive(settings: dict[str, object]) -> Path:
    """The image's files as one tar: the program under all its names, its settings, the folders that a mount may want."""
    text = json.dumps(settings, sort_keys=True).encode()
    program = binary()
    target = _cache() / f"{program.name}-{hashlib.sha256(text).hexdigest()[:16]}.tar"
    if target.exists():
        return target
    part = target.with_name(f"{target.name}.{os.getpid()}")
    with tarfile.open(part, "w") as archive:
        for folder in ("tmp", "root", "etc", "workspace", "dev", "proc", "sys", "run"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        _add(archive, PROGRAMS[0], program.read_bytes(), 0o755)
        for name in PROGRAMS[1:]:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"/{PROGRAMS[0]}"
            archive.addfile(entry)
        _add(archive, "stand-in.json", text, 0o644)
        _add(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    os.replace(part, target)
    return target


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amd-vllm" / "stand-in"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
