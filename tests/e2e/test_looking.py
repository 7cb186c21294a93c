"""What a runtime tells of its containers, read with the real Docker: one that is missing hides no other, and no answer is not "gone"."""

from __future__ import annotations

import pytest

from providers.runtimes import runtime_of
from providers.transport.address import Target
from providers.transport.errors import CommandFailed
from providers.transport.ssh import Connection
from tests.e2e.conftest import ZENTORCH

HERE = Connection(Target("box", "local"))


@pytest.fixture
def there(docker_engine, monkeypatch):
    """The id of a container `there`; `docker` here means its engine."""
    ZENTORCH.load(docker_engine)
    monkeypatch.setenv("DOCKER_HOST", docker_engine.url)
    made = docker_engine.docker("create", "--name", "there", ZENTORCH.name, "vllm", "serve", "m").stdout.strip()
    yield made
    docker_engine.docker("rm", "--force", "there")


def test_one_that_is_missing_hides_no_other(there):
    seen = runtime_of("docker").inspect(HERE, ["gone", "there", "also-gone"])
    assert {name: found and found["Id"] for name, found in seen.items()} == {"gone": None, "there": there, "also-gone": None}
    assert runtime_of("docker").look(HERE, "gone") == (None, "") and runtime_of("docker").look(HERE, "there")[0]["Id"] == there


@pytest.mark.parametrize("ask", [lambda runtime: runtime.inspect(HERE, ["there"]), lambda runtime: runtime.look(HERE, "there")], ids=["inspect", "look"])
def test_an_engine_that_is_away_is_no_container_that_is_gone(there, monkeypatch, tmp_path, ask):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(CommandFailed, match="Cannot connect to the Docker daemon") as told:
        ask(runtime_of("docker"))
    assert told.value.refusal.code == "runtime-failed"
