"""Reads a recorded host from disk: a folder of command outputs, one file per command. The one place of detection that opens files."""
from __future__ import annotations

from pathlib import Path

from planning.detect.text import MAX_CHARS
from planning.errors import PlanningError

MAX_FILES = 400
SKIPPED = {"case.json", "replaced.json"}       # what a recording says about itself


def load_recording(folder: Path) -> dict[str, str]:
    """Text by file name; bytes that are not UTF-8 are replaced, longer files are cut, folders and hidden files are left out.

    Raises PlanningError when the folder is missing, no folder, or not readable.
    """
    if not folder.is_dir():
        raise PlanningError(f"No recorded host at {folder}: "
                            + ("it is a file; give the folder that holds it" if folder.exists() else "there is no such folder"))
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".") and path.name not in SKIPPED)
        return {path.name: _read(path) for path in files[:MAX_FILES]}
    except OSError as error:
        raise PlanningError(f"The recorded host at {folder} cannot be read: {error.strerror or error}") from error


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(MAX_CHARS).decode("utf-8", errors="replace")
