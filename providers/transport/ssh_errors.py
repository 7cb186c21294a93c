"""What ssh said when it failed, read into a refusal: dead, unknown or changed host key, refused key, lost connection."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

from planning.errors import Refusal
from providers.transport.address import Target
from providers.transport.errors import HostRefused, HostUnreachable, TransportError

_REASONS = (
    ("Permission denied", HostRefused, "no-access", "the host refuses our key", "a key that the host accepts, without a question",
     "set up key login (`ssh-copy-id`), or set `identityFile:`; keys with a passphrase need ssh-agent"),
    ("Host key verification failed", HostRefused, "host-key-unknown", "its host key is not known here", "an entry in known_hosts",
     "connect once by hand and compare the fingerprint, or set `acceptNewHostKey: true`"),
    ("host key is known for", HostRefused, "host-key-unknown", "its host key is not known here", "an entry in known_hosts",
     "connect once by hand and compare the fingerprint, or set `acceptNewHostKey: true`"),
    ("Could not resolve hostname", HostUnreachable, "host-unreachable", "its name has no address", "a name that resolves here",
     "correct `address:`, or look at DNS"),
    ("Connection refused", HostUnreachable, "host-unreachable", "nobody listens at the ssh port", "a running sshd at that port",
     "start sshd, or correct the port in `address:`"),
    ("", HostUnreachable, "host-unreachable", "the ssh connection failed", "an sshd that answers within 10 s",
     "try `ssh` with the same address by hand; look at the network and the firewall"),
)


def ssh_failure(target: Target, stderr: str) -> TransportError:
    """The error for ssh's exit status 255."""
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in stderr:
        return HostRefused(_changed(target, stderr))
    lines = [line for line in stderr.splitlines() if line.strip()]
    for needle, kind, code, what, needed, do in _REASONS:
        if needle in stderr:
            found = next((line for line in lines if needle in line), "no message")
            return kind(Refusal(code, f"{target.name} ({target.address}): {what}", found, needed, do))
    raise AssertionError("the last reason matches everything")


def _changed(target: Target, stderr: str) -> Refusal:
    sent = re.search(r"(SHA256:\S+?)\.?\s", stderr)
    known = _known_fingerprints(target)
    return Refusal("host-key-changed", f"{target.name} ({target.address}): the host key is another one than before",
                   f"{sent[1] if sent else 'another fingerprint'} sent, {known or 'another one'} known", "the host key that is known",
                   "find out why (new machine, or somebody in between); if it is right, remove the old key with `ssh-keygen -R`")


def _known_fingerprints(target: Target) -> str:
    address = target.parsed
    host = address.host if address.port in (None, 22) else f"[{address.host}]:{address.port}"
    path = Path(target.known_hosts or "~/.ssh/known_hosts").expanduser()
    try:
        shown = subprocess.run(["ssh-keygen", "-l", "-F", host, "-f", str(path)], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ", ".join(re.findall(r"SHA256:\S+", shown))
