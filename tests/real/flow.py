"""What the tests do with a deployed endpoint: ask it as an app would, look at its container, hurt its engine."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.bed.host import Host
from tests.e2e.bed.processes import run

UP_SECONDS = 1200
"""The engine compiles at its first start, and the machine may be shared."""


def endpoint(model: Path, **settings: Any) -> dict[str, Any]:
    """Configuration of the one endpoint. One GiB of KV cache, as these machines are small."""
    return {"kind": "epyc", "host": "box", "model": str(model), "acceptStockVllm": True, "kvCacheGib": 1, "maxModelLen": 4096,
            "waitSeconds": 900, **settings}


def ask_as_told(outputs: dict[str, Any], openai: Path, host: Host | None) -> str:
    """Run the Python that the outputs hand over, with the real client; gives what it prints. `host`: on that host."""
    code = outputs["endpoints"]["chat"]["python"]
    words = ["env", f"PYTHONPATH={openai}", sys.executable, "-c", code]
    return run(*(host.namespace.inside(*words) if host else words), timeout=300).stdout


def container(host: Host) -> dict[str, Any]:
    """`docker inspect` of the only container."""
    (name,) = host.engine.containers()
    return json.loads(host.engine.docker("inspect", name).stdout)[0]


def logs(host: Host, lines: int = 150) -> str:
    """The end of what the containers wrote."""
    tails = [host.engine.docker("logs", "--tail", str(lines), name, check=False) for name in host.engine.containers()]
    return "\n".join(tail.stdout + tail.stderr for tail in tails)


def engine_process(host: Host) -> int:
    """Process id, on this side, of vLLM's engine: a child of the API server, found by the name it gives itself."""
    for process in descendants(container(host)["State"]["Pid"], host):
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        if "EngineCore" in words:
            return process
    raise AssertionError("no engine process in the container:\n" + host.engine.docker("top", container(host)["Name"]).stdout)


def descendants(inner: int, host: Host) -> Iterator[int]:
    """Processes of this side below the host's process `inner` (an id of the host's namespace)."""
    listed = run("ip", "netns", "pids", host.name).stdout.split()
    for process in map(int, listed):
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        ids = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
        if len(ids) >= 3:                       # ours, the host's, the container's
            yield process


def stop_engine(host: Host) -> int:
    os.kill(process := engine_process(host), signal.SIGSTOP)
    return process


def kill_engine(host: Host) -> int:
    os.kill(process := engine_process(host), signal.SIGKILL)
    return process


def post(url: str, body: dict[str, Any], timeout: float = 300) -> tuple[int, dict[str, Any]]:
    """One POST without a client library, from this side. Status and document."""
    done = subprocess.run(["curl", "-sS", "--noproxy", "*", "-m", str(timeout), "-w", "\n%{http_code}", "-H", "Content-Type: application/json",
                           "--data", "@-", url], input=json.dumps(body), capture_output=True, text=True)
    text, _, status = done.stdout.rpartition("\n")
    return int(status or 0), json.loads(text) if text.strip().startswith("{") else {"text": text + done.stderr}
