"""The budget covers what the real engine was measured to hold: the worker, the server processes, the container."""
from __future__ import annotations

import pytest

from planning.catalog import load_toml
from planning.fit.budget import cpu_lines

SLACK = 0.02        # public figures are rounded to 10 MB


@pytest.mark.parametrize("run", load_toml("memory-measured.toml")["run"], ids=lambda run: run["what"])
def test_the_budget_covers(run):
    lines = {line.name: line.bytes for line in cpu_lines(weights_bytes=run["weights_bytes"], kv_cache_bytes=run["kv_cache_bytes"],
                                                         activation_bytes=run["activation_bytes"])}
    worker = sum(lines[name] for name in ("weights", "kv-cache", "activations", "runtime"))
    assert run["worker_bytes"] <= worker * (1 + SLACK)
    assert run["api_server_bytes"] + run["engine_core_bytes"] <= lines["servers"] * (1 + SLACK)
    assert run.get("container_bytes", 0) <= worker + lines["servers"]
