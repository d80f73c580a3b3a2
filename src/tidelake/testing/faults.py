"""Faults, where a lake meets the world: on the wire to its database server, in what it asks of its
database, and in what it does to its store.

A `Proxy` is a stretch of wire that can be cut. `watch_database` and `watch_store` tell of all that
is going to happen, so that something else can happen first, or instead.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from tidelake import Lake
from tidelake.catalog.database.backend import Connections, Ear, Query, Session
from tidelake.catalog.database.dialect import InlineColumn
from tidelake.store.files import Store, StoredObject
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


Tell = Callable[[str, str], object]
"""Is told what is going to happen, and to what. If it raises, that happens instead."""


@dataclass
class Meanwhile:
    """Does something just before the first moment of a kind: when `what` is going to be done to
    something in whose name, or SQL, is `to`. `happened` says whether that moment came."""

    what: str
    do: Callable[[], object]
    to: str = ""
    happened: bool = False

    def __call__(self, what: str, text: str) -> None:
        if not self.happened and what == self.what and self.to in text:
            self.happened = True
            self.do()


@contextmanager
def watch_database(lake: Lake, tell: Tell) -> Iterator[None]:
    """Tells of each transaction of a lake on its catalog that is going to `read` or to `write`; in
    it, of all that it is going to `ask` and to `change`, with the SQL, and to `insert`, with the
    table; of a `commit`, and when it is `done`."""
    database = lake.session.database
    before = database.connections
    database.connections = _WatchedConnections(before, tell)
    try:
        yield
    finally:
        database.connections = before


@contextmanager
def watch_store(lake: Lake, tell: Tell) -> Iterator[None]:
    """Tells of each object that a lake is going to `read`, `write`, `put`, `create` or `delete`,
    and of each folder that it is going to `walk`. Engines read and write data by themselves."""
    local = lake.session.local
    before, local.store = local.store, _WatchedStore(local.options, tell)
    try:
        yield
    finally:
        local.store = before


@dataclass(frozen=True)
class _WatchedConnections:
    inner: Connections
    tell: Tell

    @contextmanager
    def reading(self) -> Iterator[Session]:
        self.tell("read", "")
        with self.inner.reading() as session:
            yield _WatchedSession(session, self.tell)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        self.tell("write", "")
        with self.inner.writing() as session:
            yield _WatchedSession(session, self.tell)
            self.tell("commit", "")
        self.tell("done", "")

    def shrink(self, tables: Sequence[str]) -> None:
        self.tell("shrink", "")
        self.inner.shrink(tables)

    @property
    def ear(self) -> Ear | None:
        return self.inner.ear

    def close(self) -> None:
        self.inner.close()


@dataclass(frozen=True)
class _WatchedSession:
    inner: Session
    tell: Tell

    def query(self, sql: str, parameters: Mapping[str, object]) -> list[Any]:
        self.tell("ask", sql)
        return self.inner.query(sql, parameters)

    def query_columns(self, sql: str, parameters: Mapping[str, object]) -> list[list[Any]]:
        self.tell("ask", sql)
        return self.inner.query_columns(sql, parameters)

    def gather(
        self,
        table: str,
        kept: Sequence[InlineColumn],
        condition: str,
        parameters: Mapping[str, object],
    ) -> Any:
        self.tell("ask", table)
        return self.inner.gather(table, kept, condition, parameters)

    def query_all(self, queries: Sequence[Query]) -> list[list[Any]]:
        for sql, _ in queries:
            self.tell("ask", sql)
        return self.inner.query_all(queries)

    def execute(self, sql: str, parameters: Mapping[str, object]) -> None:
        self.tell("change", sql)
        self.inner.execute(sql, parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        self.tell("insert", table)
        self.inner.insert(table, columns, rows)


class _WatchedStore(Store):
    def __init__(self, storage_options: Mapping[str, str], tell: Tell) -> None:
        super().__init__(storage_options)
        self._tell = tell

    def read(self, uri: str) -> bytes:
        self._tell("read", uri)
        return super().read(uri)

    def write(self, uri: str, data: bytes) -> None:
        self._tell("write", uri)
        super().write(uri, data)

    def put(self, uri: str, data: bytes) -> None:
        self._tell("put", uri)
        super().put(uri, data)

    def create(self, uri: str, data: bytes, *, modified: int | None = None) -> bool:
        self._tell("create", uri)
        return super().create(uri, data, modified=modified)

    def delete(self, uris: Sequence[str]) -> None:
        for uri in uris:
            self._tell("delete", uri)
        super().delete(uris)

    def walk(self, folder: str) -> Iterator[StoredObject]:
        self._tell("walk", folder)
        yield from super().walk(folder)
