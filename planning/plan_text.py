"""A plan as a table that people read: the rows to confirm, the budget, and everything that was said."""
from __future__ import annotations

from planning.plan import EndpointPlan, MemoryReport
from planning.units import gib

BAR_WIDTH = 40


def decided(plan: EndpointPlan) -> str:
    """What was decided, as preview shows it: verdict, the rows to confirm, the budget."""
    return "\n".join([f"{plan.name}: {plan.verdict}", *_rows(plan.summary), *(_budget(plan.memory) if plan.memory else [])])


def as_text(plan: EndpointPlan) -> str:
    """Several lines, no trailing newline."""
    parts = [decided(plan)]
    parts += [f"  refused    {refusal.text()}" for refusal in plan.refusals]
    parts += [f"  consent    {consent.key} ({'given' if consent.given else 'not given'}): {consent.why}" for consent in plan.consents]
    parts += [f"  warning    [{warning.code}] {warning.message}" for warning in plan.warnings]
    parts += [f"  would fit  {', '.join(f'{key}: {value}' for key, value in suggestion.set.items())} ({suggestion.why})" for suggestion in plan.suggestions]
    if plan.handoff:
        parts += ["  command    " + " ".join(plan.launch.command), "  base URL   " + plan.handoff.base_url]
    return "\n".join(parts)


def _rows(rows: tuple[tuple[str, str], ...]) -> list[str]:
    width = max((len(label) for label, _ in rows), default=0)
    return [f"  {label:<{width}}  {value}" for label, value in rows]


def _budget(memory: MemoryReport) -> list[str]:
    lines = [f"    {line.name:<24}{gib(line.bytes):>14}" for line in memory.lines]
    share = bar(memory.required_bytes, memory.available_bytes, 20)
    total = f"    {'required':<24}{gib(memory.required_bytes):>14}   of {gib(memory.available_bytes)} available on the {memory.scope}, per rank  {share}"
    holds = [] if memory.kv_cache_tokens is None else [
        f"    {'KV cache':<24}{memory.kv_cache_tokens:>14,} tokens, {memory.max_concurrency or 0:.1f} requests of {memory.max_model_len:,} at once"]
    return ["  memory", *lines, total, *holds]


def bar(used_bytes: int, available_bytes: int, width: int = BAR_WIDTH) -> str:
    """`[######----]  63 %` of what is available; `!` marks what is beyond it."""
    share = used_bytes / available_bytes if available_bytes > 0 else float("inf")
    if share > 1:
        return f"[{'#' * (width - 1)}!] {share * 100:,.0f} %" if share != float("inf") else f"[{'!' * width}] nothing available"
    filled = round(share * width)
    return f"[{'#' * filled}{'-' * (width - filled)}] {share * 100:.0f} %"
