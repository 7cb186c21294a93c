"""What setup says while it works: one line a step, with the time since the start, and the one error it raises."""

import sys
import time

STARTED = time.monotonic()


class SetupError(Exception):
    """Something that the user has to change; its text says what was found, what is needed and what to do."""


def say(text: str) -> None:
    """One line of progress on stderr, so that stdout stays free."""
    print(f"setup [{time.monotonic() - STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def done(text: str) -> None:
    """The last line of a step."""
    say(text)
