"""What the data files say about CPUs, GPUs and lscpu's labels, in the shape that detection asks for it."""
from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from planning.catalog import load_toml

CPU = "cpu-generations.toml"
GPU = "gpus.toml"
LABELS = "lscpu-labels.toml"


def generation_rules() -> list[dict[str, Any]]:
    return load_toml(CPU)["generation"]


def generation_names() -> list[dict[str, Any]]:
    return load_toml(CPU)["by_name"]


def generation_model_words() -> list[dict[str, Any]]:
    return load_toml(CPU)["by_model_word"]


def instruction_sets(zen: int) -> dict[str, bool]:
    """What the silicon of a Zen generation has; empty for a generation that the table does not know."""
    return load_toml(CPU)["isa"].get(str(zen), {})


def gpu(device_id: str | None) -> dict[str, Any]:
    """The row of a PCI device id ('0x74a1'); empty when unknown."""
    return load_toml(GPU)["device"].get((device_id or "").lower(), {})


def gpu_rules() -> dict[str, Any]:
    return load_toml(GPU)["rules"]


def gfx_of_name(name: str) -> str | None:
    """The gfx version that a product name stands for, None if no rule knows it."""
    for row in load_toml(GPU)["by_name"]:
        if re.search(row["pattern"], name.upper()):
            return row["gfx"]
    return None


def partition_names() -> dict[int, str]:
    """Number of compute partitions of one device -> mode: 1 SPX, 2 DPX, 3 TPX, 4 QPX."""
    return {count: mode for mode, count in load_toml(GPU)["partitions"].items()}


@lru_cache(maxsize=1)
def lscpu_labels() -> tuple[dict[str, str], list[re.Pattern[str]]]:
    """Label -> field for the plain labels of lscpu, and patterns (group 1 is the node) for the lines of NUMA nodes."""
    table = load_toml(LABELS)["labels"]
    plain = {label: field for field, labels in table.items() if field != "node_cpus" for label in labels}
    nodes = [re.compile(re.escape(label).replace("%d", r"\s*(\d{1,5})")) for label in table["node_cpus"]]
    return plain, nodes
