"""How much memory a running container holds: its cgroup's own counters, read on the host in one command."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planning.health.memory import held_bytes
from providers.transport.errors import TransportError
from providers.transport.ssh import Connection

_STAT = r'''
file=
while IFS=: read -r _ names path; do
  case ",$names," in
    *,memory,*) file=/sys/fs/cgroup/memory$path/memory.stat ;;
    ,,) [ -n "$file" ] || file=/sys/fs/cgroup$path/memory.stat ;;
  esac
done < "/proc/$1/cgroup"
cat "$file"
'''


def of(connection: Connection, seen: Mapping[str, Any]) -> int | None:
    """`seen`: what `inspect` says of it. None where the host does not tell."""
    process = int(seen["State"].get("Pid") or 0)
    if process <= 0:
        return None
    try:
        return held_bytes(connection.run(_STAT, arguments=[str(process)]).stdout)
    except TransportError:
        return None
