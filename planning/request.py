"""`StackConfig` and `EndpointRequest`: what the user asked for, validated all at once, with the nearest known key for a typo.

Keys are camelCase in the configuration and snake_case here. Every problem is a `Refusal` with code `bad-value`; nothing is
raised, so that one preview shows all of them. Fields' descriptions make the table in docs/configuration.md.
"""
from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, ValidationError
from pydantic.alias_generators import to_camel

from planning.addresses import REACHED, host_and_port, ip, parse_address
from planning.arguments import spelled
from planning.errors import Refusal
from planning.paths import host_folder, host_path
from planning.secrecy import is_secret, shown

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\Z")
MODEL = re.compile(r"(?:/[\w.@+-][\w./@+-]*|\w[\w.-]{0,95}/\w[\w.-]{0,95})\Z")
IMAGE = re.compile(r"[a-z0-9][\w.:/-]{0,254}(?:@sha256:[0-9a-f]{64})?\Z")
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
API_KEY = re.compile(r"[!-~]+\Z")
HIDDEN = frozenset(("env", "extraArgs", "identityFile"))      # of a refused value only the type is shown
SECRET = "which is shown and kept in clear, looks like a secret (a Hub token goes to amd-vllm:hfToken, an API key to amd-vllm:apiKeys)"


def _matching(pattern: re.Pattern[str], what: str):
    def check(value: str) -> str:
        if not pattern.match(value) or ".." in value.split("/"):
            raise ValueError(f"is not {what}")
        return value
    return AfterValidator(check)


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("holds control characters")
    return value


def _env(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not ENV_NAME.match(name):
            raise ValueError(f"{shown(name.partition('=')[0])} is not the name of an environment variable")
        if is_secret(name, text):
            raise ValueError(f"{name}, {SECRET}")
    return value


def _extra(words: tuple[str, ...]) -> tuple[str, ...]:
    for option, value in spelled(words):
        if is_secret(option.lstrip("-").replace("-", "_"), value):
            raise ValueError(f"{option or 'a word'}, {SECRET}")
    return words


def _address(text: str) -> str:
    if parse_address(text) is None:
        raise ValueError(f"is not {REACHED}")
    return text


def _advertised(text: str) -> str:
    if host_and_port(text) is None:
        raise ValueError("is not an IP address or a DNS name, with `:port` or without (IPv6 with a port in brackets)")
    return text


def _ip(text: str) -> str:
    found = ip(text)
    if found is None:
        raise ValueError("is not an IP address")
    return str(found)


Text = Annotated[str, Field(max_length=4096), AfterValidator(_printable)]
Tokens = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
Count = Annotated[int, Field(strict=True, ge=1, le=4096)]
Seconds = Annotated[int, Field(strict=True, ge=1, le=604_800)]
HostPath = Annotated[Text, AfterValidator(host_path)]


class _Keys(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, populate_by_name=False, defer_build=True)


class HostConnection(_Keys):
    """How a host is reached."""

    address: Annotated[Text, AfterValidator(_address)] = Field(description="`ssh://user@host:port`, `local`, or `recorded:DIR` (preview only)")
    identity_file: Text | None = Field(None, description="private key file; without it the agent and ssh's defaults")
    known_hosts: Text | None = Field(None, description="known_hosts file; without it ssh's default")
    accept_new_host_key: StrictBool = Field(False, description="trust a host that is not in known_hosts yet; a changed key is always refused")
    advertise_address: Annotated[Text, AfterValidator(_advertised)] | None = Field(
        None, description="address in the base URL, where readers reach the host by another one (NAT, jump host): an IP address or a DNS name; "
        "with `:port` if the port is another one too (`203.0.113.7:9000`, `[2001:db8::1]:9000`)")


class EndpointRequest(_Keys):
    """Keys of both kinds."""

    kind: Literal["epyc", "instinct"] = Field(description="the family of the endpoint")
    host: Text = Field(description="name of a host of `hosts`")
    model: Annotated[Text, _matching(MODEL, "a Hub model (`org/name`) or an absolute path on the host")] | None = Field(
        None, description="model on the Hub or directory on the host; each kind has a default")
    revision: Annotated[Text, _matching(re.compile(r"\w[\w./-]{0,127}\Z"), "a branch, tag or commit")] = Field(
        "main", description="branch, tag or commit; pinned to a commit")
    served_model_name: Annotated[Text, _matching(re.compile(r"[\w/][\w./:@+-]{0,255}\Z"), "a model name")] | None = Field(
        None, description="name in the API; default: the model")
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = Field(None, description="TCP port; default: the first free one from 8000")
    bind_address: Annotated[Text, AfterValidator(_ip)] | None = Field(
        None, description="IP address the server listens on; default: loopback on a local host, else the address our SSH connection arrived at")
    max_model_len: Tokens | None = Field(None, description="`--max-model-len`")
    max_num_seqs: Tokens | None = Field(None, description="`--max-num-seqs`")
    max_num_batched_tokens: Tokens | None = Field(None, description="`--max-num-batched-tokens`")
    block_size: Count | None = Field(None, description="`--block-size`")
    dtype: Literal["auto", "bfloat16", "float16", "half", "float32", "float"] | None = Field(None, description="`--dtype`")
    kv_cache_dtype: Literal["auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"] | None = Field(None, description="`--kv-cache-dtype`")
    quantization: Annotated[Text, _matching(re.compile(r"\w[\w.-]{0,63}\Z"), "a quantization method")] | None = Field(
        None, description="`--quantization`")
    weight_gib: Annotated[float, Field(gt=0, le=100_000)] | None = Field(None, description="size of the weights, where it cannot be found out")
    chat_template: HostPath | None = Field(None, description="`--chat-template`: a file on the host")
    trust_remote_code: StrictBool = Field(False, description="consent: run code from the model's repository, at the pinned revision")
    features: tuple[Annotated[Text, _matching(re.compile(r"\w[\w-]{0,63}\Z"), "a feature")], ...] | None = Field(
        None, description="features of the recipe (`tool_calling`, `reasoning` …); default: those two")
    image: Annotated[Text, _matching(IMAGE, "an image reference")] | None = Field(None, description="image of your own, with a version tag")
    image_digest: Annotated[Text, _matching(re.compile(r"sha256:[0-9a-f]{64}\Z"), "a digest (`sha256:…`)")] | None = Field(
        None, description="digest the image is pinned to")
    runtime: Literal["auto", "docker", "podman", "host"] = Field("auto", description="what runs the engine; auto: docker, then podman, then host")
    python_env: HostPath | None = Field(None, description="runtime host: directory of the Python environment that has vllm")
    hf_cache: Annotated[Text, AfterValidator(host_folder)] | None = Field(
        None, description="model cache on the host, a folder for it alone; default: HF_HOME, else ~/.cache/huggingface")
    prefetch: StrictBool = Field(False, description="download the weights before the endpoint is touched")
    mode: Literal["serve", "bench"] = Field("serve", description="serve, or run `vllm bench throughput` once")
    env: Annotated[dict[str, Text], AfterValidator(_env)] = Field({}, description="environment variables of the engine; never for secrets")
    extra_args: Annotated[tuple[Text, ...], AfterValidator(_extra)] = Field(
        (), description="more arguments of `vllm serve`, never secrets; a conflict with what is set is refused")
    accept_stock_vllm: StrictBool = Field(False, description="consent: stock vLLM where zentorch cannot run")
    accept_unverified: StrictBool = Field(False, description="consent: a generation or stack that nobody validated")
    wait_seconds: Seconds | None = Field(None, description="deadline of the start; default by kind and size of the weights")
    drain_seconds: Annotated[int, Field(strict=True, ge=0, le=3600)] = Field(30, description="grace before a container is killed")


class EpycRequest(EndpointRequest):
    """Keys of `kind: epyc`."""

    kind: Literal["epyc"]
    backend: Literal["auto", "zentorch", "stock"] = Field("auto", description="zentorch or stock vLLM; auto: what the CPU can do")
    socket: Annotated[int, Field(strict=True, ge=0, le=63)] | None = Field(None, description="force a socket")
    numa_node: Annotated[int, Field(strict=True, ge=0, le=1023)] | None = Field(None, description="force a NUMA node")
    cores: Count | None = Field(None, description="physical cores to take; default: all that are free there")
    reserved_cpus: Annotated[int, Field(strict=True, ge=0, le=64)] = Field(0, description="cores of the cpuset left to the server process")
    kv_cache_gib: Annotated[int, Field(strict=True, ge=1, le=65536)] | None = Field(None, description="`VLLM_CPU_KVCACHE_SPACE`, GiB per rank")
    tensor_parallel_size: Count = Field(1, description="`--tensor-parallel-size`: one rank for each NUMA node")
    throughput_flags: StrictBool = Field(False, description="the procedure's three throughput variables, together")
    concurrency: Count = Field(1, description="requests of maxModelLen that the KV cache must hold at once")
    busy_threshold: Annotated[float, Field(gt=0, le=1)] = Field(0.15, description="load from which a socket counts as busy")


class InstinctRequest(EndpointRequest):
    """Keys of `kind: instinct`."""

    kind: Literal["instinct"]
    gpus: tuple[Annotated[int, Field(strict=True, ge=0, le=1023)], ...] | None = Field(None, description="amd-smi indexes; default: chosen")
    tensor_parallel_size: Count | None = Field(None, description="`--tensor-parallel-size`; default: the smallest that fits")
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = Field(None, description="`--gpu-memory-utilization`")
    variant: Annotated[Text, _matching(re.compile(r"\w[\w.-]{0,63}\Z"), "a variant")] | None = Field(None, description="variant of the recipe")
    enforce_eager: StrictBool = Field(False, description="`--enforce-eager`")
    fix_numa_balancing: StrictBool = Field(False, description="switch kernel.numa_balancing off while the endpoint is up")


KINDS: Mapping[str, type[EndpointRequest]] = {"epyc": EpycRequest, "instinct": InstinctRequest}


@dataclass(frozen=True)
class StackConfig:
    """The whole configuration of a stack. `refusals` lists every problem; what they name is left out of the two maps."""

    hosts: Mapping[str, HostConnection]
    endpoints: Mapping[str, EndpointRequest]
    refusals: tuple[Refusal, ...] = ()


def parse_endpoint(name: str, value: Any) -> tuple[EndpointRequest | None, tuple[Refusal, ...]]:
    """One endpoint from its configuration keys; every problem at once."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    model = KINDS.get(kind, EndpointRequest) if isinstance(kind, str) else EndpointRequest
    return _parse(f"endpoint {name}", name, model, value)


def parse_stack(hosts: Any, endpoints: Any) -> StackConfig:
    """`hosts` and `endpoints` as they stand in the configuration (plain data)."""
    good_hosts, host_problems = _each("hosts", hosts, lambda name, value: _parse(f"host {name}", name, HostConnection, value))
    good_endpoints, problems = _each("endpoints", endpoints, parse_endpoint)
    for name, request in good_endpoints.items():
        if isinstance(hosts, Mapping) and request.host not in hosts:
            problems += (_bad(f"endpoint {name}: host", request.host, f"one of {', '.join(map(str, hosts)) or 'the hosts (none is declared)'}",
                              f"declare it under amd-vllm:hosts, or correct the name{_near(request.host, hosts)}"),)
    return StackConfig(good_hosts, good_endpoints, host_problems + problems)


def unknown_keys(api_keys: Any, stack: StackConfig) -> tuple[Refusal, ...]:
    """API keys must be texts and belong to endpoints; their values are never shown."""
    if not isinstance(api_keys, Mapping):
        return (_bad("amd-vllm:apiKeys", type(api_keys).__name__, "a map from endpoint to key",
                     "set it with `pulumi config set --secret --path apiKeys.NAME`"),)
    strange = [name for name in api_keys if name not in stack.endpoints]
    unfit = [name for name, value in api_keys.items() if not isinstance(value, str) or not API_KEY.match(value)]
    known = ", ".join(stack.endpoints) or "endpoints"
    return (*(_bad(f"amd-vllm:apiKeys: {name}", "no endpoint of this name", known, f"correct the name{_near(name, stack.endpoints)}") for name in strange),
            *(_bad(f"amd-vllm:apiKeys: {name}", "what no HTTP header carries", "ASCII letters, digits and signs, without blanks",
                   f"set apiKeys.{name} anew") for name in unfit))


def _each(key: str, value: Any, parse):
    if not isinstance(value or {}, Mapping):
        return {}, (_bad(f"amd-vllm:{key}", type(value).__name__, "a map from name to keys", f"write `{key}:` as a map"),)
    good, problems = {}, ()
    for name, item in (value or {}).items():
        parsed, found = parse(str(name), item)
        good.update({str(name): parsed} if parsed is not None else {})
        problems += found
    return good, problems


def _parse(where: str, name: str, model: type[_Keys], value: Any):
    problems = () if NAME.match(name) else (_bad(f"{where}: name", shown(name), "1 to 40 of a-z, 0-9 and '-'", "choose another name"),)
    if not isinstance(value, Mapping):
        return None, (*problems, _bad(where, type(value).__name__, "a map of keys", "write its keys below it"))
    try:
        parsed = model.model_validate(dict(value))
    except ValidationError as error:
        return None, (*problems, *(_problem(where, model, item) for item in error.errors()))
    return (None if problems else parsed), problems


def _problem(where: str, model: type[_Keys], item: Mapping[str, Any]) -> Refusal:
    key = ".".join(map(str, item["loc"])) or "(all)"
    if item["type"] == "extra_forbidden":
        known = [field.alias for field in model.model_fields.values()]
        return _bad(f"{where}: unknown key {key[:80]!r}", key[:80], f"a key of this kind: {', '.join(known)}", f"remove or correct it{_near(key, known)}")
    if item["type"] == "missing":
        return _bad(f"{where}: {key}", "nothing", "a value", f"add `{key}:`")
    value = item.get("input")
    return _bad(f"{where}: {key}", type(value).__name__ if item["loc"][:1] and item["loc"][0] in HIDDEN else shown(value), item["msg"], f"correct `{key}`")


def _near(word: str, known) -> str:
    close = difflib.get_close_matches(word, list(map(str, known)), 1, 0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def _bad(what: str, found: str, needed: str, do: str) -> Refusal:
    return Refusal("bad-value", what, found, needed, do)
