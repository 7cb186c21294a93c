"""What a host may answer and must not do: no crash, no escape on the terminal, no wrong certainty, nothing endless."""
from __future__ import annotations

import json

import pytest

from planning import detect
from planning.detect.listing import size_bytes
from planning.health.memory import held_bytes

ENCODED = "\x1b]0;owned\x07\x1b[2J\u202e\r\n"
ESCAPES = "\x1b[31m\x1b]0;owned\x07\x9b31m\u202e\x00\r"
HOSTILE = {
    "escapes": f"AMD EPYC 9654{ESCAPES}", "command": "$(reboot); `id` && x", "yaml": "a: &x [*x]\n!!python/object:os.system", "json": '{"a": ' * 3000,
    "binary": "\x00\xff\ufffd" * 2000, "long-line": "x" * 2_000_000, "many-lines": "\n" * 200_000, "empty": "", "negative": "-1", "huge": "9" * 400,
    "crlf": "Vendor ID: AuthenticAMD\r\nCPU(s): 99999999999999999999\r\n", "delimiter": "--amd-vllm-log--\n--error--\n--file-- ../../etc/passwd",
    "paths": "../../../../etc/shadow", "floats": "NaN Infinity -0.0 1e999", "nested": "[" * 50_000,
}
SECTIONS = ("lscpu.txt", "lscpu.json", "lscpu-p.csv", "cpuinfo.txt", "meminfo.txt", "numactl-hardware.txt", "amd-smi-static.json", "amd-smi-list.txt",
            "rocminfo.txt", "rocm-smi.txt", "docker-info.json", "podman-info.json", "ss-tl.txt", "findmnt.txt")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_section_may_hold_anything(text):
    for section in SECTIONS:
        facts, survey = detect.read_host("box", {section: text})
        shown = [detect.summary(facts), *(warning.message for warning in (*facts.warnings, *survey.warnings))]
        assert all(line.isprintable() for line in shown)
        document = detect.document(facts, survey)
        assert document["cpu"]["generation"] is None or "EPYC 9654" in text
        assert detect.facts_from_dict(detect.facts_to_dict(facts)) == facts


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_the_answer_to_the_probe_script_may_be_anything(text):
    sections = detect.probes.split(text)
    facts, _ = detect.read_host("box", sections)
    assert facts.cpu.is_epyc is not True or "EPYC 9654" in text


@pytest.mark.parametrize("section, document", [
    ("docker-info.json", {"ServerVersion": ENCODED, "OperatingSystem": ENCODED, "CgroupDriver": ENCODED, "DockerRootDir": f"/{ENCODED}"}),
    ("docker-info.json", {"ServerVersion": "28.2", "SecurityOptions": [ENCODED], "ServerErrors": [ENCODED]}),
    ("amd-smi-static.json", [{"gpu": 0, "asic": {"market_name": ENCODED, "device_id": "0x74a1"}, "bus": {"bdf": "0000:0c:00.0"}}]),
    ("rocm-smi.json", {"card0": {"Card Series": ENCODED, "Card SKU": ENCODED}}),
])
def test_escapes_that_json_encodes_reach_no_fact(section, document):
    facts, survey = detect.read_host("box", {section: json.dumps(document)})
    assert all(text.isprintable() for text in texts(detect.document(facts, survey)) | texts(detect.facts_to_dict(facts)))


@pytest.mark.parametrize("section", SECTIONS)
def test_escapes_that_json_encodes_reach_no_line_for_people(section):
    document = {"ServerVersion": ENCODED, "host": {"arch": ENCODED}, "version": {"Version": ENCODED}, "lscpu": [{"field": "Model name:", "data": ENCODED}]}
    facts, survey = detect.read_host("box", {section: json.dumps(document)})
    assert all(line.isprintable() for line in (detect.summary(facts), *(warning.message for warning in (*facts.warnings, *survey.warnings))))


def texts(value: object) -> set[str]:
    """All texts in a document, keys too."""
    if isinstance(value, dict):
        return set().union(*map(texts, value), *map(texts, value.values()))
    return set().union(*map(texts, value)) if isinstance(value, (list, tuple)) else {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("told", [{"value": 5, "unit": [1]}, {"value": 5, "unit": {}}, {"value": [5], "unit": "MB"}, {"value": {"value": 5}}, [1], True])
def test_a_size_of_a_gpu_may_have_any_shape(told):
    gpu = {"gpu": 0, "asic": {"device_id": told, "target_graphics_version": told}, "bus": {"bdf": told}, "uuid": told, "vram": {"size": told}}
    facts, _ = detect.read_host("box", {"amd-smi-static.json": json.dumps([gpu])})
    assert [device.vram_bytes for device in facts.gpus.devices] == [None]
    assert size_bytes({"value": 5, "unit": "MB"}) == size_bytes("5 MB") == 5 << 20


@pytest.mark.parametrize("count", ["²", "9" * 5000, "-1", "1.5"])
def test_memory_in_use_that_is_no_number_is_unknown(count):
    assert held_bytes(f"anon {count}\nshmem 3\n") is None
