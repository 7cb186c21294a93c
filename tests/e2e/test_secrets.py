"""Secrets are nowhere: everything that a run leaves and shows is searched for the Hub token, the API key and the SSH key with
its passphrase. And who may reach what."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.bed.processes import run, start, stop, wait_until
from tests.e2e.bed.registry import ADDRESS, Registry
from tests.e2e.conftest import ZENTORCH
from tests.e2e.models import CHAT

NAME = "vllm-e2e-chat"
NO_AGENT = 2     # what `ssh-add` ends with where nobody listens
TOKEN, KEY, PASSPHRASE = "hf_TheTokenOfTheHub0123456789", "sk-the-key-of-the-endpoint-9876", "the-passphrase-of-our-ssh-key"


class Watch:
    """The argument vector of every process of this machine, those of the hosts included."""

    def __enter__(self) -> Watch:
        self.seen: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.02):
            for process in filter(str.isdigit, os.listdir("/proc")):
                try:
                    self.seen.add(Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace"))
                except OSError:
                    continue

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def found_in(texts: dict[str, str], *secrets: str) -> list[str]:
    return [name for name, text in texts.items() if any(secret in text for secret in secrets)]


def files_of(folder: Path) -> dict[str, str]:
    """Every file below a folder, as text."""
    return {str(path): path.read_bytes().decode(errors="replace") for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and ".venv" not in path.parts}


class GuardedKey:
    """An SSH key with a passphrase, in an agent. `lines`: what its file holds, and held before it had the passphrase.

    The passphrase is in no argument here either: the watch of a test in another worker would see it.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.socket, asks = folder / "id_guarded", folder / "agent", folder / "asks"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "guarded", "-f", self.path)
        plain = self.path.read_text()
        asks.write_text(f"#!/bin/sh\necho {PASSPHRASE}\n")
        asks.chmod(0o700)
        answered = {**os.environ, "SSH_AUTH_SOCK": str(self.socket), "SSH_ASKPASS": str(asks), "SSH_ASKPASS_REQUIRE": "force"}
        run("ssh-keygen", "-q", "-p", "-P", "", "-f", self.path, env=answered)
        self.lines = {line for line in (plain + self.path.read_text()).splitlines() if line and not line.startswith("-----")}
        self._agent = start(["ssh-agent", "-D", "-a", self.socket], folder / "agent.log")
        wait_until(lambda: run("ssh-add", "-l", check=False, env=answered).returncode != NO_AGENT, "ssh-agent")
        run("ssh-add", "-q", self.path, env=answered)

    def connection(self, host) -> dict[str, object]:
        """To a host that lets this key in and no other."""
        (host.ssh.folder / "authorized_keys").write_text(self.path.with_suffix(".pub").read_text())
        return host.connection(identityFile=str(self.path))

    def close(self) -> None:
        stop(self._agent)


@pytest.fixture
def guarded(tmp_path):
    made = GuardedKey(tmp_path)
    yield made
    made.close()


@pytest.fixture
def keyed(project, hub, genoa, guarded):
    """An endpoint with an API key, a model that wants a token, and a host that is reached with a key in an agent."""
    models.add(hub, gated="manual", allowed={TOKEN})
    project.set_secret("hfToken", TOKEN)
    project.set_secret("apiKeys.chat", KEY)
    project.environment["SSH_AUTH_SOCK"] = str(guarded.socket)
    project.configure({"box": guarded.connection(genoa)}, {"chat": CHAT})
    return project


def searched(project, host, look) -> tuple[dict[str, str], object]:
    """Where to search: all that every operation shows and leaves, and the arguments of all processes meanwhile. And what `look` saw after `up`."""
    shown: dict[str, str] = {}
    seen = None
    with Watch() as watch:
        for words in (("preview", "--diff"), ("preview", "--json"), ("up", "--yes"), ("preview", "--refresh", "--diff"), ("refresh", "--yes"),
                      ("stack", "output", "--json"), ("stack", "export"), ("destroy", "--preview-only")):
            shown[" ".join(words)] = project.run(*words, timeout=200).ok().text
            if words[0] == "up":
                seen = look()
    return {**shown, **files_of(project.folder.parent), "sshd": host.ssh.log.read_text(errors="replace"),
            **{f"argv {index}": each for index, each in enumerate(sorted(watch.seen))}}, seen


def argv_of(left: dict[str, str], word: str) -> list[str]:
    return [text for name, text in left.items() if name.startswith("argv ") and word in text]


def test_nothing_that_a_run_leaves_or_shows_has_a_secret(keyed, genoa, guarded):
    left, (inspected, copied) = searched(keyed, genoa, lambda: (
        genoa.engine.docker("inspect", NAME).stdout, genoa.engine.docker("cp", f"{NAME}:/run/secrets/hf_token", "-").stdout))
    assert argv_of(left, "docker") and argv_of(left, str(guarded.path)), "the watch sees what runs"
    left |= {"dockerd": genoa.engine.log.read_text(errors="replace"), "container's log": genoa.engine.docker("logs", NAME).stdout}
    assert found_in(left, TOKEN, KEY, PASSPHRASE, *guarded.lines) == []
    assert TOKEN in copied, "the token is a file in the container"
    the_variable(inspected)


def the_variable(inspected: str) -> None:
    """vLLM takes its key as a variable: there it is, and there only. No other secret is in what the runtime shows."""
    variables = json.loads(inspected)[0]["Config"]["Env"]
    assert [each for each in variables if KEY in each] == [f"VLLM_API_KEY={KEY}"]
    assert inspected.count(KEY) == 1 and TOKEN not in inspected


def test_nothing_has_a_secret_under_podman(keyed, make_host, guarded):
    host = make_host("genoa-small", docker=False)
    images.zentorch(f"docker.io/{ZENTORCH.name}").load(host.podman)
    keyed.configure({"box": guarded.connection(host)}, {"chat": CHAT})
    left, inspected = searched(keyed, host, lambda: host.podman.call("inspect", NAME).stdout)
    assert argv_of(left, f"podman\0create\0--name\0{NAME}") and argv_of(left, "podman\0secret\0create"), "the watch sees what runs"
    assert found_in(left, TOKEN, KEY, PASSPHRASE, *guarded.lines) == []
    the_variable(inspected)
    keyed.destroy().ok()
    assert found_in(files_of(host.folder / "home"), TOKEN, KEY) == []
    keyed.up().ok()
    host.podman.call("rm", "--force", NAME)
    assert len(host.podman.call("secret", "ls", "--quiet").stdout.split()) == 2, "Podman keeps the secrets of a container that was removed by hand"
    keyed.refresh().ok()
    keyed.destroy().ok()
    assert host.podman.call("secret", "ls", "--quiet").stdout.split() == [] and found_in(files_of(host.folder / "home"), TOKEN, KEY) == []


def test_the_login_of_a_private_registry_is_on_the_host_alone(project, hub, genoa):
    models.add(hub)
    registry = Registry(genoa, "reader:$2b$12$iIrvNpIf774fNa.uPP3AU.hd58b.4ngYfIX0BH9AWgXggjoX7updW").start()
    image = images.zentorch(f"{ADDRESS}/private/zentorch:v0.25.1")
    login = base64.b64encode(b"reader:the-password-of-the-registry").decode()
    home = genoa.folder / "home" / ".docker"
    home.mkdir(exist_ok=True)
    try:
        (home / "config.json").write_text(json.dumps({"auths": {ADDRESS: {"auth": login}}}))         # as `docker login` on the host leaves it
        image.load(genoa.engine)
        genoa.over_ssh("docker", "push", image.name)
        genoa.engine.docker("rmi", "--force", image.name)
        project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": image.name}})
        left, _ = searched(project, genoa, lambda: None)
        genoa.engine.docker("rm", "--force", NAME)
        genoa.engine.docker("rmi", "--force", image.name)
        assert f"{NAME} is gone" in project.refresh().ok().text
        project.up().ok()
        project.destroy().ok()
        genoa.engine.docker("rmi", "--force", image.name)
        project.up().ok()
    finally:
        registry.stop()
        (home / "config.json").unlink()
    assert found_in(left, login, "the-password-of-the-registry") == []
    project.destroy().ok()


def test_the_most_talkative_log_has_no_secret(keyed, genoa, guarded):
    seen = keyed.run("up", "--yes", "-v=9", "--logtostderr", "--logflow", timeout=300).ok()
    assert len(seen.text) > 1_000_000 and "docker" in seen.text
    assert found_in({"out": seen.out, "err": seen.err}, TOKEN, KEY, PASSPHRASE, *guarded.lines) == []


def test_errors_have_no_secret(keyed, genoa, guarded):
    keyed.configure({"box": guarded.connection(genoa)}, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": "crash-at-load"}}})
    seen = keyed.up().failed()
    assert found_in({"up": seen.text}, TOKEN, KEY, PASSPHRASE, *guarded.lines) == []


def test_a_key_closes_what_was_open_and_the_address_is_the_one_we_came_by(keyed, hub, genoa, make_project):
    assert "[open-endpoint]" not in keyed.preview().ok().text
    open_one = make_project()
    genoa.ssh.authorize()
    open_one.configure({"box": genoa.connection()}, {"chat": CHAT})
    open_one.set_secret("hfToken", TOKEN)
    assert "[open-endpoint]" in open_one.preview().ok().text
    keyed.configure({"box": genoa.connection()}, {"chat": CHAT})
    keyed.up().ok()
    listening = genoa.run_local("ss", "-ltnH").stdout
    assert f"{genoa.address}:8000" in listening and "0.0.0.0:8000" not in listening
    url = f"{keyed.outputs()['baseUrl']}/models"
    without = subprocess.run(["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", url], capture_output=True, text=True, check=True)
    assert without.stdout == "401"
