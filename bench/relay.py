"""A TCP relay that holds everything back for a while, each way: a long link on one machine."""
from __future__ import annotations

import queue
import socket
import threading
import time


class Relay:
    """Listens on 127.0.0.1 at `port` and passes connections on. The first answer takes two delays, as over a real link; so does connecting."""

    def __init__(self, target: tuple[str, int], delay_seconds: float) -> None:
        self._target, self._delay = target, delay_seconds
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        time.sleep(2 * self._delay)  # the three-way handshake, which the kernel has answered already
        server = socket.create_connection(self._target)
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, sink in ((client, server), (server, client)):
            held: queue.Queue[tuple[float, bytes]] = queue.Queue()
            threading.Thread(target=self._read, args=(source, held), daemon=True).start()
            threading.Thread(target=self._write, args=(sink, held), daemon=True).start()

    def _read(self, source: socket.socket, held: queue.Queue[tuple[float, bytes]]) -> None:
        while True:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            held.put((time.monotonic() + self._delay, data))
            if not data:
                return

    def _write(self, sink: socket.socket, held: queue.Queue[tuple[float, bytes]]) -> None:
        while True:
            due, data = held.get()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)
            except OSError:
                return
