"""Changes of an EPYC endpoint that might make it fit. Candidates only: the pipeline plans each again and offers those that fit."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planning.errors import Notes
from planning.families.base import Case
from planning.place import domains, threads_of

# No key of an endpoint changes what these say.
FINAL = {"not-epyc", "unknown-fact", "architecture-unsupported", "unknown-architecture", "not-generative", "metadata-missing", "gated", "no-runtime",
         "no-access", "cpu-unsupported", "blacklisted", "not-found", "no-weights"}
LENGTHS = (131072, 65536, 32768, 16384, 8192, 4096, 2048, 1024)


def suggestions(case: Case, notes: Notes) -> Iterable[tuple[Mapping[str, Any], str]]:
    """Consents first (all that are missing, together), then the smallest changes beside them."""
    if FINAL & {refusal.code for refusal in notes.refusals}:
        return
    for base in _consents(notes):
        if base:
            yield base, "gives the consent that is missing"
        for keys, why in (change for change in _changes(case, notes) if change[0]):
            yield {**base, **keys}, why if not base else f"{why}, with the consent that is missing"


def _consents(notes: Notes) -> tuple[Mapping[str, Any], ...]:
    missing = [consent.key for consent in notes.consents if not consent.given]
    if {"acceptUnverified", "acceptStockVllm"} <= set(missing):
        rest = {key: True for key in missing if key not in ("acceptUnverified", "acceptStockVllm")}
        return ({**rest, "acceptUnverified": True}, {**rest, "acceptStockVllm": True})
    return (dict.fromkeys(missing, True),)


def _changes(case: Case, notes: Notes) -> Iterable[tuple[Mapping[str, Any], str]]:
    codes = {refusal.code for refusal in notes.refusals}
    if "precision-unsupported" in codes:
        keys = {key: value for key, value, given in (("dtype", "bfloat16", case.request.dtype), ("kvCacheDtype", "auto", case.request.kv_cache_dtype)) if given}
        yield from (({key: value}, "bfloat16 is what the backend computes in and keeps") for key, value in keys.items())
        yield keys, "bfloat16 throughout"
    if "port-taken" in codes:
        taken = case.claims.ports | set(case.survey.used_ports or ())
        yield {"port": next(port for port in range(8000, 65536) if port not in taken)}, "this port is free"
    if "zentorch-unsupported" in codes:
        yield {"backend": "stock"}, "stock vLLM runs on this CPU, slower"
    if codes & {"no-cores", "memory", "tensor-parallel"}:
        yield from _places(case)
    if codes & {"memory", "length"}:
        yield from _smaller(case)


def _places(case: Case) -> Iterable[tuple[Mapping[str, Any], str]]:
    places = domains(case.facts, threads_of(case.facts, case.claims.cpus))
    request = case.request
    for place in places:
        if place.cores and request.socket is not None and place.socket != request.socket:
            yield {"socket": place.socket}, f"socket {place.socket} has {len(place.cores)} free cores"
        if request.cores and len(place.cores) and len(place.cores) < request.cores:
            yield {"cores": len(place.cores)}, f"so many cores are free on socket {place.socket}"
        if len(place.nodes) > 1 and request.numa_node is None:
            yield {"tensorParallelSize": len(place.nodes)}, f"one rank for each NUMA node of socket {place.socket} shares the weights"
    nodes = sorted({node for place in places for node in place.nodes})
    yield from (({"numaNode": node}, f"node {node} has room") for node in nodes if request.numa_node not in (None, node))
    if len(nodes) > 1 and request.socket is None:
        yield {"tensorParallelSize": len(nodes)}, "one rank for each NUMA node of the host, across sockets (slower per core)"
    if request.tensor_parallel_size > 1:
        yield {"tensorParallelSize": 1}, "one rank needs one socket only"


def _smaller(case: Case) -> Iterable[tuple[Mapping[str, Any], str]]:
    request = case.request
    if request.kv_cache_gib:
        yield from (({"kvCacheGib": size}, "a smaller KV cache fits") for size in _halves(request.kv_cache_gib))
        yield from (({"kvCacheGib": size}, "the requests need a larger KV cache") for size in _doubles(request.kv_cache_gib))
    if request.concurrency > 1:
        yield from (({"concurrency": count}, "fewer requests at once fit") for count in _halves(request.concurrency))
    asked = request.max_model_len or 4096
    yield from (({"maxModelLen": length}, "a shorter context fits") for length in LENGTHS if length < asked)


def _halves(number: int) -> list[int]:
    return [number >> shift for shift in range(1, 6) if number >> shift]


def _doubles(number: int) -> list[int]:
    return [number << shift for shift in range(1, 5)]
