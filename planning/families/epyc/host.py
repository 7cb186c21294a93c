"""The EPYC family without containers: a Python environment on the host, bound with numactl or taskset, started by systemd.

From the host's tools and libraries, giving the words before `serve`, the preloaded libraries and where the models are.
"""
from __future__ import annotations

from planning.errors import Notes, Warn
from planning.families.base import Case, Choice
from planning.launch import cache_mounts


def host_entrypoint(case: Case, choice: Choice) -> tuple[str, ...]:
    """Binding and interpreter: cores and memory with numactl, cores alone with taskset, else nothing."""
    place, tools = choice.placement, case.facts.tools
    if "numactl" in tools:
        bind = ("numactl", f"--physcpubind={place.cpuset_cpus}", f"--membind={place.cpuset_mems}")
    else:
        bind = ("taskset", "-c", place.cpuset_cpus or "") if "taskset" in tools else ()
    return (*bind, interpreter(case), "-m", "vllm.entrypoints.cli.main")


def unbound(case: Case) -> Notes:
    """A note where the memory, or nothing at all, is bound."""
    if "numactl" in case.facts.tools:
        return Notes()
    bound = "only the cores are bound, by taskset" if "taskset" in case.facts.tools else "nothing binds the process but the engine's own threads"
    return Notes.of(Warn("not-bound", f"{case.facts.name} has no numactl: {bound}, and the memory of {case.name} may come from another socket. "
                                      "Install numactl"))


def interpreter(case: Case) -> str:
    """The Python that has vllm: `pythonEnv`'s, else the first one the probe found."""
    if case.request.python_env:
        return case.request.python_env.rstrip("/") + "/bin/python"
    return next(iter(case.facts.python_envs), "python3")


def host_environment(case: Case) -> dict[str, str]:
    """TCMalloc before Intel's OpenMP, those that are there; and the model cache, as a service has not the session's variables."""
    order = ("libtcmalloc_minimal.so.4", "libiomp5.so")
    found = [path for name in order for path in case.facts.libraries if path.endswith(name)]
    cache = cache_mounts(case)[0][0]
    return {"HF_HUB_CACHE" if cache.target.endswith("/hub") else "HF_HOME": cache.source, **({"LD_PRELOAD": ":".join(found)} if found else {})}
