"""Catalogs in a file of this process: SQLite and DuckDB, through their own drivers.

Neither needs SQLAlchemy, whose import alone takes longer than most reads of a small lake.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Lock, RLock
from types import NoneType
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

from tidelake import duck
from tidelake.catalog.statement import dollar, insert_into
from tidelake.catalog.url import CatalogUrl
from tidelake.scratch import Scratch

BUSY_TIMEOUT_S = 10.0
_DUCKDB_ROWS = 200
_DUCKDB_LISTED = 10_000
_PLAIN = {bool, int, str, bytes}

Parameters = Mapping[str, object]

# A DuckDB file belongs to one process, and two writers in it would abort each other.
_DUCKDB_WRITERS: defaultdict[CatalogUrl, RLock] = defaultdict(RLock)


# All connections of a process to a DuckDB file share one DuckDB, so one place to spill to.
_DUCKDB_SCRATCH: WeakValueDictionary[tuple[int, CatalogUrl], Scratch] = WeakValueDictionary()
_OPENING = Lock()


def _scratch_of(url: CatalogUrl) -> Scratch:
    with _OPENING:
        here = (os.getpid(), url)
        found = _DUCKDB_SCRATCH.get(here) or Scratch()
        _DUCKDB_SCRATCH[here] = found
        return found


class _Session(ABC):
    """What needs no other way in a database of this process."""

    @abstractmethod
    def query(self, sql: str, parameters: Parameters) -> list[Any]: ...

    def query_all(self, queries: Sequence[tuple[str, Parameters]]) -> list[list[Any]]:
        return [self.query(sql, parameters) for sql, parameters in queries]

    def execute(self, sql: str, parameters: Parameters) -> None:
        self.query(sql, parameters)


class SQLiteSession(_Session):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        marks = ", ".join("?" * len(columns))
        self._connection.executemany(f"{insert_into(table, columns)} ({marks})", rows)


class DuckDBSession(_Session):
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        text, names = dollar(sql)
        self._connection.execute(text, {name: parameters[name] for name in names} or None)
        found: list[Any] = self._connection.fetchall() if self._connection.description else []
        return found

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        if len(rows) > _DUCKDB_ROWS and all(map(_is_plain, zip(*rows, strict=True))):
            self._insert_lists(table, columns, rows)
            return
        marks = f"({', '.join('?' * len(columns))})"
        for start in range(0, len(rows), _DUCKDB_ROWS):
            some = rows[start : start + _DUCKDB_ROWS]
            values = [value for row in some for value in row]
            many = ", ".join([marks] * len(some))
            self._connection.execute(f"{insert_into(table, columns)} {many}", values)

    def _insert_lists(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        """A parameter for each column, which is several times faster than one for each value."""
        into = insert_into(table, columns).removesuffix("VALUES")
        lists = ", ".join("unnest(?)" for _ in columns)
        for start in range(0, len(rows), _DUCKDB_LISTED):
            some = zip(*rows[start : start + _DUCKDB_LISTED], strict=True)
            self._connection.execute(f"{into} SELECT {lists}", [list(column) for column in some])


def _is_plain(column: Sequence[object]) -> bool:
    """Whether DuckDB makes a list of these without changing any."""
    kinds = set(map(type, column)) - {NoneType}
    return len(kinds) <= 1 and kinds <= _PLAIN


class EmbeddedDatabase:
    """A pool of connections to one file; a transaction has a connection to itself."""

    def __init__(self, url: CatalogUrl, *, read_only: bool) -> None:
        self._url = url
        self._read_only = read_only
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._scratch: Scratch | None = None

    @contextmanager
    def reading(self) -> Iterator[SQLiteSession | DuckDBSession]:
        with self._transaction("BEGIN") as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[SQLiteSession | DuckDBSession]:
        if self._url.kind == "sqlite":
            with self._transaction("BEGIN IMMEDIATE") as session:
                yield session
        else:
            with _DUCKDB_WRITERS[self._url], self._transaction("BEGIN") as session:
                yield session

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SQLiteSession | DuckDBSession]:
        connection = self._connection()
        try:
            connection.execute(begin)
            kind: Callable[[Any], SQLiteSession | DuckDBSession]
            kind = SQLiteSession if self._url.kind == "sqlite" else DuckDBSession
            yield kind(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)

    def _connection(self) -> Any:
        try:
            return self._idle.get_nowait()
        except Empty:
            return self._sqlite() if self._url.kind == "sqlite" else self._duckdb()

    def _sqlite(self) -> sqlite3.Connection:
        """A reader may have to undo what a writer was at when it was killed, so SQLite is told
        not to change anything rather than to open the file for reading only."""
        mode = "rw" if self._read_only else "rwc"
        connection = sqlite3.connect(
            f"file:{quote(str(self._url.path))}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        if self._read_only:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _duckdb(self) -> Any:
        self._scratch = _scratch_of(self._url)
        path = str(self._url.path)
        return duck.opened(path, scratch=self._scratch, read_only=self._read_only)

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return
