"""The wait for a start ends by its deadline, and where a stall counts, when the log says nothing new."""
from __future__ import annotations

import pytest

from providers import patience


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])

    def later(seconds: float) -> None:
        now[0] += seconds
    return later


def test_a_start_whose_log_goes_on_is_waited_for(clock):
    waiting = patience.Patience("big", 86400, 3600)
    for shard in range(24):
        assert waiting.over("connection refused", (f"Loading shard {shard}",)) is None
        clock(3000)
    clock(700)
    late = waiting.over("connection refused", ("Loading shard 23",))
    assert late.code == "deadline" and "no new line in the log for 3700 s" in late.found and "waitSeconds" in late.do


def test_the_deadline_ends_it_whatever_the_log_says(clock):
    waiting = patience.Patience("small", 600, None)
    clock(599)
    assert waiting.over("503", ()) is None
    clock(2)
    late = waiting.over("503", ("a new line",))
    assert (late.code, late.found, late.needed) == ("deadline", "601 s, 503", "an answer within 600 s")
