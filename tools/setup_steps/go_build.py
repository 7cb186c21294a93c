"""Run `go build` for several programs side by side, with a line of progress every 20 seconds."""

import os
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from .progress import SetupError, done, say

EVERY_SECONDS = 20


@dataclass(frozen=True)
class Run:
    """One command in a folder."""

    name: str
    folder: Path
    command: tuple[str, ...]

    def arguments(self, go: str) -> list[str]:
        return list(self.command)


@dataclass(frozen=True)
class Build:
    """One program to compile and link: `package`, as seen from the module in `folder`."""

    name: str
    folder: Path
    output: Path
    package: str
    linker_flags: str = ""

    def arguments(self, go: str) -> list[str]:
        # -v names each package when it is compiled: the progress counts them. no_compose leaves Docker Compose out
        return [go, "build", "-v", "-trimpath", "-mod=readonly", "-buildvcs=false", "-tags", "no_compose",
                "-ldflags", f"-s -w {self.linker_flags}".strip(), "-o", str(self.output), self.package]


Job = list[Run | Build]


def side_by_side(go: str, jobs: list[Job]) -> None:
    """Run each job in a thread of its own, its steps in order. Raises SetupError with the end of the first failure."""
    states = [_State() for _ in jobs]
    threads = [threading.Thread(target=state.work, args=(go, job), daemon=True) for state, job in zip(states, jobs)]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads) and not any(state.failure for state in states):
            for thread in threads:
                thread.join(EVERY_SECONDS / len(threads))
            lines = [state.describe() for state in states if state.now]
            if lines:
                say("; ".join(lines))
    finally:
        for state in states:
            state.stop()
    for state in states:
        if state.failure:
            raise SetupError(state.failure)


class _State:
    """How far one job is."""

    def __init__(self) -> None:
        self.now, self.failure = "", ""
        self._output: Path | None = None
        self._process: subprocess.Popen | None = None
        self._stopped = False

    def work(self, go: str, job: Job) -> None:
        for step in job:
            if self._stopped or not self._run(go, step):
                break
            done(f"{step.name}: done")
        self.now = ""

    def _run(self, go: str, step: Run | Build) -> bool:
        with tempfile.NamedTemporaryFile(prefix="amd-vllm-build-", suffix=".log") as log:
            self.now, self._output = step.name, Path(log.name)
            self._process = subprocess.Popen(step.arguments(go), cwd=step.folder, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=subprocess.STDOUT, env={**os.environ, "GOWORK": "off"})
            status = self._process.wait()
            if status and not self._stopped:
                end = "\n".join(self._output.read_text(errors="replace").splitlines()[-20:])
                self.failure = f"building the {step.name} failed (status {status}):\n{end}"
            return status == 0

    def describe(self) -> str:
        """The step's name and what it has done so far."""
        try:
            lines = self._output.read_text(errors="replace").splitlines()
        except OSError:
            return self.now
        fetched = sum(line.startswith("go: downloading") for line in lines)
        return f"{self.now}: {fetched} modules fetched, {len(lines) - fetched} packages compiled"

    def stop(self) -> None:
        """End the process that runs, if there is one."""
        self._stopped = True
        if self._process and self._process.poll() is None:
            self._process.terminate()
