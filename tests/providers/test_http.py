"""Engines that answer badly on the wire, with a real server: what does not come, what never ends, what is cut, what is too long."""
from __future__ import annotations

import socket
import threading
import time

import pytest

from providers.transport import http
from providers.transport.address import Target
from providers.transport.ssh import Connection

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"


@pytest.fixture
def serve():
    """`serve(answer)`: a server that calls `answer(connection)` for one request; gives its port."""
    listening = []

    def start(answer) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        listening.append(server)

        def run() -> None:
            client, _ = server.accept()
            with client:
                client.recv(65536)
                try:
                    answer(client)
                except OSError:
                    pass
        threading.Thread(target=run, daemon=True).start()
        return server.getsockname()[1]
    yield start
    for server in listening:
        server.close()


def ask(port: int, timeout: float = 1) -> http.Answer:
    with http.engine(Connection(Target("box", "local")), "127.0.0.1", port) as engine:
        return engine.ask("POST", "/v1/completions", body={}, timeout=timeout)


def drip(client: socket.socket) -> None:
    client.sendall(HEAD)
    while True:
        client.sendall(b" ")
        time.sleep(0.05)


def flood(client: socket.socket) -> None:
    client.sendall(HEAD)
    while True:
        client.sendall(b" " * 65536)


@pytest.mark.parametrize(("answer", "status", "late", "told"), [
    (lambda client: time.sleep(3), 0, True, "ReadTimeout"), (drip, 0, True, "without an end"),
    (lambda client: None, 0, False, "Error"), (lambda client: client.sendall(HEAD + b"{"), 0, False, "Error"),
    (flood, 200, False, "longer than 4 MiB"),
], ids=["silent", "dripping", "closed", "cut", "flood"])
def test_an_answer_that_is_none_ends_in_time(serve, answer, status, late, told):
    began = time.monotonic()
    seen = ask(serve(answer))
    assert (seen.status, seen.late) == (status, late) and told in seen.text and seen.body is None
    assert time.monotonic() - began < 2.5


def test_nobody_listens(serve):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert (ask(port).status, ask(port).late, ask(port).text) == (0, False, "ConnectError")
