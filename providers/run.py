"""What one engine operation reads, once: hosts and models, each in a thread of its own, joined by whoever needs it.

The engine calls `check` one at a time, so a provider that reads when asked puts hosts in a queue. `start` gets the whole
stack configuration from `configure()` and begins to read all hosts at once; `facts_of` joins, or reads what nobody announced.
"""
from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planning.detect.facts import HostFacts, HostSurvey
from planning.errors import PlanningError, Refusal
from planning.resolve.manifest import ModelManifest
from providers.transport.address import Target, bad_address, parse_address
from providers.transport.errors import TransportError
from providers.transport.ssh import Connection

PROBE_SECONDS, POLL_SECONDS = 45, 0.02
_ABSENT = 'for path in "$@"; do case $path in "~/"*) at=$HOME/${path#??} ;; *) at=$path ;; esac; [ -f "$at" ] || printf "%s\\n" "$path"; done'
_pool = ThreadPoolExecutor(64, thread_name_prefix="amd-vllm")
_futures: dict[tuple, Future] = {}
_lock = threading.Lock()
_secrets: dict[str, Any] = {"hf_token": None, "api_keys": {}}
_endpoints: dict[str, Any] = {}


@dataclass(frozen=True)
class Reading:
    """One host as it was read: facts and survey, or the problem that kept us from it. `outputs`: section name -> text."""

    outputs: Mapping[str, str]
    facts: HostFacts | None = None
    survey: HostSurvey | None = None
    problem: Refusal | None = None
    complete: bool = False      # a recorded host: the survey is there with the facts
    absent: frozenset[str] = frozenset()    # of the files that were asked for


def start(config: Any) -> None:
    """Begin with all hosts of the configuration; keep its secrets in this process. `config`: what `configure()` was given."""
    sys.tracebacklimit = 0  # of the plugin process: what a user can cause is told in a sentence, not in a traceback
    _secrets.update(hf_token=config.get("hfToken"), api_keys=plain(config.get("apiKeys")) or {})
    _endpoints.update(plain(config.get("endpoints")) or {})
    for name, keys in (plain(config.get("hosts")) or {}).items():
        if isinstance(keys, Mapping) and isinstance(keys.get("address"), str) and parse_address(keys["address"]):
            facts_of(Target(str(name), keys["address"], keys.get("identityFile"), keys.get("knownHosts"), keys.get("acceptNewHostKey") is True))


def plain(value: Any) -> Any:
    """A configuration value that the engine may hand over as JSON text."""
    return json.loads(value) if isinstance(value, str) else value


def hf_token() -> str | None:
    """The Hub token of the stack's secret configuration; without one, the Hub client finds its own."""
    return _secrets["hf_token"]


def api_key(endpoint: str) -> str | None:
    return _secrets["api_keys"].get(endpoint)


def facts_of(target: Target) -> Future:
    """Future of a `Reading`; its survey is complete only from `survey_of`."""
    return once(("facts", target), lambda: _read(target))


def survey_of(target: Target) -> Future:
    """Future of a `Reading` with facts and survey, when something new is placed: a second command on the same connection, at the same time."""
    return once(("survey", target), lambda: _surveyed(target))


def reading_of(target: Target, surveyed: bool, named: Sequence[str]) -> Reading:
    """Facts, the survey where something is placed, and which of the files that the configuration names are not there."""
    reading = (survey_of if surveyed else facts_of)(target).result()
    if reading.problem or reading.complete or not named:
        return reading
    try:
        told = Connection(target).run(_ABSENT, arguments=named)
    except TransportError as error:
        return Reading({}, problem=error.refusal)
    return replace(reading, absent=frozenset(told.stdout.split("\n")))


def manifest_of(key: tuple, reader: Callable[[], ModelManifest]) -> Future:
    """Future of the manifest of a model; `reader` runs at most once for its key."""
    return once(("model", *key), reader)


def take_manifest(key: tuple, manifest: ModelManifest) -> ModelManifest:
    """The manifest of a model is this one, whatever was begun to be read."""
    with _lock:
        known: Future[ModelManifest] = Future()
        known.set_result(manifest)
        _futures[("model", *key)] = known
    return manifest


def endpoints() -> Mapping[str, Any]:
    """The endpoints of the stack's configuration, as they stand there: not validated."""
    return {name: keys for name, keys in _endpoints.items() if isinstance(keys, Mapping)}


def once(key: tuple, work: Callable[[], Any]) -> Future:
    with _lock:
        if key not in _futures:
            _futures[key] = _pool.submit(work)
        return _futures[key]


def _read(target: Target) -> Reading:
    from planning import detect

    try:
        outputs = _outputs(target, "facts")
    except TransportError as error:
        return Reading({}, problem=error.refusal)
    except PlanningError as error:
        return Reading({}, problem=Refusal("host-unreachable", f"{target.name}: the recording cannot be read", str(error),
                                           "a folder of recorded outputs", "correct `address: recorded:DIR`"))
    return Reading(outputs, *detect.read_host(target.name, outputs), complete=target.parsed.scheme == "recorded")


def _surveyed(target: Target) -> Reading:
    """The facts as they were read, and the survey; a survey that fails is a problem of the host."""
    from planning import detect

    facts = facts_of(target)
    while not facts.done() and not _connected(target):
        time.sleep(POLL_SECONDS)
    if facts.done() and (facts.result().problem or facts.result().complete):
        return facts.result()
    try:
        outputs = _outputs(target, "survey")
    except TransportError as error:
        return Reading({}, problem=error.refusal)
    reading = facts.result()
    return reading if reading.problem else replace(reading, survey=detect.read_host(target.name, {**reading.outputs, **outputs})[1])


def _connected(target: Target) -> bool:
    return parse_address(target.address) is not None and target.parsed.scheme == "ssh" and Connection(target).connected


def _outputs(target: Target, group: str) -> Mapping[str, str]:
    """Section name -> text for one group of probes; a recorded host holds both groups."""
    from planning import detect

    if parse_address(target.address) is None:
        raise TransportError(bad_address(target.name, target.address))
    if target.parsed.scheme == "recorded":
        return detect.load_recording(Path(target.parsed.path).expanduser())
    result = Connection(target).run(detect.probes.script((group,)), timeout=PROBE_SECONDS)
    return detect.probes.split(result.stdout)
