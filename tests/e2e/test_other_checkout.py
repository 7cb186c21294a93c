"""Another checkout, a CI job, a colleague: the same state without the local record. What serves is not touched without need."""

from __future__ import annotations

import http.client
import json

import pytest

from providers.runtimes.base import LOG_LINES
from tests.e2e import models
from tests.e2e.bed import images
from tests.e2e.models import CHAT
from tests.e2e.test_endpoint import changes
from tests.e2e.test_faults import NAME, declared

WRONG = images.Image("example/zentorch:v0.25.1", images.STOCK)


@pytest.fixture
def elsewhere(project, hub, genoa):
    """An endpoint that is up, and a checkout that does not know of it."""
    models.add(hub)
    project.configure({"box": genoa.connection()}, {"chat": {**CHAT, "waitSeconds": 20}})
    project.up().ok()
    for record in (project.folder / ".amd-vllm").glob("record-*.json"):
        record.unlink()
    return project


def seen(host) -> tuple[str, str, bool]:
    (found,) = json.loads(host.engine.docker("inspect", NAME).stdout)
    return found["Id"], found["State"]["StartedAt"], found["State"]["Running"]


def test_an_endpoint_whose_start_left_the_log_long_ago_stays(elsewhere, genoa):
    before, line = seen(genoa), http.client.HTTPConnection(genoa.address, 8000)
    for _ in range(LOG_LINES + 100):
        line.request("GET", "/v1/models")
        line.getresponse().read()
    assert genoa.engine.docker("logs", "--tail", str(LOG_LINES), NAME).stdout.count("GET /v1/models") > LOG_LINES / 2, "an access log"
    assert not changes(elsewhere.up().ok()) and seen(genoa) == before
    assert not changes(elsewhere.up().ok())
    elsewhere.configure({"box": genoa.connection()}, {"chat": {**CHAT, "waitSeconds": 30}})
    elsewhere.up().ok()
    declared(elsewhere, genoa)


def test_an_engine_that_hangs_is_told_and_not_stopped(elsewhere, genoa):
    before = seen(genoa)
    genoa.engine.docker("exec", NAME, "/stand-in", "fail", "health-200-but-dead")
    assert "[hung]" in elsewhere.up().failed().text
    assert seen(genoa) == before


def test_an_image_that_is_blocked_leaves_the_old_one_serving(elsewhere, genoa):
    before = seen(genoa)
    WRONG.load(genoa.engine)
    elsewhere.configure({"box": genoa.connection()}, {"chat": {**CHAT, "image": WRONG.name, "backend": "zentorch", "acceptUnverified": True}})
    blocked = elsewhere.up().failed()
    assert "[blocked]" in blocked.text and "What served until now was not touched" in blocked.text, blocked.report()
    assert seen(genoa) == before
