"""For all tests: say which Pulumi and which Python a run had, as the first thing that a report of a failure needs; and at the end what was not tested."""

from __future__ import annotations

import os
import platform
import shutil
from collections import Counter


def pytest_report_header() -> list[str]:
    """Shown by `pytest -v`, and in CI."""
    pulumi = shutil.which("pulumi") or "not on PATH"
    return [f"amd-vllm: python {platform.python_version()}, pulumi {pulumi}, cpus {os.cpu_count()}, SKIP_E2E={os.environ.get('SKIP_E2E', '')}"]


def pytest_terminal_summary(terminalreporter) -> None:
    """A skip is no pass: its reason stands in the last lines."""
    for reason, count in Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())).items():
        terminalreporter.write_line(f"NOT TESTED ({count} tests): {reason}", yellow=True, bold=True)
