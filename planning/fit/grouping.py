"""Grouping: layers of one kind share block tables, and all groups share one pool of blocks of one size.

Follows vllm/v1/core/kv_cache_utils.py (0.25.1) and kv_cache_planning.py (0.32.0): get_kv_cache_groups, get_kv_cache_config_from_groups,
get_max_concurrency_for_kv_cache_config. Layers are told apart by their spec only, so a model is a list of (spec, number of layers).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from planning.fit.rules import Rules
from planning.fit.specs import LATENT, STATE, Request, Spec, ceil_div


class PagesDoNotUnify(Exception):
    """vLLM raises NotImplementedError: a page size that neither divides the largest one nor may be padded. The text is for the user."""


@dataclass(frozen=True)
class Groups:
    """`members`: (specs of a group, layers in it). `block_bytes`: bytes of one block of the shared pool."""

    members: tuple[tuple[Spec, int], ...]
    block_bytes: int

    def blocks_per_request(self, request: Request) -> int:
        """Blocks of the pool that one request takes over all groups."""
        return sum(spec.blocks(request) for spec, _ in self.members)


def group_layers(layers: Sequence[Spec], rules: Rules) -> Groups | None:
    """Groups of the layers that have a cache of their own; None for a model that keeps none. Raises PagesDoNotUnify."""
    counts = count_layers(layers)
    if not counts:
        return None
    if uniform(counts):
        longest = max(counts, key=lambda item: item[0].page_bytes)[0]
        return Groups(((longest, sum(n for _, n in counts)),), sum(spec.page_bytes * n for spec, n in counts))
    return split_groups(unify_pages(counts, rules))


def count_layers(layers: Iterable[Spec]) -> list[tuple[Spec, int]]:
    """Equal specs counted, in order of first appearance."""
    counts: dict[Spec, int] = {}
    for spec in layers:
        counts[spec] = counts.get(spec, 0) + 1
    return list(counts.items())


def uniform(counts: Sequence[tuple[Spec, int]]) -> bool:
    """All layers need the same number of blocks: one group, whatever their page sizes (UniformTypeKVCacheSpecs.is_uniform_type)."""
    return len({(spec.base, spec.block) for spec, _ in counts}) == 1


def unify_pages(counts: Sequence[tuple[Spec, int]], rules: Rules) -> list[tuple[Spec, int]]:
    """Smaller pages grow to the largest: by more tokens in a block, else by padding where the version and the kind allow it."""
    largest = max(spec.page_bytes for spec, _ in counts)
    out: list[tuple[Spec, int]] = []
    for spec, n in counts:
        page = spec.page_bytes
        if page != largest:
            if spec.kind != STATE and largest % page == 0:
                spec = replace(spec, block=spec.block * (largest // page))
            elif rules.pad_unaligned_pages and spec.kind != LATENT:
                spec = replace(spec, padded=largest)
            else:
                raise PagesDoNotUnify(f"a layer's page of {page:,} bytes does not divide the largest page of {largest:,} bytes")
        out.append((spec, n))
    return count_again(out)


def count_again(counts: Iterable[tuple[Spec, int]]) -> list[tuple[Spec, int]]:
    """Specs that became equal are one."""
    merged: dict[Spec, int] = {}
    for spec, n in counts:
        merged[spec] = merged.get(spec, 0) + n
    return list(merged.items())


def split_groups(counts: Sequence[tuple[Spec, int]]) -> Groups:
    """Every kind is split into groups of the same number of layers: the smallest kind's, or the largest's if that is less than half more."""
    sizes = [n for _, n in counts]
    size = max(sizes) if max(sizes) < min(sizes) * 1.5 else min(sizes)
    members: list[tuple[Spec, int]] = []
    for spec, n in counts:
        groups = ceil_div(n, size)
        members.extend((spec, ceil_div(n - i, groups)) for i in range(groups))
    page = counts[0][0].page_bytes
    return Groups(tuple(members), page * max(n for _, n in members))
