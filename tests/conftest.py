"""For all tests: say which Pulumi and which Python a run had, as the first thing that a report of a failure needs."""

from __future__ import annotations

import os
import platform
import shutil


def pytest_report_header() -> list[str]:
    """Shown by `pytest -v`, and in CI."""
    pulumi = shutil.which("pulumi") or "not on PATH"
    return [f"amd-vllm: python {platform.python_version()}, pulumi {pulumi}, cpus {os.cpu_count()}, SKIP_E2E={os.environ.get('SKIP_E2E', '')}"]
