"""The stand-in for the Hub where hosts of the bed can reach it too: it listens on 127.0.0.1, this passes connections on."""

from __future__ import annotations

import selectors
import socket
import threading
from urllib.parse import urlsplit

from tests.hub_stand_in import HubStandIn


class HubDoor:
    """A second address of a Hub stand-in: connections to `address` (this side of a host's cable) go to it."""

    def __init__(self, hub: HubStandIn, address: str) -> None:
        self._target = ("127.0.0.1", urlsplit(hub.url).port)
        self._listener = socket.create_server((address, 0))
        self.url = f"http://{address}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        """Bytes both ways until one side ends."""
        try:
            with near, socket.create_connection(self._target) as far, selectors.DefaultSelector() as waiting:
                waiting.register(near, selectors.EVENT_READ, far)
                waiting.register(far, selectors.EVENT_READ, near)
                while True:
                    for key, _ in waiting.select():
                        content = key.fileobj.recv(65536)
                        if not content:
                            return
                        key.data.sendall(content)
        except OSError:
            return
