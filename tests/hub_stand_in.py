"""A stand-in for the Hub: speaks the part of its API that this project, huggingface_hub and vLLM use. For tests and trials only.

    with HubStandIn() as hub:
        hub.add("org/name", {"config.json": b"{}"}, gated="manual", allowed={"hf_good"})
        read_manifest("org/name", "main", token=None, endpoint=hub.url)

    python tests/hub_stand_in.py --models tests/models --port 8130      # then HF_ENDPOINT=http://127.0.0.1:8130
"""
from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class Repository:
    """`sizes`: files that are listed with a size and have no content (weights). `allowed`: tokens that may read it."""

    files: dict[str, bytes] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    gated: str | bool = False
    private: bool = False
    allowed: set[str] = field(default_factory=set)
    renamed_to: str | None = None
    revisions: set[str] = field(default_factory=lambda: {"main"})
    safetensors: dict[str, Any] | None = None

    @property
    def commit(self) -> str:
        return hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()


class HubStandIn:
    """`requests`: (method, path, headers) of everything that was asked. `trouble`: how it misbehaves, see `_trouble`."""

    def __init__(self, port: int = 0) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str, Mapping[str, str]]] = []
        self.trouble: str | None = None
        self.bad_tokens: set[str] = set()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                stand_in.requests.append((self.command, self.path, dict(self.headers)))
                try:
                    stand_in._answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_HEAD = do_GET

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None     # a client that hangs up is not an event
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> HubStandIn:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, name: str, files: Mapping[str, bytes | str | dict] | None = None, **settings: Any) -> Repository:
        """A repository; dicts become JSON files."""
        plain = {n: json.dumps(c).encode() if isinstance(c, dict) else c.encode() if isinstance(c, str) else c for n, c in (files or {}).items()}
        self.repositories[name] = Repository(files=plain, **settings)
        return self.repositories[name]

    def add_folders(self, models: Path) -> None:
        """Every ORG__NAME folder of `models` that has a config.json."""
        for folder in sorted(p for p in models.iterdir() if (p / "config.json").is_file()):
            files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in ("meta.json", "vllm.json")}
            self.add(folder.name.replace("__", "/", 1), files)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        if self.trouble and self._trouble(request, path):
            return
        api = re.fullmatch(r"/api/models/([^/]+/[^/]+?)(?:/revision/(.+))?", path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        name, revision = (api or file).group(1, 2) if api or file else (None, None)
        repository = self.repositories.get(name or "")
        token = (request.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        if token in self.bad_tokens:
            return self._no(request, 401, None, "Invalid credentials in Authorization header")
        if repository is None or (repository.private and token not in repository.allowed):
            return self._no(request, 404 if token else 401, "RepoNotFound", "Repository not found")
        if repository.renamed_to:
            return _send(request, 307, b"", {"Location": request.path.replace(name or "", repository.renamed_to)})
        if revision and revision not in repository.revisions | {repository.commit}:
            return self._no(request, 404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if api:
            return _send(request, 200, json.dumps(self._summary(name or "", repository)).encode(), {"Content-Type": "application/json"})
        if repository.gated and token not in repository.allowed:
            return self._no(request, 403 if token else 401, "GatedRepo", f"Access to model {name} is restricted.")
        self._file(request, repository, file.group(3) if file else "")

    def _summary(self, name: str, repository: Repository) -> dict[str, Any]:
        sizes = {**{n: len(c) for n, c in repository.files.items()}, **repository.sizes}
        return {"id": name, "modelId": name, "sha": repository.commit, "private": repository.private, "gated": repository.gated,
                "siblings": [{"rfilename": n, "size": s} for n, s in sizes.items()],
                **({"safetensors": repository.safetensors} if repository.safetensors else {})}

    def _file(self, request: BaseHTTPRequestHandler, repository: Repository, name: str) -> None:
        content = repository.files.get(name)
        if content is None:
            return self._no(request, 404, "EntryNotFound", "Entry not found")
        headers = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range") or "")
        if part:
            end = int(part.group(2)) if part.group(2) else len(content)
            return _send(request, 206, content[int(part.group(1)):end + 1], headers)
        _send(request, 200, content, headers)

    def _no(self, request: BaseHTTPRequestHandler, status: int, code: str | None, message: str) -> None:
        _send(request, status, json.dumps({"error": message}).encode(), {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})})

    def _trouble(self, request: BaseHTTPRequestHandler, path: str) -> bool:
        """silent: never answers · trickle: a byte now and then · huge: endless · html, busy, broken, loop: as they say. `name:FILE`: that file only."""
        kind, _, only = (self.trouble or "").partition(":")
        if only and not path.endswith(only):
            return False
        if kind == "silent":
            time.sleep(5)
        elif kind in ("trickle", "huge"):
            request.send_response(200)
            request.end_headers()
            for _ in range(100_000 if kind == "huge" else 60):
                request.wfile.write(b" " * (65536 if kind == "huge" else 1))
                if kind == "trickle":
                    time.sleep(0.1)
            request.close_connection = True
        elif kind == "html":
            _send(request, 200, b"<html>\x1b[31mlog in</html>", {"Content-Type": "text/html"})
        elif kind == "busy":
            _send(request, 429, b"{}", {"Retry-After": "60"})
        elif kind == "broken":
            _send(request, 500, b"\x00\xff" * 1000, {"X-Error-Message": "bad \t[31m thing"})
        elif kind == "loop":
            _send(request, 307, b"", {"Location": request.path})
        return True


def _send(request: BaseHTTPRequestHandler, status: int, content: bytes, headers: Mapping[str, str]) -> None:
    request.send_response(status)
    for key, value in headers.items():
        request.send_header(key, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of ORG__NAME folders")
    parser.add_argument("--port", type=int, default=8130)
    args = parser.parse_args()
    hub = HubStandIn(args.port)
    hub.add_folders(args.models)
    with hub:
        print(f"{len(hub.repositories)} models at {hub.url}")
        threading.Event().wait()


if __name__ == "__main__":
    main()
