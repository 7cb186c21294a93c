"""From the raw text of a container's log to lines that are safe to search and to show: bounded, without escapes, masked.

Whatever a container writes, the work stays linear and small: the head and the tail of a long text, the beginning of a
long line. `Line.level` is None for what has no log level (tracebacks, tools, the kernel).
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

HEAD_CHARS, TAIL_CHARS = 300_000, 700_000     # start-up lines stand at the beginning, the reason of an end at the end
HEAD_LINES, TAIL_LINES = 3_000, 6_000
LINE_CHARS = 2_000

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,1000}(?:\x07|\x1b\\)|[@-Z\\-_])")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.,]{8,20}(?:Z|[+-]\d\d:?\d\d)? ")
_SPEAKER = re.compile(r"\((?:[A-Za-z][\w.]{0,40})(?: [\w=.-]{1,30}){0,4}\) |\[rank\d{1,5}\]:? ?")
_LEVEL = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: (\d\d-\d\d) (\d\d):(\d\d):(\d\d)\S{0,8})?(?::\s{1,8}| )(?:\[?[\w./]{1,60}:\d{1,6}\] ?)?")
_TORCH = re.compile(r"\[([WEI])\d{4} [\d:.]{8,20} [^\]]{1,80}\] ?")
_TORCH_LEVEL = {"W": "WARNING", "E": "ERROR", "I": "INFO"}
_BAR = re.compile(r"\d{1,3}%(?:\||\s+Completed)")

_SECRETS = (
    (re.compile(r"\b(hf_|sk-|ghp_|github_pat_|glpat-|xox[bp]-)[\w-]{6,}"), r"\1***"),
    (re.compile(r"(?i)\b((?:proxy-)?authorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?:(?:bearer|basic|token)\s{1,4})?)[^\s'\",;]{1,4000}"), r"\1***"),
    (re.compile(r"(?i)\b(bearer\s{1,4})[\w.~+/=-]{6,}"), r"\1***"),
    (re.compile(r"(?i)((?:api[_-]?key|hf_token|hugging_face_hub_token|access_key|secret_key|secret|passw(?:or)?d|passphrase|auth_token)s?['\"]?"
                r"(?:\s{0,4}[:=]\s{0,4}|\s{1,4})\[?\s{0,4})(?:'[^']{1,4000}'|\"[^\"]{1,4000}\"|(?=[^\s,'\"\]]{4})(?!None\b)[^\s,'\"\]]{1,4000})"), r"\1***"),
    (re.compile(r"(?i)([?&](?:token|key|sig|signature|x-amz-[a-z-]{1,40}|[a-z_-]{0,20}secret)=)[^&\s'\"]{1,4000}"), r"\1***"),
    (re.compile(r"(://[^/\s:@]{1,100}:)[^/\s@]{1,400}@"), r"\1***@"),
    (re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,4000}"), "*** private key ***"),
)


@dataclass(frozen=True)
class Line:
    """One log line. `body` has no speaker, level or source file but keeps its indentation; `second`: of the day, if it tells."""

    text: str
    body: str
    level: str | None
    second: int | None = None

    @property
    def may_tell_a_cause(self) -> bool:
        """Errors and lines without a level; not source lines of a traceback."""
        return self.level in (None, "ERROR", "CRITICAL") and not self.body.startswith(("    ", "  File "))


def mask(text: str) -> str:
    """`text` without what looks like a token, key or password."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def read_lines(text: str) -> list[Line]:
    """The lines of a log, cleaned; empty ones are left out."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:]
    text = _ESCAPE.sub("", text)
    raw = [part for part in text.replace("\r", "\n").split("\n") if part and not part.isspace()]
    if len(raw) > HEAD_LINES + TAIL_LINES:
        raw = raw[:HEAD_LINES] + raw[-TAIL_LINES:]
    return [_line(part[:LINE_CHARS]) for part in raw]


def blob(lines: Sequence[Line]) -> str:
    """All bodies as one text: a part that is not in it need not be looked for line by line."""
    return "\n".join(line.body for line in lines)


def occurring(parts: Sequence[str], whole: str) -> tuple[str, ...]:
    """Those of `parts` that stand somewhere in the `blob`."""
    return tuple(part for part in parts if part in whole)


def tail(lines: list[Line], count: int = 50) -> tuple[str, ...]:
    """The last lines as text to show, masked; of the steps of one progress bar only the last."""
    shown: list[str] = []
    for line in reversed(lines):
        if not (shown and _BAR.search(line.text) and _BAR.search(shown[-1])):
            shown.append(line.text)
        if len(shown) == count:
            break
    return tuple(mask(text) for text in reversed(shown))


def _line(raw: str) -> Line:
    text = raw if raw.isprintable() else "".join(c if c.isprintable() else " " for c in raw)
    at = 0
    for pattern in (_STAMP, _SPEAKER, _SPEAKER):
        found = pattern.match(text, at)
        at = found.end() if found else at
    found = _LEVEL.match(text, at)
    if found:
        second = None if found[3] is None else int(found[3]) * 3600 + int(found[4]) * 60 + int(found[5])
        return Line(text.rstrip(), text[found.end():].rstrip(), found[1], second)
    found = _TORCH.match(text, at)
    if found:
        return Line(text.rstrip(), text[found.end():].rstrip(), _TORCH_LEVEL[found[1]])
    return Line(text.rstrip(), text[at:].rstrip(), None)
