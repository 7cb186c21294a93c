"""Decides which EPYC generation a CPU is, from CPUID family and model first, its name second. Pure table look-up.

From vendor, name, family, model and stepping, giving generation, Zen number and whether it is an EPYC; unknown is None.
The table is data/cpu-generations.toml.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from planning.detect import tables

_SKU = re.compile(r"EPYC(?:\(TM\)|™)?\s+(?:Embedded\s+)?([0-9][0-9A-Z]{3,5})\b", re.I)
_OTHER_PRODUCT = re.compile(r"ryzen|threadripper|opteron|athlon|phenom|sempron|instinct|xeon|intel|hygon|\bFX\b|\bcore\b.*\bi[3579]\b", re.I)


@dataclass(frozen=True)
class Identity:
    generation: str | None = None
    zen: int | None = None
    is_epyc: bool | None = None
    why: str = ""
    sku: str | None = None           # "9654" of "AMD EPYC 9654 96-Core Processor"; None for a masked name
    cores_in_name: int | None = None
    conflict: str | None = None      # family and model say one thing, the name another


def identify(vendor: str | None, name: str | None, family: int | None, model: int | None, stepping: int | None = None) -> Identity:
    """Who the CPU is. Vendors other than AMD are a certain no; a name that hypervisors invent proves nothing by itself."""
    sku = _sku(name)
    rule = _by_cpuid(family, model, stepping, sku) if vendor in (None, "AuthenticAMD") else None
    named = _by_name(name, sku)
    is_epyc = _is_epyc(vendor, name, family, rule)
    cores = _cores(name, rule)
    if rule is not None:
        shown = rule.get("name") if is_epyc or rule.get("apu") else None
        conflict = None
        if named and named[1] != rule["zen"]:
            conflict = f"family {family} model {model} is {rule.get('name', 'Zen ' + str(rule['zen']))}, the name '{name}' says {named[0]}"
        return Identity(shown, rule["zen"], is_epyc, f"family {family} model {model}", sku, cores, conflict)
    if named and (family is None or model is None) and is_epyc is not False:
        return Identity(named[0], named[1], is_epyc, f"name '{name}'", sku, cores)
    apu = _apu(name)
    if apu and (family is None or model is None):
        return Identity(apu["name"], apu["zen"], False, f"name '{name}'", None, apu["cores"])
    return Identity(None, None, is_epyc, "", sku, cores)


def _sku(name: str | None) -> str | None:
    match = _SKU.search(name or "")
    return match[1].upper() if match else None


def _by_cpuid(family: int | None, model: int | None, stepping: int | None, sku: str | None) -> dict[str, Any] | None:
    if family is None or model is None:
        return None
    for rule in tables.generation_rules():
        if rule["family"] != family or not any(low <= model <= high for low, high in rule["models"]):
            continue
        if "sku" in rule and not (sku and re.fullmatch(rule["sku"], sku)):
            continue
        if "stepping" in rule and rule["stepping"] != stepping:
            continue
        if rule.get("masked_only") and sku:
            continue
        return rule
    return None


def _by_name(name: str | None, sku: str | None) -> tuple[str, int] | None:
    """Generation and Zen that the name stands for: its SKU, or QEMU's 'EPYC-Genoa'."""
    for row in tables.generation_names() if sku else ():
        if re.fullmatch(row["pattern"], sku):
            return row["name"], row["zen"]
    for row in tables.generation_model_words():
        match = re.search(row["pattern"], name or "")
        if match:
            return match[1], row["zen"][match[1]]
    return None


def _apu(name: str | None) -> dict[str, Any] | None:
    for rule in tables.generation_rules():
        if rule.get("apu") and name and rule["name"].split()[0] in name.split():
            return rule
    return None


def _is_epyc(vendor: str | None, name: str | None, family: int | None, rule: dict[str, Any] | None) -> bool | None:
    if vendor not in (None, "AuthenticAMD"):
        return False
    if rule is not None and rule.get("apu"):
        return False
    if name and re.search(r"\bEPYC\b", name, re.I):
        return True
    if name and _OTHER_PRODUCT.search(name):
        return False
    if rule is not None and not rule.get("shared"):
        return True
    return None


def _cores(name: str | None, rule: dict[str, Any] | None) -> int | None:
    match = re.search(r"\b(\d{1,3})-Core Processor", name or "")
    return int(match[1]) if match else (rule or {}).get("cores")
