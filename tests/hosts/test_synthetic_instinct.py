"""The synthetic Instinct hosts are what their generator writes, and detection reads them as they are meant."""
from __future__ import annotations

import json

import pytest

from planning.detect import load_recording, read_host
from planning.fit.budget import required_bytes
from tests.hosts.synthetic_instinct import HERE, MIB, RACKS, files
from tests.planning.families.instinct.planned import codes, plan


@pytest.fixture(params=RACKS)
def rack(request):
    name = f"synthetic-{request.param}"
    return name, RACKS[request.param], *read_host(name, load_recording(HERE / name))


def test_files_are_current(rack):
    name, what, *_ = rack
    assert {file.name: file.read_text(encoding="utf-8") for file in (HERE / name).iterdir()} == files(what)
    assert json.loads((HERE / name / "case.json").read_text(encoding="utf-8"))["synthetic"] is True


def test_detection_reads_them(rack):
    _, what, facts, survey = rack
    gpus = facts.gpus
    assert (gpus.count, gpus.state, gpus.rocm_version, gpus.kfd_gid, gpus.render_gids, gpus.numa_balancing) == (what.count, "ok", what.rocm, 109, (109,), False)
    for gpu in gpus.devices:
        assert (gpu.gfx, gpu.vram_bytes, gpu.compute_partition, gpu.instinct) == (what.gfx, what.vram_mib * MIB, "SPX", True)
        assert (gpu.render_node, gpu.numa_node, gpu.hip_index) == (f"/dev/dri/renderD{what.render(gpu.index)}", what.node(gpu.index), gpu.index)
        assert survey.vram_free_bytes[gpu.index] == (what.vram_mib - what.used_mib) * MIB


def test_the_default_model_plans_on_them(rack):
    _, what, facts, survey = rack
    found = plan("Qwen/Qwen3.5-9B", facts, survey)
    if what.gfx == "gfx90a":
        assert codes(found) == ["gfx-unsupported"]
    else:
        assert found.verdict == "fits" and found.placement.gpus == (0,) and found.launch.group_add == ("109",)
        assert found.memory.required_bytes == required_bytes(found.memory.lines)
