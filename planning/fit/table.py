"""The budget as people read it: named lines in GiB, a bar against what there is, and what the KV cache buys."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from planning.fit.capacity import Capacity
from planning.plan_text import bar
from planning.units import GIB


class Named(Protocol):
    """Anything with a name and bytes (planning.plan.Line, planning.fit.budget.Line)."""

    @property
    def name(self) -> str: ...

    @property
    def bytes(self) -> int: ...


def gib_column(size_bytes: int) -> str:
    """GiB with two decimals, right aligned."""
    return f"{size_bytes / GIB:>10,.2f} GiB"


def buys(found: Capacity) -> str:
    """`96,512 tokens, 23 requests of 4,096`: the whole requests that fit at once, at least as a fraction where not one does."""
    if found.kv_cache_tokens is None or found.max_concurrency is None:
        return "unknown"
    whole = int(found.max_concurrency)
    requests = f"{whole:,} request{'' if whole == 1 else 's'}" if whole else f"{found.max_concurrency:.2f} of a request"
    return f"{found.kv_cache_tokens:,} tokens, {requests} of {found.max_model_len:,}"


def budget_text(lines: Sequence[Named], available_bytes: int, found: Capacity | None = None, title: str = "each rank") -> str:
    """A budget: one row for each line, their sum, the bar, and what the KV cache buys."""
    width = max([len(line.name) for line in lines] + [len("available")])
    total = sum(line.bytes for line in lines)
    rows = [f"Memory of {title}", *(f"  {line.name:<{width}} {gib_column(line.bytes)}" for line in lines),
            f"  {'needed':<{width}} {gib_column(total)}", f"  {'available':<{width}} {gib_column(available_bytes)}   {bar(total, available_bytes)}"]
    if found is not None:
        rows.append(f"  The KV cache holds {buys(found)}.")
    return "\n".join(rows)


def capacity_text(found: Capacity, kv_cache_bytes: int, name: str) -> str:
    """What `python -m planning capacity` prints for people."""
    rows = [f"{name}, vLLM {found.vllm_version}, each rank"]
    if found.weights_bytes_per_rank is not None:
        rows.append(f"  weights          {gib_column(found.weights_bytes_per_rank)}   (from {found.weights_source})")
    rows.append(f"  KV cache         {gib_column(kv_cache_bytes)}")
    if found.kv_cache_num_blocks is not None and found.max_concurrency is not None:
        rows += [f"  blocks           {found.kv_cache_num_blocks:>10,}       of {found.block_size:,} tokens",
                 f"  a token takes    {found.kv_bytes_per_token_per_rank:>10,} bytes",
                 f"  holds {buys(found)} ({found.max_concurrency:.2f}x)"]
        rows.append(f"  a request needs  {gib_column(found.one_request_bytes or 0)}   longest that fits: {found.estimated_max_model_len or 0:,} tokens")
    rows += [f"  refused: {refusal.text()}" for refusal in found.refusals]
    rows += [f"  warning: {warning.message}" for warning in found.warnings]
    return "\n".join(rows)
