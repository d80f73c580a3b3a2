"""A stretch of wire between a client and a database server, which can be cut at chosen moments."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from tidelake.testing.place import Place

_LOOPBACK = "127.0.0.1"
_AT_ONCE = 65536
_RESET = struct.pack("ii", 1, 0)


@dataclass
class Proxy:
    """Between a lake and its database server, which listens on a port of this machine.

    `snapshots` counts those of the lake by another way than through here. `translate` may say
    the server's words differently, in as many bytes; `meanwhile` happens once, just before the
    server hears of something to insert. `fired` counts the cuts.
    """

    port: int
    snapshots: Callable[[], int]
    translate: Callable[[bytes], bytes] = lambda data: data
    meanwhile: Callable[[], object] | None = None
    fired: int = 0
    _losses: list[bool] = field(default_factory=list)
    _bytes_left: int | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server((_LOOPBACK, 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        for pair in self._pairs:
            _cut(*pair)

    def through(self, place: Place) -> Place:
        """The same lake, reached through here."""
        parts = urlsplit(place.url)
        user = f"{parts.username}@" if parts.username else ""
        here = f"{user}{_LOOPBACK}:{self._listener.getsockname()[1]}"
        return replace(place, url=parts._replace(netloc=here).geturl())

    def lose_commit(self, *, landed: bool) -> None:
        """Cut the connection at the next COMMIT of something written: after the server has done
        it but before it can say so, or before it hears of it."""
        self._losses.append(landed)

    def cut_after(self, count: int) -> None:
        """Cut once that many more bytes have gone either way, wherever that is."""
        self._bytes_left = count

    def refuse(self) -> None:
        """Let no new connection through."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((_LOOPBACK, self.port))
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pairs.append((client, server))
                withhold = threading.Event()
                for pump in (self._ask, self._answer):
                    threading.Thread(
                        target=pump, args=(client, server, withhold), daemon=True
                    ).start()

    def _ask(self, client: socket.socket, server: socket.socket, withhold: threading.Event) -> None:
        writing = False
        with suppress(OSError):
            while data := client.recv(_AT_ONCE):
                writing = writing or b"INSERT" in data
                if writing and self.meanwhile is not None:
                    happening, self.meanwhile = self.meanwhile, None
                    happening()
                if b"COMMIT" in data:
                    if writing and self._losses:
                        self._lose(server, data, withhold)
                        break
                    writing = False
                if not self._sent(server, data):
                    break
        _cut(client, server)

    def _lose(self, server: socket.socket, data: bytes, withhold: threading.Event) -> None:
        if self._losses.pop():
            before = self.snapshots()
            withhold.set()
            server.sendall(data)
            _wait_until(lambda: self.snapshots() > before)
        self.fired += 1

    def _answer(
        self, client: socket.socket, server: socket.socket, withhold: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := server.recv(_AT_ONCE):
                if not withhold.is_set() and not self._sent(client, self.translate(data)):
                    break
        _cut(client, server)

    def _sent(self, to: socket.socket, data: bytes) -> bool:
        """Whether all of it went through."""
        with self._lock:
            left = self._bytes_left
            if left is not None:
                self._bytes_left = None if left < len(data) else left - len(data)
        if left is None or left >= len(data):
            to.sendall(data)
            return True
        to.sendall(data[:left])
        self.fired += 1
        return False


def _wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def _cut(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            each.shutdown(socket.SHUT_RDWR)
        each.close()
