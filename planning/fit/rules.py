"""Rules: the arithmetic of one vLLM version, read from data/vllm-capacity.toml. The version is a parameter, never an if chain.

From a version text ("0.25.1", "v0.32.0", "0.25.1+cpu", "0.22.0rc1") to the nearest lower entry of the table, with a warning where the
version itself has no entry: nothing but the entry's values differs between versions.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from planning.catalog import load_toml
from planning.errors import Warn

TABLE = "vllm-capacity.toml"


@dataclass(frozen=True)
class Rules:
    """One entry of the version table; the meaning of each field stands beside its value in the data file."""

    version: str
    mla_on_cpu: bool
    sparse_on_cpu: bool
    cpu_kernel_block: int
    sliding_block: str
    in_flight_batches: bool
    null_block_reserved: bool
    pad_unaligned_pages: bool
    hybrid_prefix_caching: bool
    mamba_all_mode: bool
    mamba2_checkpoint_slots: int
    align_hybrid_on_cpu: bool
    warnings: tuple[Warn, ...] = field(default=(), compare=False)


def version_key(text: str) -> tuple[int, int, int]:
    """(0, 25, 1) of any text that holds a version; (0, 0, 0) of one that does not. Local and pre-release parts are left out."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text or "")
    return tuple(int(part or 0) for part in found.groups()) if found else (0, 0, 0)  # type: ignore[return-value]


@lru_cache(maxsize=32)
def rules_for(vllm_version: str) -> Rules:
    """The table entry for a version: its own, else the nearest lower one (the lowest, below them all) with a warning."""
    entries = sorted(load_toml(TABLE)["version"], key=lambda entry: version_key(entry["from"]))
    wanted = version_key(vllm_version)
    lower = [entry for entry in entries if version_key(entry["from"]) <= wanted]
    entry: Mapping[str, Any] = lower[-1] if lower else entries[0]
    covered = {version_key(text) for item in entries for text in (item["from"], *item.get("checked_versions", ()))}
    warnings = () if wanted in covered else (Warn(
        "vllm-version-not-covered",
        f"vLLM {vllm_version} has no table of its own here; the arithmetic of vLLM {entry['from']} was used"),)
    values = {name: entry[name] for name in Rules.__dataclass_fields__ if name in entry}
    return Rules(version=entry["from"], warnings=warnings, **values)
