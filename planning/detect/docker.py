"""Reads `docker info` (JSON, cut JSON, text, Go form) and `docker version`, and decides whether the daemon can be used and if not why.

From text of any of these, giving a dict of plain fields (see `FIELDS`); `docker` may be Podman's shim. Valid JSON proves
nothing: without access it holds only ServerErrors.
"""
from __future__ import annotations

import re
from typing import Any

from planning.detect.jsonstream import decode
from planning.detect.text import clean, known, lines, number
from planning.errors import printable

FIELDS = ("server_version", "cgroup_driver", "cgroup_version", "operating_system", "architecture", "root_dir", "storage_driver")
_JSON_KEYS = {"ServerVersion": "server_version", "CgroupDriver": "cgroup_driver", "CgroupVersion": "cgroup_version",
              "OperatingSystem": "operating_system", "Architecture": "architecture", "DockerRootDir": "root_dir", "Driver": "storage_driver"}
_TEXT_KEYS = {"Server Version": "server_version", "Cgroup Driver": "cgroup_driver", "Cgroup Version": "cgroup_version",
              "Operating System": "operating_system", "Architecture": "architecture", "Docker Root Dir": "root_dir",
              "Storage Driver": "storage_driver"}
_SERVER_SAYS = ("server_version", "cgroup_driver", "operating_system", "storage_driver")
ERRORS: tuple[tuple[str, str], ...] = (
    ("permission-denied", r"permission denied"),
    ("no-daemon", r"Cannot connect to the Docker daemon|Is the docker daemon running|connection refused|no such file or directory|"
                  r"failed to connect to the docker API|context deadline exceeded"),
    ("missing", r"docker: (?:command )?not found|not found: docker"),
)


def parse_info(text: str) -> dict[str, Any]:
    """What `docker info` said: FIELDS, and errors, rootless, security_options, is_podman, podman (its own JSON), limits_ignored."""
    body = clean(text)
    values = [value for value in decode(body)[0] if isinstance(value, dict)]
    document = values[0] if values else None
    if document and isinstance(document.get("host"), dict):
        return {"is_podman": True}
    fields = _from_document(document) if document else _from_pieces(body)
    fields["limits_ignored"] = "rootless-mode without cgroups" in body
    if fields["limits_ignored"] or fields.get("cgroup_driver") == "none":
        fields["rootless"] = True           # only rootless mode has no cgroup driver
    if "Emulate Docker CLI using podman" in body or re.search(r"^[ \t]+buildahVersion:", body, re.M):
        fields["is_podman"] = True
    return {field: printable(value) if isinstance(value, str) else value for field, value in fields.items()}


def _from_document(document: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {field: known(document.get(key)) for key, field in _JSON_KEYS.items()}
    driver = document.get("CgroupDriver")
    fields["cgroup_driver"] = driver if isinstance(driver, str) and driver else None       # "none" is an answer here
    fields["cgroup_version"] = number(fields["cgroup_version"])
    errors = document.get("ServerErrors")
    fields["errors"] = [str(item) for item in errors] if isinstance(errors, list) else []
    options = document.get("SecurityOptions")
    if isinstance(options, list):
        names = [str(item).replace("name=", "").split(",")[0] for item in options]
        fields["security_options"] = names
        fields["rootless"] = "rootless" in names
    return fields


def _from_pieces(body: str) -> dict[str, Any]:
    """JSON that is cut, Go's %+v form, or text for people; each told by how its keys look."""
    fields: dict[str, Any] = {"errors": []}
    for key, field in _JSON_KEYS.items():
        match = re.search(rf'"{key}":"([^"\n]*)"', body)
        if not match:       # Go's %+v form: a value ends where the next 'Key:' begins
            match = re.search(rf"(?:^|[ {{]){key}:([^\n]*?)(?= [A-Z][A-Za-z0-9]*:)", body, re.M) if "DriverStatus:" in body else None
        if match:
            fields[field] = match[1].strip() or None if field == "cgroup_driver" else known(match[1])
    _from_text(body, fields)
    fields["cgroup_version"] = number(fields.get("cgroup_version"))
    return fields


def _from_text(body: str, fields: dict[str, Any]) -> None:
    options: list[str] | None = None
    closed = False
    for line in lines(body):
        match = re.match(r" ?([A-Z][A-Za-z ]+):\s*(.*?)\s*$", line)
        if options is not None and not closed:
            option = re.match(r"  ([a-z]\w*)\s*$", line)
            if option:
                options.append(option[1])
                continue
            closed = not line.startswith("   ")
        if match and match[1] == "Security Options" and not match[2]:
            options = []
        elif match and match[1] in _TEXT_KEYS:
            fields.setdefault(_TEXT_KEYS[match[1]], match[2] or None if match[1] == "Cgroup Driver" else known(match[2]))
        elif re.match(r"(ERROR|error|Cannot connect|Got permission denied|Client: error)", line.strip()):
            fields["errors"].append(line.strip())
    if options:
        fields["security_options"] = options
        if closed or "rootless" in options:
            fields["rootless"] = "rootless" in options


def answered(fields: dict[str, Any]) -> bool | None:
    """Whether a daemon answered: it told something about itself, and no errors. None: neither."""
    if fields.get("errors"):
        return False
    return True if any(fields.get(key) for key in _SERVER_SAYS) else None


def reason(text: str, errors: list[str]) -> str | None:
    """Why the daemon cannot be used, as a code of Runtime.reason; None if nothing complains."""
    body = "\n".join([*errors, clean(text)])
    for code, pattern in ERRORS:
        if re.search(pattern, body, re.I):
            return code
    return "error" if errors else None


def parse_version(text: str) -> dict[str, Any]:
    """`docker version` or `docker --version`, also Podman's: version and is_podman."""
    body = clean(text)
    podman = re.search(r"^podman version ([0-9][\w.+-]*)\s*$", body, re.M)
    if podman:
        return {"is_podman": True, "version": podman[1]}
    server = re.search(r"Server:.{0,4000}?Version:\s+([0-9][\w.+-]*)\n", body, re.S)
    return {"is_podman": "Emulate Docker CLI using podman" in body or None, "version": server[1] if server else None}
