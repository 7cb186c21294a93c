"""A bounded load on one endpoint of this machine: full-length prompts, a fixed number at a time, for a minute."""
from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.real.flow import post

ANSWER = 16
"""Tokens of an answer."""


@dataclass
class Outcome:
    """`failures`: what was not answered with 200 and the whole number of prompt tokens."""

    requests: int = 0
    prompt_tokens: int = 0
    failures: list[Any] = field(default_factory=list)

    def add(self, status: int, document: dict[str, Any], wanted: int) -> None:
        told = (document.get("usage") or {}).get("prompt_tokens")
        self.requests += 1
        self.prompt_tokens += told or 0
        if status != 200 or told != wanted:
            self.failures.append((status, str(document)[:300]))


def ask(base_url: str, model: str, length: int, seed: int) -> tuple[int, dict[str, Any]]:
    """A prompt of so many tokens (a letter is one), different for each seed, so that no cached prefix helps."""
    chance = random.Random(seed)
    prompt = "".join(chance.choices(string.ascii_lowercase, k=length))
    return post(f"{base_url}/completions", {"model": model, "prompt": prompt, "max_tokens": ANSWER, "temperature": 0, "ignore_eos": True})


def run(base_url: str, model: str, length: int, at_once: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> Outcome:
    """`at_once` clients, each asks again until the time is over."""
    outcome, end = Outcome(), clock() + seconds

    def client(number: int) -> None:
        turn = 0
        while clock() < end:
            outcome.add(*ask(base_url, model, length, number * 100_000 + turn), length)
            turn += 1
    with ThreadPoolExecutor(at_once) as pool:
        for job in [pool.submit(client, number) for number in range(at_once)]:
            job.result()
    return outcome
