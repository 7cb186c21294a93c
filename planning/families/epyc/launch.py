"""Step launch of the EPYC family: the container (or process) that serves, argument by argument.

From the choice, giving a `LaunchSpec`. Every option and variable says who set it (`flags_from`); what the user adds by hand
is checked against them.
"""
from __future__ import annotations

from collections.abc import Mapping

from planning.arguments import check_env, check_extra, options
from planning.catalog import load_toml
from planning.errors import Notes, Refusal, Warn
from planning.families.base import Case, Choice
from planning.families.epyc.claims import held_bytes
from planning.families.epyc.host import host_entrypoint, host_environment, unbound
from planning.launch import cache_mounts, cpuset_works, labels, memory_limit_works, on_host, runtime_of, token_environment
from planning.plan import Engine, LaunchSpec, Placement
from planning.resolve.manifest import ModelSupport
from planning.units import GIB

LOG_OPTIONS = {"max-size": "50m", "max-file": "3"}


def launch(case: Case, engine: Engine, support: ModelSupport, choice: Choice, port: int, address: str) -> tuple[LaunchSpec, Notes]:
    """The launch, and notes on the runtime, the mounts, `extraArgs`, `env` and keys that conflict."""
    runtime, runtimes = runtime_of(case)
    mounts, mounted = cache_mounts(case)
    pinned, pinning = cpuset_works(case, runtime)
    limited, limiting = memory_limit_works(case, runtime)
    place = choice.placement if pinned and runtime != "host" else Placement()
    flags = _bench(case, choice, support) if case.request.mode == "bench" else _serve(case, choice, support, port, address)
    ours, environment = dict.fromkeys(options(flags), "plan"), _environment(case, choice)
    notes = (runtimes + mounted + pinning + limiting + check_extra(case.name, case.request.extra_args, ours, load_toml("epyc.toml")["arguments"]["without"])
             + check_env(case.name, case.request.env, load_toml("epyc.toml")["environment"]["refused"], environment) + _values(case, engine)
             + (unbound(case) if runtime == "host" else Notes()))
    entrypoint, command = _words(case, engine, choice, runtime, flags)
    container = runtime in ("docker", "podman", None)
    spec = LaunchSpec(
        runtime=runtime or "docker", image=engine.image, entrypoint=entrypoint, command=command,
        environment={**(host_environment(case) if not container else {}), **environment, **case.request.env},
        mounts=mounts if container else (), container_name=case.container_name, port=port, bind_address=address,
        labels=labels(case, "epyc", choice, port, held_bytes(choice.memory)),
        cap_add=("SYS_NICE",) if container else (), security_opt=_security(runtime) if container else (), ipc="host" if container else None,
        network="host" if container else None, memory_bytes=_limit(case, choice) if container and limited else None,
        restart="no" if case.request.mode == "bench" else "unless-stopped", stop_seconds=case.request.drain_seconds,
        log_options=LOG_OPTIONS if container else {}, cpuset_cpus=place.cpuset_cpus, cpuset_mems=place.cpuset_mems,
        flags_from=_origins(case, ours, environment))
    return spec, notes


def _origins(case: Case, ours: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Who set each option and variable. A KV space by default is kept by later plans; one that was asked for is not."""
    space = "kvCacheGib" if case.request.kv_cache_gib else "default"
    return {**ours, **dict.fromkeys(environment, "plan"), "VLLM_CPU_KVCACHE_SPACE": space, **dict.fromkeys(case.request.env, "env"),
            **dict.fromkeys(options(case.request.extra_args), "extraArgs")}


def _serve(case: Case, choice: Choice, support: ModelSupport, port: int, address: str) -> tuple[str, ...]:
    return (*_model_flags(case, choice, support), "--host", address, "--port", str(port), *_served(case), *_template(case))


def _bench(case: Case, choice: Choice, support: ModelSupport) -> tuple[str, ...]:
    shape = load_toml("epyc.toml")["bench"]
    return (*_model_flags(case, choice, support), "--input-len", str(shape["input_len"]), "--output-len", str(shape["output_len"]),
            "--num-prompts", str(shape["num_prompts"]))


def _model_flags(case: Case, choice: Choice, support: ModelSupport) -> tuple[str, ...]:
    """Options that `vllm serve` and `vllm bench throughput` share. The commit is pinned: a restart serves the same one."""
    request, tp = case.request, choice.placement.tensor_parallel_size
    given = {"--dtype": support.dtype or "bfloat16", "--max-model-len": choice.tuning["max_model_len"], "--tensor-parallel-size": tp if tp > 1 else None,
             "--max-num-seqs": request.max_num_seqs, "--max-num-batched-tokens": request.max_num_batched_tokens, "--block-size": request.block_size,
             "--kv-cache-dtype": None if request.kv_cache_dtype in (None, "auto") else request.kv_cache_dtype,
             "--quantization": request.quantization if request.quantization != "none" else None, **_revisions(case)}
    words = [word for flag, value in given.items() if value is not None for word in (flag, str(value))]
    return (*words, *support.engine_args, *(("--trust-remote-code",) if request.trust_remote_code and brings_code(case) else ()))


def brings_code(case: Case) -> bool:
    """Whether the repository brings code, for the model or for its tokenizer."""
    return case.manifest.has_remote_code or bool(case.manifest.tokenizer.get("remote_code"))


def _revisions(case: Case) -> Mapping[str, str | None]:
    commit = case.manifest.revision or (case.request.revision if case.request.revision != "main" else None)
    if commit is None or (case.request.model or "").startswith("/"):
        return {}
    code = commit if case.request.trust_remote_code and brings_code(case) else None
    return {"--revision": commit, "--tokenizer-revision": commit, "--code-revision": code}


def _served(case: Case) -> tuple[str, ...]:
    return ("--served-model-name", case.request.served_model_name) if case.request.served_model_name else ()


def _template(case: Case) -> tuple[str, ...]:
    return ("--chat-template", on_host(case, case.request.chat_template)) if case.request.chat_template else ()


def _words(case: Case, engine: Engine, choice: Choice, runtime: str | None, flags: tuple[str, ...]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Entrypoint (None: the image's own) and command. An image of the user's gets `vllm serve` as its entrypoint."""
    model, extra = case.request.model or case.manifest.id, case.request.extra_args
    verb = ("bench", "throughput") if case.request.mode == "bench" else ("serve",)
    tail = (("--model", model) if verb[0] == "bench" else (model,)) + flags + extra
    if runtime == "host":
        return host_entrypoint(case, choice) + verb, tail
    has_serve = load_toml("epyc.toml")[engine.backend]["entrypoint_has_serve"]
    if engine.image_from == "user" or (has_serve and verb[0] == "bench"):
        return ("vllm", *verb), tail
    return None, tail if has_serve else ("vllm", *verb, *tail)


def _environment(case: Case, choice: Choice) -> dict[str, str]:
    return {"VLLM_CPU_OMP_THREADS_BIND": choice.placement.omp_threads_bind, "VLLM_CPU_KVCACHE_SPACE": str(choice.tuning["kv_cache_gib"]),
            **token_environment(case), **(load_toml("epyc.toml")["throughput"] if case.request.throughput_flags else {})}


def _security(runtime: str | None) -> tuple[str, ...]:
    """The profile is named by its file in data/: the Docker API takes the JSON itself, which whoever launches reads there.

    Podman takes a path on the host only: its own default stands, which lets memory be bound but no pages be moved.
    """
    return ("no-new-privileges", *(() if runtime == "podman" else ("seccomp=" + load_toml("epyc.toml")["seccomp"]["file"],)))


def _limit(case: Case, choice: Choice) -> int | None:
    """Bytes of the container: every rank's budget and its weights once more, as reading them fills the page cache, in whole GiB.

    No limit where that is all the host has, or nothing is known of the memory.
    """
    memory = choice.memory
    if memory is None:
        return None
    ranks = choice.placement.tensor_parallel_size
    wanted = -(-ranks * (memory.required_bytes + (memory.weights_bytes_per_rank or 0)) // GIB) * GIB
    total = min((size for size in (case.facts.memory.total_bytes, case.facts.memory.limit_bytes) if size), default=None)
    return wanted if total is None or wanted < total else None


def _values(case: Case, engine: Engine) -> Notes:
    """Values that vLLM on CPUs would refuse or misread."""
    request, throughput = case.request, load_toml("epyc.toml")["throughput"]
    multiple = load_toml("epyc.toml")["defaults"]["block_size_multiple"]
    some = {name for name in throughput if request.env.get(name) == throughput[name]}
    alone = "TORCHINDUCTOR_FREEZING" in some and not request.throughput_flags and some != set(throughput)
    return Notes.of(
        Refusal("bad-value", f"endpoint {case.name}: blockSize", str(request.block_size), f"a multiple of {multiple}", "set 32, 64 or 128, or leave it out")
        if request.block_size and request.block_size % multiple else None,
        Refusal("bad-value", f"endpoint {case.name}: env", "TORCHINDUCTOR_FREEZING without the other throughput variables", "all three, or none",
                "remove it from env and set throughputFlags: true") if alone else None,
        Warn("no-effect", f"features of {case.name} come from recipes, which are for GPUs; add options with extraArgs") if request.features else None,
        Warn("no-effect", f"throughputFlags on {case.name}: ZENTORCH_WEIGHT_PREPACK does nothing with {engine.backend} vLLM")
        if request.throughput_flags and engine.backend != "zentorch" else None)
