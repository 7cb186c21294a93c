"""Makes any text that a command printed safe to parse: colours, carriage returns, NUL bytes and excess length taken out.

From raw text of any origin, giving whole lines. A last line without its newline may have been cut in the middle of a number,
so nobody may trust it: `lines` leaves it out, `lines_and_rest` hands it over apart.
"""
from __future__ import annotations

import re
from functools import lru_cache

MAX_CHARS = 2_000_000
MAX_LINES = 50_000
MAX_LINE = 20_000            # a longer line is no line of a table; JSON is read without lines
_ANSI = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-9;?]*[A-Za-z]|\[\d[\d;]*m")
_BLANKS = re.compile(r"[ \t]{1000,}")
_TRUNCATED = re.compile(r"^[ \t]*(\[output truncated\]|\.\.\.|…)[ \t]*$", re.M)


@lru_cache(maxsize=16)          # several parsers look at the same text
def clean(text: str) -> str:
    """The text with \\n line ends and without terminal escapes, NUL bytes and byte order mark; at most MAX_CHARS and MAX_LINES."""
    body = text[:MAX_CHARS].replace("\ufeff", "").replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    body = _BLANKS.sub(" " * 1000, _ANSI.sub("", body))
    return body if body.count("\n") <= MAX_LINES else "\n".join(body.split("\n", MAX_LINES)[:MAX_LINES])


def lines_and_rest(text: str) -> tuple[list[str], str]:
    """Whole lines, and what follows the last newline (empty when the text ends with one). Lines of absurd length are emptied."""
    *whole, rest = (line if len(line) <= MAX_LINE else "" for line in clean(text).split("\n"))
    return whole, rest


def lines(text: str) -> list[str]:
    """Whole lines only: a last line without newline may be cut and is left out."""
    return lines_and_rest(text)[0]


def is_cut(text: str) -> bool:
    """Whether the text says itself, or shows by a missing last newline, that something is missing."""
    body = clean(text)
    return bool(body) and (not body.endswith("\n") or bool(_TRUNCATED.search(body)))


def number(text: object) -> int | None:
    """A whole non-negative number, or None: '96', ' 96 ', 96, 96.0. Never a part of a longer word."""
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, (int, float)):
        return int(text) if text == text and abs(text) < 2**63 and int(text) == text and text >= 0 else None
    word = str(text).strip()
    return int(word) if re.fullmatch(r"[0-9]{1,18}", word) else None


def decimal(text: str) -> float | None:
    """A decimal number with point or comma: '6076,0000' is 6076.0."""
    word = text.strip()
    return float(word.replace(",", ".")) if re.fullmatch(r"[0-9]{1,12}([.,][0-9]{1,12})?", word) else None


def known(value: object) -> str | None:
    """A word that a tool printed, or None for the many ways to say 'unknown'."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return None
    word = str(value).strip()
    return None if word.upper() in {"", "N/A", "NA", "NONE", "UNKNOWN", "NULL", "<NIL>", "NOT SUPPORTED", "UNSUPPORTED", "-"} else word
