"""InstinctVllmEndpoint on the real engine: GPUs of a recorded MI300X host with device nodes in the host's own mounts; the ROCm image's stand-in."""

from __future__ import annotations

import json
import tomllib
import urllib.request
from pathlib import Path

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.gpus import KFD_GROUP, RENDER_GROUP
from tests.e2e.conftest import ZENTORCH
from tests.e2e.test_endpoint import changes

NINE = "Qwen/Qwen3.5-9B"
DATA = tomllib.loads((Path(__file__).resolve().parents[2] / "data" / "instinct.toml").read_text())["image"]
ROCM = images.rocm(f"{DATA['repository']}:{DATA['tag']}")
CHAT = {"kind": "instinct", "host": "rack", "maxModelLen": 4096}
CONFIRMED = {"Model": NINE, "Precision": "bf16: the model as published; native on gfx942", "Weights": "GiB on each GPU", "GPUs": "MI300X",
             "TP": "1", "Context": "4,096 tokens", "Port": "8000", "Image": f"{ROCM.name} (vLLM {DATA['vllm_version']}"}
"""The rows of the confirmation table of AMD's procedure, and the image."""


@pytest.fixture(scope="module")
def _rack(bed):
    host = bed.host("mi300x", memory_bytes=1536 << 30)
    ROCM.load(host.engine)
    ZENTORCH.load(host.engine)
    yield host
    bed.remove(host)


@pytest.fixture
def rack(_rack):
    """Eight MI300X, gfx942; both families' images. Mended after each test."""
    yield _rack
    _rack.numa_balancing.write_text("0\n")
    _rack.mend()


@pytest.fixture
def hub9(hub):
    models.add(hub, NINE)
    models.add(hub)
    return hub


def configured(project, host, endpoints, **connection):
    project.configure({"rack": host.connection(**connection)}, endpoints)
    return project


def inspected(host, name):
    (seen,) = json.loads(host.engine.docker("inspect", f"vllm-e2e-{name}").stdout)
    return seen


def inside(host, seen, script):
    """What a shell of the host finds of the container's first process: its files below $1/root, its status and environment."""
    return host.run_local("sh", "-c", script, "sh", f"/proc/{seen['State']['Pid']}", cwd="/").stdout


def test_from_nothing_to_an_answer_and_back(project, hub9, rack):
    configured(project, rack, {"chat": CHAT})
    preview = project.preview().ok()
    table = preview.text.split("chat: fits", 1)[1]
    rows = dict(line.strip().split(None, 1) for line in table.splitlines() if line.startswith("  ") and len(line.split()) > 1)
    for label, says in CONFIRMED.items():
        assert says in rows[label], preview.report()
    assert not rack.engine.containers(), "preview makes nothing"

    up = project.up().ok()
    assert "platform rocm" in up.text and "answers after" in up.text
    chat = project.outputs()["endpoints"]["chat"]
    assert chat["model"] == NINE and chat["baseUrl"] == f"http://{rack.address}:8000/v1" and chat["image"] == ROCM.name
    with urllib.request.urlopen(f"{chat['baseUrl']}/models", timeout=10) as answer:
        assert json.load(answer)["data"][0]["id"] == NINE

    assert not changes(project.up().ok()), "a second up changes nothing"
    assert not changes(project.refresh().ok()), "kfd and render nodes, groups and ports read back as they were declared"
    project.preview("--expect-no-changes").ok()
    project.destroy().ok()
    assert not rack.engine.containers()
