"""vLLM's command line as data: a mapping from option to value, so that composing a command line is merging mappings.

A value is True (`--x`), False (`--no-x`), a text (`--x text`) or a list of texts. Options are spelled one way: dashes, no
`=`, the negation folded into the value. Dotted options (`--speculative-config.method`, `-cc.mode`) keep what follows the dot.
"""
from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Union

Value = Union[bool, str, "list[str]"]
Flags = Mapping[str, Value]

_OPTION = re.compile(r"-{1,2}[A-Za-z]")


def parse(tokens: Iterable[Any]) -> dict[str, Value]:
    """An argument list as a mapping; the last of equal options wins. Words before the first option are lost.

    Two words in one text ("--max-model-len auto") and `--x=y` are taken apart.
    """
    flags: dict[str, Value] = {}
    current = None
    for token in _words(tokens):
        if not _OPTION.match(token):
            if current is not None:
                flags[current] = _append(flags[current], token)
            continue
        name, equals, value = token.partition("=")
        current, negated = canonical(name)
        flags[current] = value if equals else not negated
    return flags


def canonical(name: str) -> tuple[str, bool]:
    """`--tokenizer_mode` -> (`--tokenizer-mode`, False); `--no-enable-x` -> (`--enable-x`, True)."""
    head, dot, tail = name.partition(".")
    head = head.replace("_", "-")
    if head.startswith("--no-"):
        return f"--{head[5:]}{dot}{tail}", True
    return head + dot + tail, False


def render(flags: Flags) -> tuple[str, ...]:
    """The argument list again, in the mapping's order."""
    return tuple(word for name, value in flags.items() for word in _render(name, value))


def _render(name: str, value: Value) -> tuple[str, ...]:
    if value is True:
        return (name,)
    if value is False:
        return (f"--no-{name[2:]}",)
    if isinstance(value, list):
        return (name, *value)
    return (f"{name}={value}",) if "." in name else (name, value)


def number(flags: Flags, name: str) -> int | None:
    """The value of an option as an integer; None when it is absent or no plain number (`auto`)."""
    value = flags.get(name)
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _words(tokens: Iterable[Any]) -> Iterable[str]:
    for token in map(str, tokens):
        if _OPTION.match(token) and any(c.isspace() for c in token) and "=" not in token:
            yield from shlex.split(token)
        else:
            yield token


def _append(value: Value, word: str) -> Value:
    if isinstance(value, bool):
        return word
    return [*value, word] if isinstance(value, list) else [value, word]
