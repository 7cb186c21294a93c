"""Whether an API key changed, without keeping it: a salted, slow and short print of it, which tells no key.

24 bits of scrypt: enough to see a change, far too little to find a key by.
"""
from __future__ import annotations

import hashlib
import secrets

SALT_BYTES, PRINT_BYTES = 8, 3


def print_of(key: str | None, before: str | None) -> str:
    """The print of `key`; `before` itself where it is of this key. "" for no key."""
    if not key:
        return ""
    salt = (before or "").partition(":")[0]
    if before and len(salt) == 2 * SALT_BYTES and before == _printed(key, bytes.fromhex(salt)):
        return before
    return _printed(key, secrets.token_bytes(SALT_BYTES))


def _printed(key: str, salt: bytes) -> str:
    return f"{salt.hex()}:{hashlib.scrypt(key.encode(), salt=salt, n=1 << 14, r=8, p=1, dklen=PRINT_BYTES).hex()}"
