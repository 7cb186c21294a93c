"""HTTP to an engine: a request, an answer, a time limit. Through a forward of the host's ssh connection, or directly when local.

The client is httpx2, which huggingface_hub already brings.
"""
from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from planning.addresses import bracketed
from providers.transport.ssh import Connection

ANSWER_BYTES = 4 << 20


@dataclass(frozen=True)
class Answer:
    """`status` 0: no answer (`text` says why; `late`: none in time). `body` is the parsed JSON, None when it is none."""

    status: int
    body: Any
    text: str
    late: bool = False


class Engine:
    """The HTTP interface of one engine. Requests carry the API key as a header, which no error or log shows."""

    def __init__(self, client: Any, api_key: str | None) -> None:
        self._client, self._headers = client, {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def ask(self, method: str, path: str, *, body: Mapping[str, Any] | None = None, timeout: float = 10) -> Answer:
        """`timeout`: for each step (the client's), and for the answer's whole body."""
        import httpx2

        end = time.monotonic() + timeout
        try:
            with self._client.stream(method, path, json=body, headers=self._headers, timeout=timeout) as response:
                data = b""
                for part in response.iter_bytes():
                    data += part
                    if len(data) > ANSWER_BYTES:
                        return Answer(response.status_code, None, "the answer is longer than 4 MiB")
                    if time.monotonic() > end:
                        return Answer(0, None, "an answer without an end", late=True)
        except httpx2.TimeoutException as error:
            return Answer(0, None, type(error).__name__, late=True)
        except (httpx2.HTTPError, OSError) as error:
            return Answer(0, None, type(error).__name__)
        text = data.decode(errors="replace")
        try:
            return Answer(response.status_code, json.loads(text), text[:2000])
        except (ValueError, RecursionError):
            return Answer(response.status_code, None, text[:2000])


@contextmanager
def engine(connection: Connection, address: str, port: int, api_key: str | None = None):
    """An `Engine` for what listens at `address:port` of the host."""
    import httpx2

    host = bracketed(address)
    if connection.target.parsed.scheme == "local":
        with httpx2.Client(base_url=f"http://{host}:{port}", trust_env=False) as client:
            yield Engine(client, api_key)
        return
    with connection.forward(address, port) as path, \
            httpx2.Client(base_url=f"http://{host}:{port}", transport=httpx2.HTTPTransport(uds=path), trust_env=False) as client:
        yield Engine(client, api_key)
