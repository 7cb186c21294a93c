"""Finds the JSON in what a tool printed: behind banners and warnings, several values one after another, or cut at the end.

From text, giving the values and whether all of the JSON could be read. A cut document gives no value: half of it is no fact.
"""
from __future__ import annotations

import json
from typing import Any

from planning.detect.text import MAX_CHARS, clean
from planning.errors import printable

_DECODER = json.JSONDecoder()
MAX_STARTS = 50


def decode(text: str) -> tuple[list[Any], bool]:
    """All JSON objects and arrays at the start of a line, in order, and whether none was cut or broken.

    A line of prose that begins with '[' or '{' (a banner, '[output truncated]') is passed over and counts as broken.
    """
    body = clean(text)
    values: list[Any] = []
    whole, at, tries = True, 0, 0
    while tries < MAX_STARTS:
        tries += 1
        start = _next_start(body, at)
        if start < 0:
            break
        try:
            value, at = _DECODER.raw_decode(body, start)
            values.append(_printable(value))
        except (ValueError, RecursionError):
            whole = False
            at = body.find("\n", start)
            if at < 0:
                break
    return values, whole


def _printable(value: Any) -> Any:
    """Texts in which no escape hides that the JSON encoded; keys too."""
    if isinstance(value, dict):
        return {printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list) else printable(value, MAX_CHARS) if isinstance(value, str) else value


def _next_start(body: str, at: int) -> int:
    """Where the next value begins: the first '{' or '[' that is the first character of its line, or follows a value."""
    at = _skip_blanks(body, at)
    while at < len(body):
        if body[at] in "{[":
            return at
        newline = body.find("\n", at)
        if newline < 0:
            return -1
        at = _skip_blanks(body, newline + 1)
    return -1


def _skip_blanks(body: str, at: int) -> int:
    while at < len(body) and body[at] in " \t\n":
        at += 1
    return at
