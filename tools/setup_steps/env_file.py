"""`.amd-vllm/env.sh`: the environment in which Pulumi runs here. The Makefile sources it. Also the passphrase file."""

import os
import secrets
import shlex
from pathlib import Path

from . import stamp
from .progress import SetupError, say
from .pulumi_cli import Pulumi


def path(checkout: Path) -> Path:
    """Where the file is."""
    return checkout / ".amd-vllm" / "env.sh"


def read(checkout: Path) -> str:
    """The file's text; SetupError when setup has not run."""
    try:
        return path(checkout).read_text()
    except FileNotFoundError:
        raise SetupError("nothing set up here yet: run `make setup`") from None


def write(checkout: Path, found: Pulumi) -> None:
    """Write the file, if its content changed, and the passphrase file, if there is none."""
    passphrase = checkout / ".passphrase"
    _make_passphrase(passphrase)
    folders = [str(checkout / ".venv" / "bin"), *([str(found.bin)] if found.bin else [])]
    lines = [
        "# Written by tools/setup; `make setup` writes it anew.",
        f"export PATH={shlex.quote(os.pathsep.join(folders))}{os.pathsep}\"$PATH\"",
        "export PULUMI_SKIP_UPDATE_CHECK=true",
        # the user's own choice of a secrets passphrase goes first, as everywhere with Pulumi
        'if [ -z "${PULUMI_CONFIG_PASSPHRASE+x}" ] && [ -z "${PULUMI_CONFIG_PASSPHRASE_FILE:-}" ]; then',
        f"  export PULUMI_CONFIG_PASSPHRASE_FILE={shlex.quote(str(passphrase))}",
        "fi",
    ]
    if found.home:
        lines.append(f'export PULUMI_HOME="${{PULUMI_HOME:-{found.home}}}"')
    text = "\n".join(lines) + "\n"
    if not path(checkout).exists() or path(checkout).read_text() != text:
        stamp.write_whole(path(checkout), text)


def _make_passphrase(target: Path) -> None:
    """Once, readable by its owner only. Never overwritten: the state's secrets depend on it."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as stream:
        stream.write(secrets.token_urlsafe(32) + "\n")
    say("passphrase of the local state: made in .passphrase (keep it: secrets in the state need it)")
