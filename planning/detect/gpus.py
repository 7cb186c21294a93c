"""Decides the GPU facts of a host: devices, versions, and whether they can be used, from KFD, PCI and three tools together.

From sorted sources and the ledger, giving `Gpus`. Device ids decide product and gfx where a tool does not say (data/gpus.toml).
"""
from __future__ import annotations

from dataclasses import replace

from planning.detect import amd_smi, kfd, pci, rocm_smi, rocminfo
from planning.detect.facts import Gpus
from planning.detect.gpu_access import Access, note_complaints, parse_nodes, remedy
from planning.detect.gpu_device import device_facts
from planning.detect.gpu_merge import merge
from planning.detect.listing import Listing, version
from planning.detect.sources import Source
from planning.detect.text import lines
from planning.detect.witnesses import Ledger

PARSERS = {"kfd-topology": kfd.parse, "pci": pci.parse, "amd-smi": amd_smi.parse, "amd-smi-monitor": amd_smi.parse,
           "rocm-smi": rocm_smi.parse, "rocminfo": rocminfo.parse}
TOOLS = ("amd-smi", "amd-smi-monitor", "rocm-smi", "rocminfo", "amd-smi-version", "probe-errors")


def read_gpus(sources: dict[str, list[Source]], ledger: Ledger, user: str | None = None) -> Gpus:
    """The GPU part of the facts."""
    listings = gpu_listings(sources)
    access = _access(sources)
    _say_versions(sources, listings, ledger)
    merged = merge([entry for entry in listings if entry[1] != "pci" or _driven(entry[2])])
    for probe in merged.unmatched:
        ledger.warn("gpu-rows-unmatched", f"{probe} lists GPUs that could not be matched with those of the other probes; it was left out")
    devices = device_facts(merged, listings, ledger)
    count = _count(sources, listings, len(devices), ledger)
    state = _state(listings, access, len(devices), count)
    if state in {"none", "no-driver"} and not devices:
        count = 0
    if not devices and {"denied", "invalid", "no-module", "none"} & set(access.complaints) and not _cards(listings):
        count = 0 if access.complaints.keys() & {"no-module", "none"} else count
    _warn(access, state, user, ledger, len(_cards(listings)))
    balancing = next((line.strip() for source in sources.get("numa-balancing", []) for line in lines(source.text)), None)
    gpus = Gpus(count=count, state=state, devices=devices, kfd_gid=access.kfd_gid, render_gids=access.render_gids,
                numa_balancing=None if balancing not in {"0", "1", "2"} else balancing != "0")
    return replace(gpus, **{key: ledger.take(f"gpus.{key}") for key in ("rocm_version", "driver_version", "amdsmi_version")})


def gpu_listings(sources: dict[str, list[Source]]) -> list[tuple[str, str, Listing]]:
    """(probe, subject, Listing) of every source that can list GPUs."""
    return [(source.name, subject, parser(source.text)) for subject, parser in PARSERS.items() for source in sources.get(subject, [])]


def _driven(listing: Listing) -> bool:
    """PCI cards are devices only with the amdgpu driver; without it they are only hardware."""
    return bool(listing.devices) and all(fields.get("driver") == "amdgpu" for fields in listing.devices.values())


def _cards(listings: list[tuple[str, str, Listing]]) -> list[str]:
    return [fields["pci"] for _, subject, listing in listings if subject == "pci" for fields in listing.devices.values()]


def _access(sources: dict[str, list[Source]]) -> Access:
    access = Access()
    for subject in TOOLS:
        for source in sources.get(subject, []):
            note_complaints(access, source.text, source.name)
    for source in sources.get("dev-access", []):
        parse_nodes(access, source.text)
    return access


def _say_versions(sources: dict[str, list[Source]], listings: list[tuple[str, str, Listing]], ledger: Ledger) -> None:
    for probe, subject, listing in listings:
        for key in ("rocm_version", "driver_version", "amdsmi_version"):
            ledger.say(f"gpus.{key}", getattr(listing, key), probe, subject)
    for subject in ("amd-smi-version", "amd-smi"):
        for source in sources.get(subject, []):
            records = amd_smi.parse_versions(source.text)
            for key in ("rocm_version", "driver_version", "amdsmi_version"):
                values = {record[key] for record in records}
                if len(values) == 1:
                    ledger.say(f"gpus.{key}", values.pop(), source.name, "amd-smi-version")
                elif values:
                    ledger.warn("witnesses-disagree", f"gpus.{key}: {source.name} holds several answers "
                                f"({', '.join(sorted(str(value) for value in values))}); taken: none")
    for subject, key in (("amdgpu-module", "driver_version"), ("rocm-version-file", "rocm_version")):
        for source in sources.get(subject, []):
            told = next((version(line.strip()) for line in lines(source.text) if line.strip()), None)
            ledger.say(f"gpus.{key}", told.split("-")[0] if told and key == "rocm_version" else told, source.name, subject)


def _count(sources: dict[str, list[Source]], listings: list[tuple[str, str, Listing]], listed: int, ledger: Ledger) -> int | None:
    """The number of devices that the complete lists agree on, else the best witness's with a warning."""
    for probe, subject, listing in listings:
        if listing.devices and subject != "pci":
            ledger.say("gpus.count", listing.count, probe, subject)
    for source in sources.get("rocminfo", []):
        agents = [agent for agent in rocminfo.cpu_agents(source.text) if "MI300A" in (agent["name"] or "")]
        shown = len(rocminfo.parse(source.text).devices)
        if shown and len(agents) > shown:
            ledger.say("gpus.count", len(agents), source.name, "rocminfo")
            ledger.warn("gpu-list-cut", f"{source.name} shows {len(agents)} MI300A CPU agents and only {shown} GPU agents: the list is cut; "
                        "each MI300A has one GPU beside its CPU")
    if "gpus.count" in ledger.said:
        return ledger.take("gpus.count")
    driven = [listing.count for _, subject, listing in listings if subject == "pci" and _driven(listing)]
    if driven and listed:
        return driven[0]
    return None


def _state(listings: list[tuple[str, str, Listing]], access: Access, devices: int, count: int | None) -> str:
    scanned = any(subject == "pci" and listing.complete for _, subject, listing in listings)
    cards = _cards(listings)
    if {"denied", "invalid"} & set(access.complaints) or "kfd" in access.denied_nodes or (cards and access.denied_nodes):
        return "no-access"
    if access.looked and access.kfd_gid is None and (cards or devices or count):
        return "no-driver"                      # a tool may still list what the kernel driver does not serve
    if devices or count:
        return "ok"
    if scanned and not cards:
        return "none"
    if cards or "no-module" in access.complaints:
        return "no-driver"
    return "none" if "none" in access.complaints else "unknown"


def _warn(access: Access, state: str, user: str | None, ledger: Ledger, cards: int) -> None:
    if "no-module" in access.complaints and (state != "none"):
        ledger.warn("gpu-driver-missing", f"{access.complaints['no-module']}: the amdgpu driver is not loaded ({access.detail['no-module']}). "
                    "Load it: sudo modprobe amdgpu")
    elif state == "no-driver":
        ledger.warn("gpu-driver-missing", f"{cards} AMD GPU(s) on the PCI bus and no {'/dev/kfd' if access.looked else 'amdgpu driver bound'}. "
                    "Load the driver: sudo modprobe amdgpu")
    if "invalid" in access.complaints:
        ledger.warn("gpu-kfd-invalid", f"{access.complaints['invalid']}: /dev/kfd refuses to open with 'Invalid argument': the driver of the "
                    "host and this session's view of it differ (a container without the device, or a driver that does not know the GPU)")
    if "denied" in access.complaints or access.denied_nodes:
        said = access.complaints.get("denied", "dev-access.txt")
        what = access.detail.get("denied") or ", ".join(f"/dev/{'' if name == 'kfd' else 'dri/'}{name}" for name in access.denied_nodes[:4])
        ledger.warn("gpu-access-denied", f"{said}: {what}; {remedy(access, user)}")
