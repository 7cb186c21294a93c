"""The Python environment `.venv`, from `requirements-dev.txt` with every hash checked."""

import shutil
import subprocess
import sys
from pathlib import Path

from . import stamp
from .progress import SetupError, say


def prepare(checkout: Path) -> None:
    """Make or renew `.venv`. Raises SetupError with the last lines of pip when that fails."""
    locked = checkout / "requirements-dev.txt"
    target = checkout / ".venv"
    key = stamp.key_of(locked, sys.version)
    if (target / "bin" / "python").exists() and stamp.is_current(checkout, "venv", key):
        return
    if not _runs(target / "bin" / "python"):
        say(f"Python environment: making .venv with Python {sys.version.split()[0]}")
        shutil.rmtree(target, ignore_errors=True)
        _make(target)
    say("Python environment: installing the pinned packages (about a minute the first time)")
    _pip(target, locked)
    stamp.record(checkout, "venv", key)


def _make(target: Path) -> None:
    made = subprocess.run([sys.executable, "-m", "venv", str(target)], capture_output=True, text=True)
    if made.returncode:
        shutil.rmtree(target, ignore_errors=True)
        raise SetupError("`python3 -m venv` failed: " + _tail(made.stdout + made.stderr)
                         + "\nOn Debian and Ubuntu: apt-get install python3-venv")


def _runs(python: Path) -> bool:
    """A venv whose interpreter is gone or of another version is made anew."""
    if not python.exists():
        return False
    asked = subprocess.run([str(python), "-c", "import sys, pip; print(sys.version)"], capture_output=True, text=True)
    return asked.returncode == 0 and asked.stdout.strip() == sys.version.strip()


def _pip(target: Path, locked: Path) -> None:
    command = [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--require-hashes", "-r", str(locked)]
    installed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if installed.returncode:
        raise SetupError("pip could not install requirements-dev.txt:\n" + _tail(installed.stdout))


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-15:])
