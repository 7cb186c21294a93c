"""One host over a link with 50 ms round trip: our facts + survey + resolve + fit against one ssh process for every command.

The kernel here has no delaying device, so a small TCP relay stands in front of sshd and holds every byte back for 25 ms each way.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

from bench.place import Place
from bench.relay import Relay
from bench.results import Row, middle
from bench.stack import CHECKOUT
from tests.e2e import models

DELAY_SECONDS = 0.025
PROCEDURE = (
    ("detect", "lscpu"),
    ("detect", "cat /proc/meminfo"),
    ("validate", "docker info"),
    ("validate", "docker image inspect IMAGE"),
    ("validate", "docker run --rm IMAGE python3 -c VERSIONS"),
    ("validate", "readlink -f ~/.cache/huggingface; findmnt -T"),
    ("check model", "python3 check_model.py (Hub, from the client)"),
    ("fit", "free -b"),
    ("tune", "lscpu -p=CPU,CORE,SOCKET,NODE"),
    ("tune", "cat /proc/stat, twice in 0.5 s"),
    ("tune", "numactl --hardware"),
    ("port", "ss -ltn"),
    ("launch", "docker rm -f NAME"),
    ("health", "docker inspect NAME"),
)
"""What the published procedure runs on a host before and after the launch, each `--host user@box` script or command in an ssh process of
its own. Those that are not about the Hub are counted; the time is that of plain `ssh host true`, so what they do costs nothing here."""


def measure(place: Place, args: Namespace) -> list[Row]:
    """Medians of `args.rounds`, in turn."""
    host = place.host()
    models.add(place.hub)
    relay = Relay((host.address, 22), DELAY_SECONDS)
    keys = _through(relay, host.connection())
    count = len([command for _, command in PROCEDURE if "from the client" not in command])
    ours, theirs, mark, connections = [], [], host.mark(), 0
    try:
        for _ in range(args.rounds):
            before = host.mark()
            ours.append(_ours(keys, place.hub.url))
            connections += host.connections_since(before)
            theirs.append(sum(_plain_ssh(keys) for _ in range(count)))
    finally:
        relay.close()
    host.connections_since(mark)
    mine, other = middle(each["seconds"] for each in ours), middle(theirs)
    parts = {key: middle(each["parts"][key] for each in ours) for key in ours[0]["parts"]}
    told = ", ".join(f"{key} {seconds:.2f} s" for key, seconds in parts.items())
    return [Row(f"host over a link of 50 ms: detect, resolve, fit, against {count} ssh processes", f"{mine:.2f} s", f"{other:.2f} s", mine / other, 0.2,
                raw={"ours": ours, "against": theirs, "parts": parts}),
            Row("… of which", told, raw=parts),
            Row("… ssh connections", f"{connections / args.rounds:g}", f"{count}", raw={})]


def _through(relay: Relay, keys: dict) -> dict:
    """The host's connection, at the relay's address; its key is known there as well."""
    known = Path(keys["knownHosts"])
    host_key = known.read_text().splitlines()[0].split(" ", 1)[1]
    known.write_text(known.read_text() + f"[127.0.0.1]:{relay.port} {host_key}\n")
    return {**keys, "address": f"ssh://root@127.0.0.1:{relay.port}"}


def _ours(keys: dict, hub: str) -> dict:
    """In a process that has its modules loaded, as the provider's has; a new connection each time."""
    document = json.dumps({"keys": keys, "model": models.TINY})
    done = subprocess.run([sys.executable, "-m", "bench.link_once", document], cwd=CHECKOUT, capture_output=True, text=True, check=True,
                          env=_environment(hub))
    return json.loads(done.stdout)


def _environment(hub: str) -> dict[str, str]:
    return {**os.environ, "HF_ENDPOINT": hub}


def _plain_ssh(keys: dict) -> float:
    address, port = keys["address"].removeprefix("ssh://root@").split(":")
    began = time.monotonic()
    subprocess.run(["ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={keys['knownHosts']}", "-o", "IdentitiesOnly=yes",
                    "-i", keys["identityFile"], "-l", "root", "-p", port, address, "true"], check=True, capture_output=True)
    return time.monotonic() - began
