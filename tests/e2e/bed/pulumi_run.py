"""One run of the Pulumi CLI: its environment, its output, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .processes import DIES_WITH_US, BedError, children, run

NOT_OURS = ("DOCKER_CONTEXT", "DOCKER_HOST", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "SSH_AUTH_SOCK",
            "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_STACK")
"""What the user of this machine may have set and a test must not see."""


@dataclass(frozen=True)
class Result:
    """How a run of Pulumi ended. `out` is its standard output, `text` both streams together, without colours."""

    command: tuple[str, ...]
    status: int
    out: str
    err: str
    seconds: float

    @property
    def text(self) -> str:
        return self.out + self.err

    def ok(self) -> Result:
        """Itself, when the exit status is 0. Raises AssertionError with the output."""
        assert self.status == 0, self.report()
        return self

    def failed(self) -> Result:
        """Itself, when the exit status is not 0."""
        assert self.status != 0, self.report()
        return self

    def report(self) -> str:
        return f"`{' '.join(self.command)}` ended with {self.status} after {self.seconds:.1f} s:\n{self.text}"


class Running:
    """A run that goes on."""

    def __init__(self, command: list[str], environment: dict[str, str], text: str | None = None) -> None:
        self.command, self._started = command, time.monotonic()
        self._out, self._err = (tempfile.TemporaryFile("w+", errors="replace") for _ in range(2))  # noqa: SIM115 (read when it ends)
        self.process = subprocess.Popen([*DIES_WITH_US, *command], env=environment, stdout=self._out, stderr=self._err, text=True,
                                        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL, start_new_session=True)
        if text is not None:
            self.process.stdin.write(text)
            self.process.stdin.close()

    def wait(self, timeout: float) -> Result:
        """Its result. Raises BedError with the output so far after killing it, when it takes too long."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BedError(f"took more than {timeout} s: {self._result(-9).report()}") from None
        return self._result(status)

    def so_far(self) -> str:
        """What it printed until now."""
        return self._result(0).text

    def interrupt(self) -> None:
        """As Ctrl-C."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """Kill it and all that it started, by their ids."""
        for process in reversed([self.process.pid, *_descendants(self.process.pid)]):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def _result(self, status: int) -> Result:
        texts = []
        for stream in (self._out, self._err):
            stream.seek(0)
            texts.append(stream.read())
        return Result(tuple(self.command), status, texts[0], texts[1], time.monotonic() - self._started)


def _descendants(process: int) -> list[int]:
    found = []
    for child in children(process):
        found += [child, *_descendants(child)]
    return found


def base_environment(checkout: Path, folder: Path) -> dict[str, str]:
    """The environment that setup wrote, with a state, a passphrase, a Hub cache and a Docker configuration in `folder`."""
    env_file = checkout / ".amd-vllm" / "env.sh"
    if not env_file.exists():
        raise BedError(f"{env_file} is not there: run `make setup`")
    listed = run("sh", "-c", f". '{env_file}' && env -0").stdout
    environment = dict(item.split("=", 1) for item in listed.split("\0") if "=" in item)
    for name in NOT_OURS:
        environment.pop(name, None)
    return {**environment, "PULUMI_BACKEND_URL": f"file://{folder / 'state'}", "PULUMI_CONFIG_PASSPHRASE": "of the test bed",
            "HF_HOME": str(folder / "hub-cache"), "DOCKER_CONFIG": str(folder / "docker-config"), "PYTHONDONTWRITEBYTECODE": "1"}
