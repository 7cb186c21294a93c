"""Nothing is launched before all have spoken, and nothing at all if one is refused."""
from __future__ import annotations

import asyncio

import pulumi
import pytest

from components.barrier import Barrier


def speak(*answers: tuple[str, bool], left: tuple[str, ...] = ()) -> list:
    """What each endpoint got from the barrier: None, or the error; in the order of `answers`."""
    async def run():
        barrier = Barrier()
        for name in (*(name for name, _ in answers), *left):
            barrier.join(name)
        tasks = [asyncio.ensure_future(barrier.speak(name, refused)) for name, refused in answers]
        await asyncio.sleep(0)
        assert not left or not any(task.done() for task in tasks), "somebody went on before all had spoken"
        for name in left:
            barrier.leave(name)
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    return asyncio.run(run())


def test_all_go_on_when_all_fit():
    assert speak(("a", False), ("b", False), ("c", False)) == [None, None, None]


def test_nobody_goes_on_when_one_is_refused_and_all_refused_are_named():
    got = speak(("a", False), ("b", True), ("c", True))
    assert all(isinstance(error, pulumi.RunError) for error in got)
    assert "2 refused: b, c" in str(got[0])


def test_an_endpoint_whose_plan_is_unknown_hangs_nobody():
    assert speak(("a", False), left=("late",)) == [None]


@pytest.mark.parametrize("count", [1, 50])
def test_any_number(count):
    assert speak(*((f"e{i}", False) for i in range(count))) == [None] * count
