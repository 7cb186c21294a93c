"""What a container really takes: its cgroup's own counters, and its processes one by one."""
from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.bed.host import Host
from tests.real import flow

CGROUPS = Path("/sys/fs/cgroup")
KIB = 1024


@dataclass
class Watch:
    """Looks twice a second while it is entered. Bytes. `anonymous_bytes`: peak of what cannot be dropped (heap and shared memory);
    `cgroup_peak_bytes`: the kernel's own high-water mark, with the page cache that it drops under pressure."""

    host: Host
    container_id: str
    anonymous_bytes: int = 0
    processes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = [path for path in CGROUPS.rglob(self.container_id) if (path / "memory.stat").exists()]
        assert found, f"no memory cgroup of {self.container_id}"
        self._group, self._end = found[0], threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._look()
        for process in map(int, (self._group / "cgroup.procs").read_text().split()):
            self._peak_of(process)

    @property
    def cgroup_peak_bytes(self) -> int:
        return self._number("memory.max_usage_in_bytes", "memory.peak")

    @property
    def limit_bytes(self) -> int:
        return self._number("memory.limit_in_bytes", "memory.max")

    def _number(self, *names: str) -> int:
        """The counter under its name of cgroup v1 or v2."""
        return next(int((self._group / name).read_text()) for name in names if (self._group / name).exists())

    def _watch(self) -> None:
        while not self._end.wait(0.5):
            self._look()

    def _look(self) -> None:
        counters = dict(line.split() for line in (self._group / "memory.stat").read_text().splitlines())
        held = int(counters.get("total_rss") or counters.get("anon") or 0) + int(counters.get("total_shmem") or counters.get("shmem") or 0)
        self.anonymous_bytes = max(self.anonymous_bytes, held)

    def _peak_of(self, process: int) -> None:
        """Heap and shared memory of one process now: what its libraries map is shared by all and counted once, in the cgroup."""
        folder = Path("/proc") / str(process)
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        role = "worker" if "Worker" in title else "engine core" if "EngineCore" in title else "API server" if " serve " in title else "other"
        held = sum(int(status[name].split()[0]) * KIB for name in ("RssAnon", "RssShmem"))
        self.processes[role] = self.processes.get(role, 0) + held


def watch(host: Host) -> Watch:
    """Of the only container of the host."""
    return Watch(host, flow.container(host)["Id"])
