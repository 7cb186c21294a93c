"""Which GPUs of a host an Instinct endpoint may use, which it takes, and how they look from inside the container.

From the host's facts, its survey and what others hold. A set is taken from GPUs of one kind (gfx, VRAM, partition modes),
free ones first, on as few NUMA nodes as possible, neighbours by index. What the endpoint's own container holds is free for it.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from planning.catalog import load_toml
from planning.detect.facts import GpuDevice
from planning.families.base import Case

PRODUCT = re.compile(r"MI\d{2,3}[AX]?", re.IGNORECASE)


@dataclass(frozen=True)
class Container:
    """`devices` to pass, `visible` the value of HIP_VISIBLE_DEVICES there; `isolated`: the other GPUs are not in the container at all."""

    devices: tuple[str, ...]
    visible: str
    isolated: bool


def instincts(case: Case) -> tuple[GpuDevice, ...]:
    """The host's Instinct GPUs; with `gpus:` those of them. An integrated or consumer GPU never counts."""
    wanted = case.request.gpus
    return tuple(gpu for gpu in case.facts.gpus.devices if gpu.instinct and (wanted is None or gpu.index in wanted))


def hardware_of(gpu: GpuDevice) -> str | None:
    """The recipes' word for a GPU: mi300x, mi325x, mi355x … by device id first, name second."""
    product = load_toml("gpus.toml").get("device", {}).get((gpu.device_id or "").lower(), {}).get("product")
    found = PRODUCT.search(product or "") or PRODUCT.search(gpu.market_name or "")
    return found.group().lower() if found else None


def free_bytes(case: Case, gpu: GpuDevice) -> int | None:
    """VRAM that the endpoint may take now; all of it on GPUs that it has; None: unknown."""
    return gpu.vram_bytes if gpu.index in own(case) else case.survey.vram_free_bytes.get(gpu.index)


def own(case: Case) -> frozenset[int]:
    """GPUs that the endpoint has: by its last plan, and by its own container on the host. They are judged by facts and claims alone."""
    mine = [c.gpus for c in case.survey.containers if c.stack == case.stack and c.endpoint == case.name]
    return before(case).union(*mine)


def before(case: Case) -> frozenset[int]:
    """GPUs of the endpoint's last plan, if that was launched."""
    placement = (case.previous or {}).get("placement") if (case.previous or {}).get("launch") else None
    return frozenset(int(index) for index in (placement or {}).get("gpus") or ())


def same_model(case: Case, model: str) -> bool:
    """Whether the endpoint's last plan was launched with this model."""
    return next(iter(((case.previous or {}).get("launch") or {}).get("command") or ()), None) == model


def kept_share(case: Case) -> float | None:
    """The share of the VRAM that the last plan lowered because others used the GPUs; what it was lowered for is not seen any more."""
    launch = (case.previous or {}).get("launch") or {}
    name, words = "--gpu-memory-utilization", list(launch.get("command") or ())
    return float(words[words.index(name) + 1]) if name in words and (launch.get("flags_from") or {}).get(name) == "plan" else None


def is_free(case: Case, gpu: GpuDevice) -> bool:
    """Nobody claims it and next to nothing of its VRAM is used. Unknown use counts as free; the fit warns."""
    free = free_bytes(case, gpu)
    if gpu.index in case.claims.gpus:
        return False
    return free is None or gpu.vram_bytes is None or gpu.vram_bytes - free <= load_toml("instinct.toml")["memory"]["held_share"] * gpu.vram_bytes


def sets(case: Case, gpus: Sequence[GpuDevice], size: int) -> list[tuple[GpuDevice, ...]]:
    """Sets of `size` GPUs of one kind that nobody else claims, best first."""
    free = frozenset(gpu.index for gpu in gpus if is_free(case, gpu))
    kinds: dict[tuple, list[GpuDevice]] = {}
    for gpu in sorted(gpus, key=lambda gpu: gpu.index):
        if gpu.index not in case.claims.gpus:
            kinds.setdefault((gpu.gfx, gpu.vram_bytes, gpu.compute_partition, gpu.memory_partition), []).append(gpu)
    found = [chosen for kind in kinds.values() if len(kind) >= size for chosen in _within(case, kind, size, free)]
    return sorted(found, key=lambda chosen: _cost(case, chosen, free))


def _within(case: Case, kind: list[GpuDevice], size: int, free: frozenset[int]) -> list[tuple[GpuDevice, ...]]:
    """Neighbours by index, among all of the kind, among the free ones, and on each NUMA node; and what the endpoint has."""
    rows = [kind, [gpu for gpu in kind if gpu.index in free]]
    rows += [[gpu for gpu in row if gpu.numa_node == node] for row in rows[:2] for node in sorted({g.numa_node for g in kind if g.numa_node is not None})]
    windows = {tuple(row[i:i + size]) for row in rows for i in range(len(row) - size + 1)}
    had = tuple(gpu for gpu in kind if gpu.index in before(case))
    return [*windows, *((had,) if len(had) == size else ())]


def _cost(case: Case, chosen: tuple[GpuDevice, ...], free: frozenset[int]) -> tuple:
    """What the endpoint has, then free ones, few NUMA nodes, little use by others, neighbours, low numbers."""
    indexes = tuple(gpu.index for gpu in chosen)
    unfree = [gpu for gpu in chosen if gpu.index not in free]
    used = sum((gpu.vram_bytes or 0) - (free_bytes(case, gpu) or gpu.vram_bytes or 0) for gpu in unfree)
    return frozenset(indexes) != before(case), len(unfree), len({gpu.numa_node for gpu in chosen}), used, indexes[-1] - indexes[0], indexes


def container_view(case: Case, chosen: Sequence[GpuDevice]) -> Container:
    """By render node when a subset is taken, so that the others are not there; then they count from 0 in the container."""
    kfd, dri = "/dev/kfd", "/dev/dri"
    counted = ",".join(map(str, range(len(chosen))))
    if len(chosen) == len(case.facts.gpus.devices):
        return Container((kfd, dri), counted, True)
    nodes = [gpu.render_node for gpu in chosen]
    if all(nodes) and len(set(nodes)) == len(nodes):
        return Container((kfd, *sorted(nodes, key=_node_number)), counted, True)
    hip = [gpu.index if gpu.hip_index is None else gpu.hip_index for gpu in chosen]
    return Container((kfd, dri), ",".join(map(str, sorted(hip))), False)


def _node_number(node: str) -> tuple[int, str]:
    digits = re.sub(r"\D", "", node)
    return int(digits or 0), node


def kind_of(gpus: Sequence[GpuDevice]) -> str:
    """`8 x MI300X (192.0 GiB each, gfx942)`, as the summary shows it."""
    first = gpus[0]
    size = f"{first.vram_bytes / 2**30:,.0f} GiB each, " if first.vram_bytes else ""
    mode = "" if first.compute_partition in (None, "SPX") else f", {first.compute_partition}/{first.memory_partition or '?'}"
    return f"{len(gpus)} x {(hardware_of(first) or first.market_name or 'GPU').upper()} ({size}{first.gfx or 'gfx unknown'}{mode})"
