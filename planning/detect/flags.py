"""Says whether a CPU has an instruction set: yes, no, or unknown because the list of flags is cut or was wrapped in the middle of words.

From the text behind "flags", giving `Flags`. "No" needs a complete list in one line; a flag that only shows up when a word is read as
split in two at a line break is unknown.
"""
from __future__ import annotations

import re
from dataclasses import dataclass

_WRAP = re.compile(r"\n[ \t]*|[ \t]{8,}")


@dataclass(frozen=True)
class Flags:
    """`sure`: flags that are there. `doubtful`: words that are there only if a line break separates words."""

    sure: frozenset[str]
    doubtful: frozenset[str] = frozenset()
    complete: bool = False

    def has(self, flag: str) -> bool | None:
        if flag in self.sure:
            return True
        return None if flag in self.doubtful or not self.complete else False

    @staticmethod
    def complete_of(text: str) -> Flags:
        """Flags of a source that cannot be cut (a JSON string, a line that another one follows)."""
        return read_flags(text, followed=True)


def read_flags(text: str, followed: bool) -> Flags:
    """Flags of a possibly wrapped list. `followed`: another labelled line comes after it, so the list is complete.

    A list that ends without being followed may be cut in its last word, which then does not count.
    """
    joined = separate = ""
    runs = [len(match[0]) for match in _WRAP.finditer(text) if not match[0].startswith("\n")]
    indent, at = min(runs, default=0), 0
    for match in _WRAP.finditer(text):
        piece = text[at:match.start()]
        between_words = piece.endswith((" ", "\t")) or (not match[0].startswith("\n") and len(match[0]) > indent)
        joined += piece + (" " if between_words else "")
        separate += piece + " "
        at = match.end()
    joined, separate = joined + text[at:], separate + text[at:]
    sure = joined.split()
    if not followed and not text.endswith((" ", "\n")):
        sure = sure[:-1]
    wrapped = at > 0            # a line of a wrapped list may be missing, so what is not there is unknown
    return Flags(frozenset(sure), frozenset(separate.split()) - frozenset(sure), followed and bool(sure) and not wrapped)
