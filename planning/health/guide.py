"""docs/troubleshooting.md, made from the data: every cause with its fix, so that the page and the program say the same.

Write it with: python -c "from planning.health.guide import page; print(page(), end='')" > docs/troubleshooting.md
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from planning.catalog import load_toml

_NAMED = re.compile(r"\{(\w+)\}")
_HEAD = """# Troubleshooting

What goes wrong between `pulumi up` and an endpoint that answers, how it is recognised, and what to do. Each entry is a
refusal code as it is shown in errors. This page is generated from `data/log-causes.toml`, `data/log-phases.toml` and
`data/health-causes.toml` (`planning/health/guide.py`); a test compares it.

"Engine core initialization failed" is never the cause: it is the last symptom. The first error in the log is, and that is
what you are shown. See the log yourself with `docker logs NAME 2>&1 | head -200`.

Phases of a start, in order: PHASES.
"""


def page() -> str:
    log, phases, health = load_toml("log-causes.toml"), load_toml("log-phases.toml"), load_toml("health-causes.toml")
    parts = [_HEAD.replace("PHASES", ", ".join(entry["name"] for entry in phases["phase"])),
             "## Known by the log\n", *_causes(log["cause"] + log["died"]),
             "## Known by the container's state\n", *_causes(health["state"]),
             "## Known by the server's answer\n", *_causes(health["answer"]),
             "## Warnings: it runs, but\n", *(f"- `{w['code']}`: {w['message']} ({w['from']})" for w in phases["warning"]),
             *(f"- `{w['code']}`: {_NAMED.sub(lambda m: m[1].upper(), w['what'])} ({w['from']})" for w in health["compare"])]
    return "\n".join(parts) + "\n"


def codes() -> tuple[str, ...]:
    """All refusal codes that health can give, sorted."""
    log, health = load_toml("log-causes.toml"), load_toml("health-causes.toml")
    return tuple(sorted({entry["code"] for entry in log["cause"] + log["died"] + health["state"] + health["answer"]}))


def _causes(entries: Iterable[Mapping[str, object]]) -> list[str]:
    """One heading for each code, in alphabetical order, with its cases in the order of the data."""
    by_code: dict[str, list[str]] = {}
    for entry in entries:
        by_code.setdefault(str(entry["code"]), []).append(_case(entry))
    return [line for code in sorted(by_code) for line in (f"### `{code}`\n", *by_code[code], "")]


def _case(entry: Mapping[str, object]) -> str:
    seen = entry.get("any")
    sign = " or ".join(f"`{text}`" if "`" not in text else f"`` {text} ``" for text in seen[:3]) if isinstance(seen, list) else f"`{entry['key']}`"
    where = f" (phase {entry['during']})" if entry.get("during") else ""
    what, needed, do = (_NAMED.sub(lambda m: m[1].upper(), str(entry[key])) for key in ("what", "needed", "do"))
    return f"- **{what}.** Sign: {sign}{where}. Needed: {needed}. Do this: {do}. _Seen: {entry['from']}_"
