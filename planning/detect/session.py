"""Reads our own probes of the session: who we are, which tools there are, where the model cache is. Lines 'key=value' in, facts out."""
from __future__ import annotations

from planning.detect import mounts
from planning.detect.facts import Storage
from planning.detect.sources import Source
from planning.detect.text import lines, number
from planning.detect.witnesses import Ledger
from planning.paths import fitting, host_folder, host_path


def key_values(sources: list[Source] | None) -> dict[str, str]:
    """All 'key=value' lines; the first of a key counts, empty values are left out."""
    found: dict[str, str] = {}
    for source in sources or []:
        for line in lines(source.text):
            key, equals, value = line.partition("=")
            if equals and value.strip():
                found.setdefault(key.strip(), value.strip())
    return found


def words(sources: list[Source] | None) -> tuple[str, ...]:
    """One item a line, in order, each once."""
    return tuple(dict.fromkeys(line.strip() for source in sources or [] for line in lines(source.text) if line.strip()))


def flag(text: str | None) -> bool | None:
    return {"1": True, "0": False}.get(text or "")


def read_storage(sources: dict[str, list[Source]], ledger: Ledger) -> Storage:
    """Where the model cache lives and on what, with a warning for file systems where locks may not work."""
    told = key_values(sources.get("hf-cache"))
    home = fitting(host_path, told.get("home") or key_values(sources.get("session")).get("home"))
    cache = fitting(host_folder, told.get("real"))
    if "real" in told and cache in (None, home):
        return Storage(home=home)       # what a container must not write to, or cannot mount: the cache is unknown
    rows = tuple(row for source in sources.get("findmnt", []) if source.name.startswith("findmnt-hf-cache") for row in mounts.parse(source.text))
    mount = mounts.effective(rows)
    writable = flag(told.get("writable"))
    fstype = mount.fstype if mount else told.get("fstype")
    if mounts.is_shared(fstype):
        ledger.warn("hf-cache-shared", f"the model cache {told.get('real', '')} is on {fstype}: file locks may do nothing there, "
                    "so only one download may run at a time" + (" and root may not write (root-squash)" if fstype.startswith("nfs") else ""))
    squash = True if fstype and fstype.startswith("nfs") and writable is False and key_values(sources.get("session")).get("uid") == "0" else None
    where = told.get("models_at")
    return Storage(home=home, hf_cache=cache, hf_cache_exists=flag(told.get("exists")), hf_cache_fstype=fstype, hf_cache_writable=writable, root_squash=squash,
                   models_at=where if where in {"hub", "root"} else None)


def session_numbers(told: dict[str, str]) -> tuple[int | None, bool | None]:
    """uid, and whether the user is in the group docker (as the group file says)."""
    groups = told.get("groups")
    return number(told.get("uid")), ("docker" in groups.split() if groups is not None else None)
