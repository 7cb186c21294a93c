"""Remove what dead sessions left: processes in their namespaces, the namespaces, interfaces, cgroups and folders."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

from .processes import run
from .session import BASE, PREFIX, SLOTS, folder_of, try_lock

CGROUPS = Path("/sys/fs/cgroup")


def clean_dead() -> list[str]:
    """Clean every slot that no living session holds; says what was removed."""
    removed = []
    for slot in sorted(_slots_seen()):
        lock = try_lock(slot)
        if lock:
            removed += clean_slot(slot)
            lock.close()
    return removed


def clean_slot(slot: int) -> list[str]:
    """Remove everything of one slot. Only for who holds its lock."""
    removed = clean_names(re.compile(rf"^{PREFIX}-{slot}-\d+$"))
    _kill_working_in(folder_of(slot))
    if folder_of(slot).exists():
        shutil.rmtree(folder_of(slot), ignore_errors=True)
        removed.append(f"folder {folder_of(slot)}")
    return removed


def clean_names(mine: re.Pattern[str]) -> list[str]:
    """Remove network namespaces, what runs in them, interfaces and cgroups of these names."""
    removed = []
    for name in filter(mine.match, _namespaces()):
        _kill_inside(name)
        run("ip", "netns", "delete", name, check=False)
        removed.append(f"network namespace {name}")
    for name in filter(mine.match, os.listdir("/sys/class/net")):
        run("ip", "link", "delete", name, check=False)
        removed.append(f"interface {name}")
    for group in _cgroups(mine):
        _remove_cgroup(group)
        removed.append(f"cgroup {group}")
    return removed


def left_of(slot: int) -> list[str]:
    """What of a slot is still there (its lock file is not counted)."""
    mine = re.compile(rf"^{PREFIX}-{slot}-\d+$")
    left = [*filter(mine.match, _namespaces()), *filter(mine.match, os.listdir("/sys/class/net")), *map(str, _cgroups(mine))]
    if folder_of(slot).exists():
        left.append(str(folder_of(slot)))
    return left


def _slots_seen() -> set[int]:
    names = [*_namespaces(), *os.listdir("/sys/class/net"), *(each.name for each in _cgroups(re.compile(rf"^{PREFIX}-\d+-\d+$")))]
    found = {int(match.group(1)) for match in (re.match(rf"^{PREFIX}-(\d+)-\d+$", name) for name in names) if match}
    return found | {slot for slot in range(SLOTS) if folder_of(slot).exists()} if BASE.exists() else found


def _namespaces() -> list[str]:
    return os.listdir("/run/netns") if os.path.isdir("/run/netns") else []


def _kill_inside(name: str) -> None:
    """Kill the processes of one of our network namespaces, by their ids."""
    for _ in range(50):
        inside = run("ip", "netns", "pids", name, check=False).stdout.split()
        if not inside:
            return
        for process in inside:
            try:
                os.kill(int(process), signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.1)


def _kill_working_in(folder: Path) -> None:
    """Kill what works in a folder of ours: plugins whose engine a test killed go on without it."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if Path(os.readlink(f"/proc/{process}/cwd").removesuffix(" (deleted)")).is_relative_to(folder):
                os.kill(int(process), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def _cgroups(mine: re.Pattern[str]) -> list[Path]:
    """The top cgroups of our hosts, in every hierarchy (v1 has many, v2 one)."""
    roots = [CGROUPS, *(each for each in CGROUPS.iterdir() if each.is_dir())] if CGROUPS.exists() else []
    return [root / name for root in roots for name in os.listdir(root) if mine.match(name) and (root / name).is_dir()]


def _remove_cgroup(top: Path) -> None:
    for folder, _, _ in os.walk(top, topdown=False):
        for _ in range(20):
            try:
                os.rmdir(folder)
                break
            except OSError:
                time.sleep(0.05)
