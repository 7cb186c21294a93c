"""The docker plugin of a Pulumi that was built here. An installed Pulumi fetches the official plugins by itself."""

import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

from . import toolchain
from .progress import SetupError, say
from .pulumi_cli import Pulumi


def prepare(checkout: Path, found: Pulumi) -> None:
    """Install `pulumi-resource-docker` into PULUMI_HOME unless it is there from the same build."""
    if not found.built_here:
        return
    home = Path(os.environ.get("PULUMI_HOME") or found.home)
    binary = found.bin.parent / "plugin" / "pulumi-resource-docker"
    installed = home / "plugins" / f"resource-docker-v{toolchain.DOCKER_VERSION}" / binary.name
    if installed.exists() and installed.stat().st_size == binary.stat().st_size:
        return
    say(f"docker plugin v{toolchain.DOCKER_VERSION}: installing into {home}")
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as temporary:
        packed = Path(temporary) / "plugin.tar.gz"
        with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
            archive.add(binary, arcname=binary.name)
        _install(found, home, packed)


def _install(found: Pulumi, home: Path, packed: Path) -> None:
    command = [str(found.bin / "pulumi"), "plugin", "install", "resource", "docker", f"v{toolchain.DOCKER_VERSION}",
               "--file", str(packed), "--reinstall"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env={**os.environ, "PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "true"})
    if ran.returncode:
        raise SetupError(f"`{' '.join(command)}` failed:\n{ran.stdout.strip()}")
