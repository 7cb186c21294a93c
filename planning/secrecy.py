"""What must not be kept or shown in clear: secrets in `env` and `extraArgs`, and the texts of refused values. Pure."""
from __future__ import annotations

import re
from reprlib import Repr
from typing import Any

from planning import health
from planning.catalog import load_toml

_LOGIN = re.compile(r"://([^/\s@]*)@")
_PATH = re.compile(r"[~.]{0,2}/[\w./:+-]*\Z")
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 4096, 120


def is_secret(name: str, value: str) -> bool:
    """Whether a variable (or an option, in the spelling of one) is a secret by its name, or holds a known form of one or a password in a URL."""
    table, name = load_toml("arguments.toml")["environment"], name.upper()
    if name in table["secret"] or name not in table["plain"] and re.search(table["secret_name"], name):
        return True
    text = f"{name}={value}"
    return not _PATH.match(value) and (health.mask(text) != text or any(":" in login for login in _LOGIN.findall(value)))


def shown(value: Any, limit: int = 200) -> str:
    """A refused value: short however deep or long it is, without what looks like a secret and without what stands before an `@`."""
    try:
        text = _SHORT.repr(value)
    except (ValueError, RecursionError):        # an integer of more than 4,300 digits has no text
        return type(value).__name__
    login, at, rest = text.rpartition("@")
    return health.mask(f"***@{rest}" if at and ":" in login else text)[:limit]
