"""A model directory on a host, read over the one connection: its listing, its small files and the headers of its safetensors. Never weights."""
from __future__ import annotations

import base64
import binascii
import re

from planning.errors import Refusal
from planning.resolve.assemble import manifest_from_files, unreadable
from planning.resolve.manifest import ModelManifest
from providers.transport.address import Target
from providers.transport.errors import TransportError
from providers.transport.ssh import Connection

# Reads below the directory that is its argument. A safetensors file gives its first MiB: the header of nearly every file.
_SCRIPT = r'''
LC_ALL=C; export LC_ALL
cd -- "$1" 2>/dev/null || { echo "--error-- no such directory, or no access"; exit 0; }
find -L . -maxdepth 2 -type f -exec stat -L -c "--list-- %s %n" {} + 2>/dev/null | head -n 2000
give() { [ -f "$1" ] && [ -r "$1" ] || return 0; echo "--file-- $1"; head -c "$2" "$1" | base64; }
for name in config.json generation_config.json tokenizer_config.json hf_quant_config.json chat_template.jinja chat_template.json model.safetensors.index.json
do give "$name" 20000000; done
for name in additional_chat_templates/*.jinja; do give "$name" 1000000; done
set -- *.safetensors
[ $# -gt 8 ] || for name in "$@"; do give "$name" 1048576; done
'''


def read_directory(target: Target, path: str) -> ModelManifest:
    """The manifest of a checkpoint in a directory of the host. What keeps us from reading it is a refusal in the manifest."""
    try:
        text = Connection(target).run(_SCRIPT, arguments=[path]).stdout
    except TransportError as error:
        return ModelManifest(path, requested_revision="main", refusals=(error.refusal,))
    if text.startswith("--error--"):
        return ModelManifest(path, requested_revision="main", refusals=(Refusal(
            "metadata-missing", f"{target.name}: the model directory {path} cannot be read", text.partition("-- ")[2], "a checkpoint with config.json",
            "correct `model:`, or give our user access"),))
    try:
        listing, files = _parse(text)
        return manifest_from_files(path, None, files, listing, {"complete": True})
    except Exception as error:                     # of one model: it must not end a run that has others
        return ModelManifest(path, requested_revision="main", refusals=(unreadable(f"{target.name}: {path}", error),))


def _parse(text: str) -> tuple[list[dict], dict[str, bytes]]:
    listing, parts, name = [], {}, None
    for line in text.splitlines():
        if line.startswith("--list-- "):
            size, _, path = line.removeprefix("--list-- ").partition(" ")
            listing.append({"path": path.removeprefix("./"), "size": int(size) if re.fullmatch(r"[0-9]{1,18}", size) else None})
        elif line.startswith("--file-- "):
            name = line.removeprefix("--file-- ")
            parts[name] = []
        elif name is not None:
            parts[name].append(line)
    return listing, {name: content for name, lines in parts.items() if (content := _decode("".join(lines))) is not None}


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
