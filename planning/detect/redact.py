"""Takes what identifies a person, a machine or a company out of a recording, and counts what it took out. Pure.

From text by file name, giving the same with stand-ins that parse alike: facts read from a redacted recording are those of
the host. Documents of docker and podman are cut down to the keys that detection reads, because they hold proxies,
commands and environments; everything else is replaced by pattern.
"""
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping

from planning.detect.redact_documents import container_rows, docker_info, host_names, podman_info
from planning.detect.redact_network import addresses, proc_net_tcp
from planning.detect.sources import subject_of
from planning.detect.text import lines

SERIAL = re.compile(r'((?:ASIC_?SERIAL|PRODUCT_?SERIAL|SERIAL_?NUMBER|SERIAL NUMBER|UNIQUE ?ID|FRU_?ID|PPIN)"?\s*:\s*"?)(0x)?([0-9A-Za-z-]{4,40})', re.I)
UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I)
AMD_UUID = re.compile(r"[0-9a-f]{2}ff[0-9a-f]{4}", re.I)
HSA_UUID = re.compile(r"\b(GPU|CPU)-[0-9a-f]{16}\b", re.I)
DOCKER_ID = re.compile(r"\b(?:[A-Z2-7]{4}:){11}[A-Z2-7]{4}\b")
REMOTE_SOURCE = re.compile(r"(?:(?<=\s)|(?<=^))(?!/)[\w.\[\]:-]+:(?=/)", re.M)
KEPT_GROUPS = {"docker", "render", "video", "root", "sudo", "wheel", "podman"}
PUBLIC_REGISTRIES = {"docker.io", "ghcr.io", "quay.io", "registry.access.redhat.com", "public.ecr.aws", "rocm", "localhost"}
NETWORK = {"ss", "session", "docker-info", "docker-ps", "podman-info", "podman-ps", "findmnt", "mount", "df", "hf-cache", "docker-version"}
SYSTEM_USERS = {"root", "user", "host", "", "docker", "local"}


def redact(outputs: Mapping[str, str]) -> tuple[dict[str, str], dict[str, int]]:
    """Redacted text by file name, and how many different things of each kind were replaced."""
    done: Counter[str] = Counter()
    user, hosts = _user(outputs), host_names(outputs)
    seen: dict[str, str] = {}
    redacted = {name: _file(subject_of(name), text, user, hosts, seen, done) for name, text in outputs.items()}
    return redacted, {kind: count for kind, count in sorted(done.items()) if count}


def _user(outputs: Mapping[str, str]) -> str:
    for name, text in outputs.items():
        for line in lines(text) if subject_of(name) == "session" else []:
            if line.startswith("user="):
                return line.removeprefix("user=").strip()
    return ""


def _file(subject: str, text: str, user: str, hosts: set[str], seen: dict[str, str], done: Counter[str]) -> str:
    documents: dict[str, Callable[[str, Counter[str]], str]] = {
        "docker-info": docker_info, "podman-info": podman_info, "docker-ps": container_rows, "podman-ps": container_rows}
    if subject in documents:
        text = documents[subject](text, done)
    elif subject == "proc-net-tcp":
        text = proc_net_tcp(text, done)
    elif subject in {"docker-images", "podman-images"}:
        text = "".join(_image(line, done) + "\n" for line in lines(text))
    elif subject == "session":
        text = "".join(_session(line, done) + "\n" for line in lines(text))
    if subject in NETWORK:
        text = addresses(text, seen, done)
    if subject in {"findmnt", "mount", "df"}:
        text = _count(REMOTE_SOURCE, "server:", text, "file servers", done)
    text = SERIAL.sub(lambda match: _serial(match, done), text)
    text = UUID.sub(lambda match: _uuid(match, done), text)
    text = _count(HSA_UUID, r"\1-0000000000000000", text, "UUIDs", done)
    text = _count(DOCKER_ID, ":".join(["XXXX"] * 12), text, "daemon ids", done)
    for host in sorted(hosts, key=len, reverse=True):
        text = _count(re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])"), "host", text, "host names", done)
    if user not in SYSTEM_USERS:
        text = _count(re.compile(rf"(?<![\w.-]){re.escape(user)}(?![\w-])"), "user", text, "user names", done)
    return text


def _count(pattern: re.Pattern[str], stand_in: str, text: str, kind: str, done: Counter[str]) -> str:
    changed, count = pattern.subn(stand_in, text)
    done[kind] += count if changed != text else 0
    return changed


def _serial(match: re.Match[str], done: Counter[str]) -> str:
    if not match[3].strip("0X-") or match[3].upper() in {"N/A", "NONE"}:
        return match[0]
    done["serial numbers"] += 1
    return f"{match[1]}{match[2] or ''}{'0' * len(match[3])}"


def _uuid(match: re.Match[str], done: Counter[str]) -> str:
    """amd-smi's UUIDs begin with the device id, which is a fact and stays."""
    first = match[1] if AMD_UUID.fullmatch(match[1]) else "00000000"
    stand_in = f"{first}-0000-1000-8000-000000000000"
    done["UUIDs"] += stand_in != match[0]
    return stand_in


def _image(line: str, done: Counter[str]) -> str:
    registry, slash, rest = line.partition("/")
    if slash and ("." in registry or ":" in registry) and registry not in PUBLIC_REGISTRIES:
        done["private registries"] += 1
        return f"registry.example/{rest}"
    return line


def _session(line: str, done: Counter[str]) -> str:
    key, equals, value = line.partition("=")
    if key != "groups" or not equals:
        return line
    kept = [group for group in value.split() if group in KEPT_GROUPS]
    done["group names"] += len(value.split()) - len(kept)
    return f"groups={' '.join(kept)}"


def report(done: Mapping[str, int]) -> str:
    """What was replaced, for people and for the recording itself."""
    return json.dumps({"replaced": dict(done)}, indent=1) + "\n"
