"""`python -m tests.planning.fit.report`: worst and median error against vLLM's own planner, for the README."""
from __future__ import annotations

from collections import defaultdict
from statistics import median

from tests.planning.fit.recorded import KV_BOUND, WEIGHTS_BOUND, errors, rows


def report() -> str:
    """One line for each vLLM version and number."""
    found: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for row in rows():
        for name, error in errors(row).items():
            found[(row.version, name)].append((error, f"{row.model} {row.setting}"))
    lines = [f"{'vLLM':<8} {'number':<12} {'plans':>5} {'models':>6} {'within':>12} {'median':>9} {'worst':>9}  worst at"]
    for (version, name), values in sorted(found.items()):
        bound = WEIGHTS_BOUND if name == "weights" else KV_BOUND
        worst, where = max(values)
        inside = sum(error <= bound for error, _ in values)
        models = len({text.split()[0] for _, text in values})
        lines.append(f"{version:<8} {name:<12} {len(values):>5} {models:>6} {inside:>5} <= {bound:.1%} {median(e for e, _ in values):>9.4%} {worst:>9.4%}  "
                     + (where if worst else "-"))
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
