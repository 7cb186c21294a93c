"""What one GPU tool said: devices by its own index, versions, complaints, and whether the list is complete. The common shape of all GPU parsers."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from planning.detect.text import known, number
from planning.errors import printable

UNITS = {"B": 1, "KB": 1 << 10, "KIB": 1 << 10, "MB": 1 << 20, "MIB": 1 << 20, "GB": 1 << 30, "GIB": 1 << 30}   # ROCm's MB are MiB
COMPUTE = {"SPX", "DPX", "TPX", "QPX", "CPX"}
_PCI = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.I)
_GFX = re.compile(r"gfx(\d{1,2})(\d)([0-9a-f]{1,2})", re.I)


@dataclass
class Listing:
    """`devices`: by index; keys are fields of GpuDevice and `vram_used`. `complete` False: there may be more devices."""

    devices: dict[int, dict[str, Any]] = field(default_factory=dict)
    complete: bool = False
    rocm_version: str | None = None
    driver_version: str | None = None
    amdsmi_version: str | None = None
    unplaced: dict[str, Any] = field(default_factory=dict)      # told of one GPU without saying of which
    partition_unknown: set[int] = field(default_factory=set)    # devices whose partition the tool calls N/A

    def put(self, index: int, key: str, value: Any) -> None:
        """Notes a value for a device; None is not noted, the first value stays."""
        device = self.devices.setdefault(index, {})
        if value is not None:
            device.setdefault(key, printable(value) if isinstance(value, str) else value)

    @property
    def count(self) -> int | None:
        """Number of devices if the list is complete and has no gap."""
        return len(self.devices) if self.complete and sorted(self.devices) == list(range(len(self.devices))) else None


def _word(value: object) -> str:
    """What a tool told in one word; empty for a list, an object or nothing."""
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def pci_address(value: object) -> str | None:
    """'0000:0c:00.0' from any spelling of a bus address."""
    match = _PCI.fullmatch(_word(value))
    return f"{(match[1] or '0000')[-4:]}:{match[2]}:{match[3]}.{match[4]}".lower() if match else None


def pci_from_location(location: int, domain: int = 0) -> str:
    """KFD's location_id (rocminfo's BDFID) is bus << 8 | device << 3 | function."""
    return f"{domain:04x}:{location >> 8 & 0xff:02x}:{location >> 3 & 0x1f:02x}.{location & 7}"


def device_id(value: object) -> str | None:
    """'0x74a1' from '0x74a1', '74A1' or 29857."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"0x{value:04x}" if 0 < value <= 0xffff else None
    match = re.fullmatch(r"(?:0x)?([0-9a-f]{4})", _word(value), re.I)
    return f"0x{match[1].lower()}" if match else None


def device_id_in_uuid(value: object) -> str | None:
    """amd-smi builds a UUID from the device id: '00ff74a1-0000-…' is a 0x74a1 (partitions have their number in the first byte)."""
    match = re.match(r"[0-9a-f]{2}ff([0-9a-f]{4})-", _word(value), re.I)
    return device_id(match[1]) if match else None


def gfx_name(value: object) -> str | None:
    """'gfx90a' from 'gfx90a', 'gfx9010' (stepping in decimal, as some tools print it), 'amdgcn-…--gfx942:sramecc+'."""
    match = re.search(r"gfx[0-9]{1,2}[0-9a-f]{2,3}\b", _word(value), re.I)
    if not match:
        return None
    word = match[0].lower()
    decimal_stepping = re.fullmatch(r"gfx9(\d)(1[0-5])", word)
    return f"gfx9{decimal_stepping[1]}{int(decimal_stepping[2]):x}" if decimal_stepping else word


def gfx_from_target(version: int) -> str | None:
    """KFD's gfx_target_version: major * 10000 + minor * 100 + stepping; 90402 is gfx942, 90010 gfx90a."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if 0 < version < 1_000_000 and minor < 16 and stepping < 16 else None


def size_bytes(value: object, unit: object = None) -> int | None:
    """Bytes from 196592 with unit 'MB', '196592 MB', {'value': 196592, 'unit': 'MB'}."""
    if isinstance(value, dict):
        value, unit = value.get("value"), value.get("unit")
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMG]?i?B)?", _word(value), re.I)
    factor = UNITS.get(((match[2] if match else None) or _word(unit)).upper())
    return int(float(match[1]) * factor) if match and factor and "." in match[1] else int(match[1]) * factor if match and factor else None


def compute_partition(value: object) -> str | None:
    word = (known(value) or "").upper()
    return word if word in COMPUTE else None


def memory_partition(value: object) -> str | None:
    word = (known(value) or "").upper()
    return word if re.fullmatch(r"NPS[1248]", word) else None


def version(value: object) -> str | None:
    """A version number, or None: an inbox driver puts the whole kernel banner there."""
    word = known(value)
    return word if word and re.fullmatch(r"\d+(\.\d+){1,4}([-+~.][0-9A-Za-z.+~-]{1,40})?", word) else None


def whole(value: object) -> int | None:
    return number(value)
