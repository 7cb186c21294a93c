"""Reads a host: from what its commands printed, all facts and the survey. The entry of detection; pure.

Order: sort the files, CPU, memory, GPUs, runtimes, session, then the survey. Every value has a witness; disagreements are warnings.
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from planning.addresses import ip
from planning.detect import sys_cpu
from planning.detect.cpu import read_cpu
from planning.detect.facts import HostFacts, HostSurvey, Memory
from planning.detect.gpu_merge import merge
from planning.detect.gpus import gpu_listings, read_gpus
from planning.detect.runtimes import read_docker, read_podman
from planning.detect.session import flag, key_values, read_storage, session_numbers, words
from planning.detect.sources import Source, sort
from planning.detect.survey import read_survey
from planning.detect.text import lines, number
from planning.detect.witnesses import Ledger

STATUS_FILE = "probe-status.txt"
TIMED_OUT = (124, 137, 142, 143)


def read_host(name: str, outputs: Mapping[str, str]) -> tuple[HostFacts, HostSurvey]:
    """Facts and survey of a host. `outputs`: text by file name, as in hosts/README.md and planning/detect/probes."""
    statuses = parse_statuses(outputs.get(STATUS_FILE, ""))
    sources = sort({key: text for key, text in outputs.items() if key != STATUS_FILE})
    ledger = Ledger()
    _warn_timeouts(outputs, statuses, ledger)
    session = key_values(sources.get("session"))
    uid, in_docker_group = session_numbers(session)
    reached = ip(session.get("ssh_address", ""))
    cpu = read_cpu(sources, ledger)
    memory = _memory(sources, ledger)
    gpus = read_gpus(sources, ledger, session.get("user"))
    docker = read_docker(sources, statuses, ledger, in_docker_group)
    podman = read_podman(sources, statuses, ledger, docker.server_version if docker.is_podman else None)
    images = [source for subject in ("docker-images", "podman-images") for source in sources.get(subject, []) if not statuses.get(source.name)]
    facts = HostFacts(
        name=name, cpu=cpu, memory=memory, gpus=gpus, docker=docker, podman=podman, storage=read_storage(sources, ledger), uid=uid,
        user=session.get("user"), ssh_address=str(reached) if reached else None, tools=words(sources.get("tools")),
        python_envs=words(sources.get("python-envs")), images=_images(images), libraries=words(sources.get("libraries")),
        user_instance=flag(key_values(sources.get("user-instance")).get("reachable")),
        warnings=tuple(ledger.warnings), witnesses=_compact(ledger.chosen))
    return facts, read_survey(sources, facts, merge(gpu_listings(sources)))


def parse_statuses(text: str) -> dict[str, int]:
    """'amd-smi-static.json 124' -> exit status by section."""
    found: dict[str, int] = {}
    for line in lines(text):
        match = re.fullmatch(r"(\S+) (\d{1,3})", line.strip())
        if match:
            found[match[1]] = int(match[2])
    return found


def _warn_timeouts(outputs: Mapping[str, str], statuses: dict[str, int], ledger: Ledger) -> None:
    for section, status in statuses.items():
        if status in TIMED_OUT:
            ledger.warn("probe-timeout", f"the probe {section} did not answer within its time limit; what it would tell is unknown")
        elif status == CUT:
            ledger.warn("probe-cut", f"the probe {section} printed more than its limit; the rest was cut off")
    known_files = [key for key in outputs if key != STATUS_FILE]
    if not known_files:
        ledger.warn("nothing-recorded", "no output of any probe: nothing is known of this host")


CUT = 250       # the script's own status for "output was longer than its limit"


def _memory(sources: dict[str, list[Source]], ledger: Ledger) -> Memory:
    for source in sources.get("meminfo", []):
        ledger.say("memory.total_bytes", sys_cpu.parse_meminfo(source.text).get("MemTotal"), source.name, source.subject)
    limits = [(sys_cpu.parse_cgroup(source.text)[0], source.name) for source in sources.get("cgroup", [])]
    told = [(limit, probe) for limit, probe in limits if limit is not None]
    limit, probe = min(told, default=(None, ""))
    if limit is not None:
        ledger.chosen["memory.limit_bytes"] = probe
    return Memory(total_bytes=ledger.take("memory.total_bytes"), limit_bytes=limit)


def _images(sources: list[Source]) -> tuple[str, ...] | None:
    """'name:tag' and 'name@sha256:…' of all runtimes; None if no runtime could list its images."""
    if not sources:
        return None
    return tuple(sorted({word for word in words(sources) if re.fullmatch(r"[\w./:@-]+", word) and "<none>" not in word}))


def _compact(chosen: dict[str, str]) -> dict[str, str]:
    """Witnesses without those of single nodes: 'cpu.node.3.cpus' becomes 'cpu.nodes'."""
    compact: dict[str, str] = {}
    for fact, probe in chosen.items():
        compact.setdefault(re.sub(r"\.node\.\d+\.(cpus|memory)", r".nodes.\1", fact), probe)
    return compact


__all__ = ["read_host", "parse_statuses", "number"]
