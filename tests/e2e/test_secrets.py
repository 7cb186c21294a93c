"""Secrets are nowhere: everything that a run leaves and shows is searched for the Hub token and the API key. And who may reach what."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.e2e import models

CHAT = {"kind": "epyc", "host": "box", "model": models.TINY, "maxModelLen": 4096}
NAME = "vllm-e2e-chat"
TOKEN, KEY = "hf_TheTokenOfTheHub0123456789", "sk-the-key-of-the-endpoint-9876"


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


@pytest.fixture
def keyed(project, hub, genoa):
    """An endpoint with an API key, and a model that wants a token."""
    models.add(hub, gated="manual", allowed={TOKEN})
    project.set_secret("hfToken", TOKEN)
    project.set_secret("apiKeys.chat", KEY)
    project.configure({"box": genoa.connection()}, {"chat": CHAT})
    return project


def test_nothing_that_a_run_leaves_or_shows_has_a_secret(keyed, genoa):
    shown: dict[str, str] = {}
    with Watch() as watch:
        for words in (("preview", "--diff"), ("preview", "--json"), ("up", "--yes"), ("preview", "--refresh", "--diff"), ("refresh", "--yes"),
                      ("stack", "output", "--json"), ("stack", "export"), ("destroy", "--preview-only")):
            shown[" ".join(words)] = keyed.run(*words, timeout=200).ok().text
            if words[0] == "up":
                inspected = genoa.engine.docker("inspect", NAME).stdout
                copied = genoa.engine.docker("cp", f"{NAME}:/run/secrets/hf_token", "-").stdout
    assert len(watch.seen) > 20 and any("docker" in each for each in watch.seen)
    left = {**shown, **files_of(keyed.folder.parent), "sshd": genoa.ssh.log.read_text(errors="replace"),
            "dockerd": genoa.engine.log.read_text(errors="replace"), "container's log": genoa.engine.docker("logs", NAME).stdout,
            **{f"argv {index}": each for index, each in enumerate(sorted(watch.seen))}}
    assert found_in(left, TOKEN, KEY) == []
    assert TOKEN not in inspected and TOKEN in copied, "the token is a file in the container and no variable"
    variables = json.loads(inspected)[0]["Config"]["Env"]
    assert [each for each in variables if KEY in each] == [f"VLLM_API_KEY={KEY}"]
    assert inspected.count(KEY) == 1, "vLLM takes its key as a variable, and there only"


def test_the_most_talkative_log_has_no_secret(keyed, genoa):
    seen = keyed.run("up", "--yes", "-v=9", "--logtostderr", "--logflow", timeout=300).ok()
    assert len(seen.text) > 1_000_000 and "docker" in seen.text
    assert found_in({"out": seen.out, "err": seen.err}, TOKEN, KEY) == []


def test_errors_have_no_secret(keyed, genoa):
    keyed.configure({"box": genoa.connection()}, {"chat": {**CHAT, "env": {"STAND_IN_FAIL": "crash-at-load"}}})
    seen = keyed.up().failed()
    assert found_in({"up": seen.text}, TOKEN, KEY) == []


def test_a_key_closes_what_was_open_and_the_address_is_the_one_we_came_by(keyed, hub, genoa, make_project):
    assert "[open-endpoint]" not in keyed.preview().ok().text
    open_one = make_project()
    open_one.configure({"box": genoa.connection()}, {"chat": {**CHAT, "model": models.TINY}})
    open_one.set_secret("hfToken", TOKEN)
    assert "[open-endpoint]" in open_one.preview().ok().text
    keyed.up().ok()
    listening = genoa.run_local("ss", "-ltnH").stdout
    assert f"{genoa.address}:8000" in listening and "0.0.0.0:8000" not in listening
    url = f"{keyed.outputs()['baseUrl']}/models"
    without = subprocess.run(["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", url], capture_output=True, text=True, check=True)
    assert without.stdout == "401"
