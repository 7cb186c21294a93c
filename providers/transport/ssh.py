"""Commands on a host, local or over OpenSSH's own `ssh`: one multiplexed connection per host and run, scripts on stdin.

The remote command is always a constant (`sh -s`, or argument vectors quoted by `shlex`), so that nothing a user or a host
says becomes shell. Output and time are limited. Errors are `TransportError` with the host's name.
"""
from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from planning.addresses import bracketed
from planning.errors import Refusal
from providers.transport.address import Target
from providers.transport.errors import CommandFailed, HostUnreachable
from providers.transport.ssh_errors import ssh_failure

OUTPUT_BYTES = 16 << 20
_locks: dict[Target, threading.Lock] = {}
_locks_lock = threading.Lock()


@dataclass(frozen=True)
class Result:
    """What a command left. `stderr` is cut at 64 KiB."""

    status: int
    stdout: str
    stderr: str


class Connection:
    """Runs commands on one host. Cheap to make; the ssh connection is opened by the first command and shared by all."""

    def __init__(self, target: Target) -> None:
        self.target, self._address = target, target.parsed
        with _locks_lock:
            self._first = _locks.setdefault(target, threading.Lock())

    def run(self, script: str, *, timeout: float = 60, arguments: Sequence[str] = (), stdin: bytes | None = None) -> Result:
        """Run a POSIX sh script (constant text) with positional arguments; or, with `stdin`, the script by `sh -c` and that input.

        Raises HostUnreachable or HostRefused for the connection, CommandFailed when the time is over; any exit status is returned.
        """
        words = ["sh", "-s", "--", *arguments] if stdin is None else ["sh", "-c", script, "sh", *arguments]
        data = script.encode() if stdin is None else stdin
        if self._address.scheme == "local":
            return self._execute(words, data, timeout)
        return self._execute([*self.target.ssh(), shlex.join(words)], data, timeout)

    @contextmanager
    def forward(self, address: str, port: int) -> Iterator[str]:
        """A unix socket on this machine that reaches `address:port` as the host sees it. Yields its path."""
        if not self._master_answers():
            self.run("true")
        with tempfile.TemporaryDirectory(prefix="avllm-") as folder:
            spec = f"{folder}/s:{bracketed(address)}:{port}"
            self._control("forward", "-L", spec)
            try:
                yield f"{folder}/s"
            finally:
                self._control("cancel", "-L", spec, check=False)

    def close(self) -> None:
        """Ends the shared connection now; without it ssh ends it after ControlPersist."""
        self._control("exit", check=False)

    def _control(self, verb: str, *options: str, check: bool = True) -> None:
        result = self._spawn(self.target.ssh("-O", verb, *options), b"", 15)
        if check and result.status:
            raise HostUnreachable(Refusal("host-unreachable", f"{self.target.name}: no forward through the ssh connection", result.stderr[-300:],
                                          "an sshd that allows TCP forwarding (AllowTcpForwarding)", "allow it for this user in sshd_config"))

    @property
    def connected(self) -> bool:
        """Whether the shared connection is open: a command now needs no new one."""
        return self._master_answers()

    def _master_answers(self) -> bool:
        return Path(self.target.control_path).expanduser().exists()

    def _execute(self, words: list[str], data: bytes, timeout: float) -> Result:
        if words[0] != "ssh":
            return self._spawn(words, data, timeout)
        Path("~/.ssh").expanduser().mkdir(mode=0o700, exist_ok=True)
        if self._master_answers():
            result = self._spawn(words, data, timeout)
        else:
            with self._first:  # ssh processes that start together before there is a master open a connection each
                result = self._spawn(words, data, timeout)
        if result.status == 255:
            raise ssh_failure(self.target, result.stderr)
        return result

    def _spawn(self, words: list[str], data: bytes, timeout: float) -> Result:
        """Input and stderr go through files: a pipe for stderr would stay open in ssh's background master."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "PULUMI_CONFIG_PASS"))}
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(data)
            given.seek(0)
            try:
                process = subprocess.Popen(words, stdin=given, stdout=subprocess.PIPE, stderr=errors, env=environment, start_new_session=True)
            except FileNotFoundError as error:
                raise CommandFailed(Refusal("no-ssh", f"{self.target.name}: no `{words[0]}` on this machine", "not on PATH", "OpenSSH's client",
                                            "install it (Debian: openssh-client)")) from error
            over = threading.Event()
            timer = threading.Timer(timeout, lambda: (over.set(), process.kill()))
            timer.start()
            try:
                output = process.stdout.read(OUTPUT_BYTES)
                if process.stdout.read(1):
                    process.kill()
                status = process.wait()
            finally:
                timer.cancel()
                process.stdout.close()
            errors.seek(0)
            text = errors.read(65536).decode(errors="replace")
        if over.is_set():
            raise CommandFailed(Refusal("timeout", f"{self.target.name}: the host did not finish in time", f"no end after {timeout:.0f} s",
                                        "an answer in that time", "look at the host's load and at hanging file systems"))
        return Result(status, output.decode(errors="replace"), text)
