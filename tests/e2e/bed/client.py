"""The client's side of SSH: one key for all hosts of the session, a known_hosts file, a configuration file."""

from __future__ import annotations

from pathlib import Path

from .ssh_server import make_key


class Client:
    """Files in the session's folder; nothing of the user's own ~/.ssh is read or written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "client"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self.identity_file = self.folder / "id_ed25519"
        self.known_hosts = self.folder / "known_hosts"
        self.config_file = self.folder / "config"
        make_key(self.identity_file)
        self.known_hosts.touch()
        self.config_file.write_text(
            f"Host *\n  IdentityFile {self.identity_file}\n  IdentitiesOnly yes\n  UserKnownHostsFile {self.known_hosts}\n"
            "  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  BatchMode yes\n  ConnectTimeout 5\n")

    def trust(self, address: str, key: str) -> None:
        """Know a host by its key."""
        self.forget(address)
        with open(self.known_hosts, "a") as stream:
            stream.write(f"{address} {key}\n")

    def forget(self, address: str) -> None:
        """Know the host no longer: as on a first connection."""
        kept = [line for line in self.known_hosts.read_text().splitlines() if not line.startswith(f"{address} ")]
        self.known_hosts.write_text("".join(f"{line}\n" for line in kept))
