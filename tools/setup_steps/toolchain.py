"""Pulumi's CLI, its Python language host and the docker plugin, built from the Go modules pinned in `toolchain/`.

A stand-in for machines that cannot reach Pulumi's downloads. The result lies outside the checkout, under a key made
from what it is built of, so that every clone on a machine shares one build:
`~/.cache/amd-vllm/toolchain/KEY/{bin,plugin,home}`.
"""

import fcntl
import os
import platform
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

from . import go_build, stamp
from .progress import SetupError, done, say

PULUMI_VERSION = "3.274.1"
DOCKER_VERSION = "5.2.0"
SDK = "github.com/pulumi/pulumi/sdk/v3"
SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")
"""Scripts of the SDK module that the engine looks for on PATH, beside the language host."""
RECIPE = "1"
"""Raise it when the way of building changes what comes out."""


def cache() -> Path:
    """Where builds lie."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "amd-vllm" / "toolchain"


def key(checkout: Path) -> str:
    """The key of what would be built: module files, sources, platform."""
    sources = sorted(each for pattern in ("go.mod", "go.sum", "*.go") for each in (checkout / "toolchain").rglob(pattern))
    return stamp.key_of(RECIPE, PULUMI_VERSION, DOCKER_VERSION, platform.system(), platform.machine(), *sources)


def prepare(checkout: Path) -> Path:
    """The folder of the finished build; builds it first when it is not there. Raises SetupError."""
    finished = cache() / key(checkout)
    if (finished / "bin" / "pulumi").exists():
        return finished
    go = _go(checkout)
    cache().mkdir(parents=True, exist_ok=True)
    with _lock(cache() / "lock"):
        if not (finished / "bin" / "pulumi").exists():
            say("no `pulumi` 3.270 or newer on PATH: building a stand-in from Go modules, once for this machine")
            say("(5 to 10 minutes on 2 cores; whoever can reach Pulumi's downloads installs the official CLI instead)")
            _build_whole(checkout, finished, go)
    return finished


def _build_whole(checkout: Path, finished: Path, go: str) -> None:
    """Build in a folder beside the final one, and rename it when all is there."""
    building = cache() / f"building-{os.getpid()}"
    shutil.rmtree(building, ignore_errors=True)
    try:
        (building / "bin").mkdir(parents=True)
        shutil.copytree(checkout / "toolchain", building / "source")
        go_build.side_by_side(go, _jobs(building))
        _copy_scripts(go, building)
        shutil.rmtree(building / "source")
        (building / "tfgen").unlink()
        os.rename(building, finished)
        done(f"toolchain built in {finished}")
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _jobs(building: Path) -> list[go_build.Job]:
    """Two lines of work at a time: while one links or downloads, the other compiles."""
    source, target = building / "source", building / "bin"
    version = f"-X {SDK}/go/common/version.Version=v{PULUMI_VERSION}"
    host = go_build.Build("Python language host", source / "python-host", target / "pulumi-language-python",
                          f"{SDK}/python/cmd/pulumi-language-python")
    command = go_build.Build("pulumi", source / "pulumi", target / "pulumi",
                             "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", version)
    # the docker plugin embeds the schema that it writes itself: build, let it write, build again (only a link)
    for name in ("schema.json", "bridge-metadata.json"):
        (source / "docker" / name).write_text("{}\n")
    writer = go_build.Build("docker plugin's schema writer", source / "docker", building / "tfgen", ".")
    schema = go_build.Run("docker plugin's schema", source / "docker",
                          (str(building / "tfgen"), "tfgen", "schema", "--skip-docs", "--skip-examples", "--out", "."))
    # not in bin: the engine warns of every plugin that it finds on PATH; `plugin.py` installs it
    plugin = go_build.Build("docker plugin", source / "docker", building / "plugin" / "pulumi-resource-docker", ".")
    return [[command], [host, writer, schema, plugin]]


def _copy_scripts(go: str, building: Path) -> None:
    listed = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", SDK], cwd=building / "source" / "pulumi",
                            capture_output=True, text=True)
    for script in SCRIPTS:
        from_module = Path(listed.stdout.strip()) / script
        if listed.returncode or not from_module.exists():
            raise SetupError(f"{script} is not in the module {SDK} v{PULUMI_VERSION}: {listed.stderr.strip()}")
        target = building / "bin" / from_module.name
        target.write_bytes(from_module.read_bytes())
        target.chmod(0o755)


def _go(checkout: Path) -> str:
    """The Go command, new enough for every go.mod; SetupError with what to do when there is none."""
    wanted = max(tuple(int(part) for part in re.search(r"^go (\d+)\.(\d+)", file.read_text(), re.MULTILINE).groups())
                 for file in (checkout / "toolchain").rglob("go.mod"))
    needed = ".".join(map(str, wanted))
    way_out = f"install Pulumi's CLI (3.270 or newer), or Go {needed} or newer to build it from Go modules; then `make setup`"
    found = shutil.which("go")
    if not found:
        raise SetupError(f"neither `pulumi` nor `go` is on PATH: {way_out}")
    text = subprocess.run([found, "env", "GOVERSION"], cwd=checkout / "toolchain" / "pulumi",
                          capture_output=True, text=True)
    version = re.match(r"go(\d+)\.(\d+)", text.stdout)
    if text.returncode or not version or tuple(map(int, version.groups())) < wanted:
        raise SetupError(f"{found} is {text.stdout.strip() or text.stderr.strip()}: {way_out}")
    return found


@contextmanager
def _lock(path: Path):
    """One build at a time on a machine; the others wait and then find it done."""
    with open(path, "w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another setup is building the toolchain: waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
