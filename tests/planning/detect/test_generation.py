"""Which EPYC a CPU is: family and model first, the name second, and never a guess between products that share numbers."""
from __future__ import annotations

import pytest

from planning.detect.generation import identify

AMD = "AuthenticAMD"
KNOWN = [
    ("AMD EPYC 7601 32-Core Processor", 23, 1, 2, "Naples", 1, True),
    ("AMD EPYC 7V01 64-Core Processor", 23, 1, 2, "Naples", 1, True),
    ("AMD EPYC 7742 64-Core Processor", 23, 49, 0, "Rome", 2, True),
    ("AMD EPYC-Rome Processor", 23, 49, 0, "Rome", 2, True),
    ("AMD EPYC 7763 64-Core Processor", 25, 1, 1, "Milan", 3, True),
    ("AMD EPYC 7773X 64-Core Processor", 25, 1, 2, "Milan-X", 3, True),
    ("AMD EPYC 7V73X 64-Core Processor", 25, 1, 2, "Milan-X", 3, True),
    ("AMD EPYC 7R13", 25, 1, 1, "Milan", 3, True),
    ("AMD EPYC 9654 96-Core Processor", 25, 17, 1, "Genoa", 4, True),
    ("AMD EPYC 9684X 96-Core Processor", 25, 17, 2, "Genoa-X", 4, True),
    ("AMD EPYC 9V33X 96-Core Processor", 25, 17, 2, "Genoa-X", 4, True),
    ("AMD EPYC 9V74 80-Core Processor", 25, 17, 1, "Genoa", 4, True),
    ("AMD EPYC", 25, 17, 1, "Genoa", 4, True),
    ("AMD EPYC 9754 128-Core Processor", 25, 160, 2, "Bergamo", 4, True),
    ("AMD EPYC 8534P 64-Core Processor", 25, 160, 2, "Siena", 4, True),
    ("AMD EPYC Processor", 25, 160, 2, None, 4, True),
    ("AMD EPYC 4564P 16-Core Processor", 25, 97, 2, "EPYC 4004", 4, True),
    ("AMD EPYC 4565P 16-Core Processor", 26, 68, 0, "EPYC 4005", 5, True),
    ("AMD EPYC 9755 128-Core Processor", 26, 2, 1, "Turin", 5, True),
    ("AMD EPYC 9R45", 26, 2, 1, "Turin", 5, True),
    ("AMD EPYC 9965 192-Core Processor", 26, 17, 0, "Turin-Dense", 5, True),
    ("AMD EPYC-Turin Processor", 26, 2, 0, "Turin", 5, True),
    ("AMD EPYC 9996 256-Core Processor", 26, 80, 0, "Venice", 6, True),
    ("AMD EPYC", 26, 95, 0, "Venice", 6, True),
    ("AMD Eng Sample: 100-000000894-04", 25, 17, 0, "Genoa", 4, True),
    ("AMD Instinct MI300A Accelerator", 25, 144, 1, "MI300A APU", 4, False),
    ("AMD Ryzen 9 7950X 16-Core Processor", 25, 97, 2, None, 4, False),
    ("AMD Ryzen Threadripper 3960X 24-Core Processor", 23, 49, 0, None, 2, False),
    ("AMD EPYC 3251 8-Core Processor", 23, 1, 2, None, 1, True),
    ("AMD EPYC 8635P 84-Core Processor", 26, 17, 0, None, 5, True),
    ("QEMU Virtual CPU version 2.5+", 15, 107, 1, None, None, None),
    ("QEMU Virtual CPU version 2.5+", 23, 1, 2, None, 1, None),
    ("Dual Core AMD Opteron(tm) Processor 865", 15, 33, 0, None, None, False),
]


@pytest.mark.parametrize(("name", "family", "model", "stepping", "generation", "zen", "epyc"), KNOWN)
def test_identify(name: str, family: int, model: int, stepping: int, generation: str | None, zen: int | None, epyc: bool | None) -> None:
    who = identify(AMD, name, family, model, stepping)
    assert (who.generation, who.zen, who.is_epyc) == (generation, zen, epyc)


@pytest.mark.parametrize(("name", "generation"), [
    ("AMD EPYC 7551 32-Core Processor", "Naples"), ("AMD EPYC 7H12 64-Core Processor", "Rome"), ("AMD EPYC 74F3 24-Core Processor", "Milan"),
    ("AMD EPYC 7373X 16-Core Processor", "Milan-X"), ("AMD EPYC 9474F 48-Core Processor", "Genoa"), ("AMD EPYC 9184X 16-Core Processor", "Genoa-X"),
    ("AMD EPYC 9734 112-Core Processor", "Bergamo"), ("AMD EPYC 8024P 8-Core Processor", "Siena"), ("AMD EPYC 4344P 8-Core Processor", "EPYC 4004"),
    ("AMD EPYC 9575F 64-Core Processor", "Turin"), ("AMD EPYC 9845 160-Core Processor", "Turin-Dense"), ("AMD EPYC-Milan Processor", "Milan"),
    ("AMD EPYC Processor", None), ("AMD EPYC 7B12", "Rome"), ("AMD EPYC 9R14", None), ("Common KVM processor", None),
])
def test_by_name_alone(name: str, generation: str | None) -> None:
    assert identify(AMD, name, None, None).generation == generation


def test_family_and_model_win_over_the_name_and_say_so() -> None:
    who = identify(AMD, "AMD EPYC-Milan Processor", 26, 2, 1)
    assert who.generation == "Turin" and who.conflict and "Milan" in who.conflict


def test_other_vendors_are_a_certain_no() -> None:
    assert identify("GenuineIntel", "Intel(R) Xeon(R) Gold 6438M", 6, 143).is_epyc is False
    assert identify("HygonGenuine", "Hygon C86 7285 32-core Processor", 24, 1).is_epyc is False
    assert identify(None, None, None, None).is_epyc is None
