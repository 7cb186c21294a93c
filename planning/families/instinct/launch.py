"""Step launch of the Instinct family: the container, argument by argument, each with who set it.

On top of the settings (layers.py, settings.py) come the plan's own: model, commit, ranks, context, devices. The container gets
the GPUs it uses and no others, the numeric groups that own them, and the rights that AMD's procedure asks for.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from planning.arguments import check_env, check_extra
from planning.catalog import load_json, load_toml
from planning.detect.facts import GpuDevice
from planning.errors import Notes, Warn
from planning.families.base import Case, Choice
from planning.families.instinct.flags import Value, parse, render
from planning.families.instinct.gates import runtime
from planning.families.instinct.gpus import Container, container_view
from planning.families.instinct.layers import Composed, Layer, merge
from planning.families.instinct.model import Wanted, wanted
from planning.families.instinct.settings import left_out, settings
from planning.handoff import served_name
from planning.launch import cache_mounts, labels, token_environment
from planning.plan import Engine, LaunchSpec
from planning.resolve.manifest import ModelSupport

LOG_OPTIONS = {"max-size": "50m", "max-file": "3"}
HIDDEN = "the plan decides which GPUs are seen; name them with gpus"
REFUSED = dict.fromkeys(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"), HIDDEN)


def launch(case: Case, engine: Engine, support: ModelSupport, choice: Choice, port: int, address: str) -> tuple[LaunchSpec, Notes]:
    """The launch, and notes on mounts, isolation, groups, `extraArgs` and `env`."""
    model = wanted(case)[0]
    gpus = tuple(gpu for index in choice.placement.gpus for gpu in case.facts.gpus.devices if gpu.index == index)
    view, (mounts, mounted), (name, _) = container_view(case, gpus), cache_mounts(case), runtime(case)
    data = settings(case, model, engine, gpus[0], several=len(gpus) > 1)
    plan = Layer("plan", _flags(case, model, data, support, choice, port), {"HIP_VISIBLE_DEVICES": view.visible, **token_environment(case)})
    final = merge((Layer("", data.flags, data.env), plan))
    source = {**data.source, **dict.fromkeys((*plan.flags, *plan.env), "plan")}
    notes = (mounted + check_extra(case.name, case.request.extra_args, plan.flags)
             + check_env(case.name, case.request.env, REFUSED, {**plan.env, **_mandatory(gpus)}))
    rights = load_json("gpu-overrides.json")["container"]
    groups, grouped = _groups(case, name)
    spec = LaunchSpec(
        runtime=name or "docker", image=engine.image, entrypoint=_entrypoint(case), command=_command(case, model, final), environment=dict(final.env),
        mounts=mounts, container_name=case.container_name, port=port, bind_address=address,
        labels=labels(case, "instinct", choice, port, 0),
        devices=view.devices, group_add=groups, cap_add=tuple(rights["cap_add"]), security_opt=tuple(rights["security_opt"]), ipc=rights["ipc"],
        network="bridge", restart="no" if case.request.mode == "bench" else "unless-stopped", stop_seconds=case.request.drain_seconds,
        log_options=LOG_OPTIONS, flags_from={word: source[word] for word in (*final.flags, *final.env)})
    return spec, notes + grouped + Notes.of(left_out(case, data), _isolation(case, view))


def _flags(case: Case, model: Wanted, data: Composed, support: ModelSupport, choice: Choice, port: int) -> Mapping[str, Value]:
    """What the plan decides. The commit is pinned: a restart serves the same model."""
    tuning, tp, commit = choice.tuning, choice.placement.tensor_parallel_size, case.manifest.revision
    flags: dict[str, Value] = dict(parse(support.engine_args))
    flags["--tensor-parallel-size"] = str(tp)
    flags["--max-model-len"] = str(tuning["max_model_len"])
    if tuning["lowered"]:
        flags["--gpu-memory-utilization"] = f"{tuning['gpu_memory_utilization']:g}"
    if commit and not model.estimated and not (case.request.model or "").startswith("/"):
        flags |= {"--revision": commit, "--tokenizer-revision": commit}
        flags |= {"--code-revision": commit} if data.flags.get("--trust-remote-code") else {}
    if case.request.mode != "bench":
        flags |= {"--served-model-name": served_name(case), "--host": "0.0.0.0", "--port": str(port)}
    return flags


def _mandatory(gpus: Sequence[GpuDevice]) -> Mapping[str, str]:
    """Variables that a gfx must have, whatever the user sets."""
    return load_json("gpu-overrides.json")["gfx"].get(gpus[0].gfx, {}).get("mandatory_env", {})


def _command(case: Case, model: Wanted, final: Composed) -> tuple[str, ...]:
    name = case.request.model if (case.request.model or "").startswith("/") else model.match.model
    if case.request.mode != "bench":
        return (name, *render(final.flags))
    data = load_toml("instinct.toml")["bench"]
    flags = {key: value for key, value in final.flags.items() if key not in data["server_only"]}
    return ("--model", name, *render(flags), *data["shape"])


def _entrypoint(case: Case) -> tuple[str, ...]:
    """Always explicit, as ROCm images before 0.12 start another module."""
    return ("vllm", "bench", "throughput") if case.request.mode == "bench" else tuple(load_toml("instinct.toml")["image"]["entrypoint"])


def _groups(case: Case, name: str | None) -> tuple[tuple[str, ...], Notes]:
    """Numeric ids of the groups that own the device nodes: names differ between host and image."""
    gpus, facts = case.facts.gpus, case.facts.podman if name == "podman" else case.facts.docker
    if name == "podman" and facts.rootless:
        return ("keep-groups",), Notes()
    gids = tuple(dict.fromkeys(str(gid) for gid in (gpus.kfd_gid, *gpus.render_gids) if gid is not None))
    return gids, Notes.of(
        None if gids else Warn("groups-unknown", f"{case.facts.name} does not tell which groups own /dev/kfd and the render nodes; none is added"),
        Warn("rootless-groups", f"docker on {case.facts.name} runs rootless and maps groups away: the container may not reach the GPUs")
        if facts.rootless else None)


def _isolation(case: Case, view: Container) -> Warn | None:
    return None if view.isolated else Warn(
        "gpu-isolation", f"{case.facts.name} does not tell the render nodes of its GPUs: the container sees all of them and keeps to "
        f"HIP_VISIBLE_DEVICES={view.visible} of its own accord")
