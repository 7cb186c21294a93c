"""What a host may answer and must not do: no crash, no escape on the terminal, no wrong certainty, nothing endless."""
from __future__ import annotations

import pytest

from planning import detect

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
