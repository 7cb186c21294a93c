"""`EndpointPlan` and its parts: what planning makes for one endpoint, as `python -m planning plan --json` prints it.

All bytes are per rank. `document` and `from_document` are the way into JSON and Pulumi state and back.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from planning.errors import Consent, Refusal, Suggestion, Warn


@dataclass(frozen=True)
class Engine:
    """The software that will serve. `backend`: zentorch, stock or rocm. `image_from`: user, recipe or default."""

    vllm_version: str
    backend: str
    image: str
    image_from: str


@dataclass(frozen=True)
class Line:
    """One named part of a memory budget."""

    name: str
    bytes: int


@dataclass(frozen=True)
class MemoryReport:
    """What a rank needs against what it has. Fits means required_bytes <= available_bytes; required = sum of lines."""

    scope: str                                  # numa-node, socket, gpu
    available_bytes: int
    required_bytes: int
    lines: tuple[Line, ...]
    weights_bytes_per_rank: int | None = None
    kv_cache_bytes: int | None = None
    kv_cache_tokens: int | None = None
    max_concurrency: float | None = None
    max_model_len: int | None = None


@dataclass(frozen=True)
class Placement:
    """Where it runs. CPU lists in Linux' list format; `gpus` are amd-smi indexes."""

    socket: int | None = None
    numa_nodes: tuple[int, ...] = ()
    cpuset_cpus: str | None = None
    cpuset_mems: str | None = None
    omp_threads_bind: str | None = None
    gpus: tuple[int, ...] = ()
    tensor_parallel_size: int = 1
    reason: str | None = None                   # why this socket or these GPUs


@dataclass(frozen=True)
class Mount:
    """A bind mount. `propagation`: rslave, rprivate … or None for the runtime's default."""

    source: str
    target: str
    read_only: bool = False
    propagation: str | None = None


@dataclass(frozen=True)
class LaunchSpec:
    """Everything that the container is made of. `command` is the argument vector after the entrypoint."""

    runtime: str                                # docker, podman, host
    image: str
    entrypoint: tuple[str, ...] | None
    command: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    container_name: str
    port: int
    bind_address: str
    labels: Mapping[str, str]
    devices: tuple[str, ...] = ()
    group_add: tuple[str, ...] = ()
    cap_add: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    ipc: str | None = None
    network: str | None = None
    shm_bytes: int | None = None
    memory_bytes: int | None = None
    restart: str = "unless-stopped"
    stop_seconds: int = 30
    log_options: Mapping[str, str] = field(default_factory=dict)
    cpuset_cpus: str | None = None              # what the runtime confines it to; None where it cannot (the placement stands)
    cpuset_mems: str | None = None
    flags_from: Mapping[str, str] = field(default_factory=dict)   # flag or variable -> who set it


@dataclass(frozen=True)
class HealthSpec:
    """The proof: one deterministic generation. `requires_log`: a start-up line without which the result is blocked.

    `stack`: what the family wants of the software really in the image, read after the pull (`Family.judge_stack`). `stall_seconds`: a
    start whose log says nothing new for so long has failed; None: only the deadline counts.
    """

    deadline_seconds: int
    path: str
    body: Mapping[str, Any]
    requires_log: str | None = None
    stack: Mapping[str, str] = field(default_factory=dict)
    stall_seconds: int | None = None


@dataclass(frozen=True)
class Handoff:
    """What an app needs."""

    base_url: str
    model: str
    primary_endpoint: str | None
    supported_endpoints: tuple[str, ...]
    curl: str
    python: str
    stop: str
    model_id: str = ""          # as the Hub knows it; `model` is its name in the API
    api_key: str = "none"       # none, set: never the key


@dataclass(frozen=True)
class EndpointPlan:
    """The whole answer for one endpoint. A refused plan has no launch, health or handoff; the rest as far as it is known."""

    name: str
    family: str
    verdict: str                                # fits, refused
    refusals: tuple[Refusal, ...] = ()
    consents: tuple[Consent, ...] = ()
    warnings: tuple[Warn, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    engine: Engine | None = None
    recipe: Mapping[str, Any] | None = None     # {"source", "name"}
    memory: MemoryReport | None = None
    placement: Placement | None = None
    launch: LaunchSpec | None = None
    health: HealthSpec | None = None
    handoff: Handoff | None = None
    summary: tuple[tuple[str, str], ...] = ()   # rows of the seed's confirmation table
    generation: int = 0                         # raised when a container that drifted must be replaced
    revision: str | None = None                 # commit of the model
    asked: str = ""                             # short hash of the configuration that it was made for


def document(plan: EndpointPlan) -> dict[str, Any]:
    """The plan as JSON-able data: tuples become lists, absent is None."""
    return _plain(asdict(plan))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def from_document(data: Mapping[str, Any]) -> EndpointPlan:
    """The inverse of `document`, also of what Pulumi's state made of it: numbers that became floats are integers again where they are
    meant to be, and what is absent because it was None is None again."""
    return _typed(EndpointPlan, data)


def _typed(kind: Any, value: Any) -> Any:
    """`value` (plain data) as the annotated type `kind`."""
    if value is None:
        return None
    if is_dataclass(kind):
        hints = _hints(kind)
        absent = {field.name: None for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING}
        return kind(**{**absent, **{name: _typed(hints[name], value[name]) for name in hints if name in value}})
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _typed(next(item for item in inside if item is not type(None)), value)
    if origin is tuple:
        each = (inside[0],) * len(value) if inside[1:] == (...,) else inside
        return tuple(_typed(item, part) for item, part in zip(each, value))
    return int(value) if kind is int else value if kind in (float, str) else _whole(value)


def _whole(value: Any) -> Any:
    """Free-form data with whole floats as the integers they were."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
