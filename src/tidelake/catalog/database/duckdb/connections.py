"""Catalogs in a DuckDB file, which one process has to itself."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import RLock
from types import NoneType
from typing import Any
from weakref import WeakValueDictionary

from tidelake import duck
from tidelake.catalog import cells
from tidelake.catalog.database.dialect import InlineColumn
from tidelake.catalog.database.statement import dollar, insert_into
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import Unavailable
from tidelake.model.file import ArrowRows
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.names import quote
from tidelake.model.tuning import Tuning
from tidelake.scratch import Scratch

_ROWS = 200
_LISTED = 10_000
_NUMBERS = 2
"""Row ids and snapshots, which stay what they are."""
_PLAIN = {bool, int, str, bytes}

Parameters = Mapping[str, object]


class _Files:
    """Locks by file: two writers in one would abort each other. A lock for opening and closing:
    DuckDB cannot open a file while its last connection to it is being closed. And the files that
    were open when this process was forked: DuckDB would go on with what it knew of them, without a
    lock and without its threads."""

    def __init__(self) -> None:
        self._locks: defaultdict[CatalogUrl, RLock] = defaultdict(RLock)
        self.opening = RLock()
        self._scratch: WeakValueDictionary[tuple[int, CatalogUrl], Scratch] = WeakValueDictionary()
        self.inherited: set[CatalogUrl] = set()
        tell_after_fork(self)

    def alone(self, url: CatalogUrl) -> RLock:
        return self._locks[url]

    def scratch(self, url: CatalogUrl) -> Scratch:
        """All connections of a process to a DuckDB file share one DuckDB, so one place to spill
        to. Requires: the lock for opening."""
        here = (os.getpid(), url)
        found = self._scratch.get(here) or Scratch()
        self._scratch[here] = found
        return found

    def after_fork(self) -> None:
        self._locks = defaultdict(RLock)
        self.opening = RLock()


_FILES = _Files()


class DuckDBSession:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        text, names = dollar(sql)
        self._connection.execute(text, {name: parameters[name] for name in names} or None)
        described = self._connection.description
        found: list[Any] = self._connection.fetchall() if described else []
        if found:
            cells.check(sql, [column[0] for column in described], found, typed=True)
        return found

    def query_columns(self, sql: str, parameters: Parameters) -> list[list[Any]]:
        return [list(cells) for cells in zip(*self.query(sql, parameters), strict=True)]

    def gather(
        self, table: str, kept: Sequence[InlineColumn], condition: str, parameters: Parameters
    ) -> ArrowRows | None:
        chosen = ", ".join(f"{each.sql} AS c{place}" for place, each in enumerate(kept))
        sql = f"SELECT {chosen} FROM {quote(table)} WHERE {condition}"
        text, names = dollar(sql)
        given = {name: parameters[name] for name in names}
        found = duck.arrow_source(self._connection, text, given or None).to_arrow_table()
        row_ids, snapshots = found.column(0), found.column(1)
        if row_ids.null_count or snapshots.null_count:
            return None
        ids = row_ids.to_numpy()
        in_order = (ids[1:] >= ids[:-1]).all()
        return ArrowRows(found if in_order else found.sort_by("c0"), _spelled)

    def query_all(self, queries: Sequence[tuple[str, Parameters]]) -> list[list[Any]]:
        return [self.query(sql, parameters) for sql, parameters in queries]

    def execute(self, sql: str, parameters: Parameters) -> None:
        self.query(sql, parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        if len(rows) > _ROWS and all(map(_is_plain, zip(*rows, strict=True))):
            self._insert_lists(table, columns, rows)
            return
        marks = f"({', '.join('?' * len(columns))})"
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            values = [value for row in some for value in row]
            many = ", ".join([marks] * len(some))
            self._connection.execute(f"{insert_into(table, columns)} {many}", values)

    def _insert_lists(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        """A parameter for each column, which is several times faster than one for each value."""
        into = insert_into(table, columns).removesuffix("VALUES")
        lists = ", ".join("unnest(?)" for _ in columns)
        for start in range(0, len(rows), _LISTED):
            some = zip(*rows[start : start + _LISTED], strict=True)
            self._connection.execute(f"{into} SELECT {lists}", [list(column) for column in some])


def _spelled(rows: Any) -> Any:
    """An Arrow table with DuckDB's text for all but the first two columns."""
    chosen = [
        name if place < _NUMBERS else f"CAST({name} AS VARCHAR)"
        for place, name in enumerate(rows.column_names)
    ]
    with duck.open_duckdb() as connection:
        duck.settle(connection).register("kept", rows)
        sql = f"SELECT {', '.join(chosen)} FROM kept"
        return duck.arrow_source(connection, sql).to_arrow_table()


def _is_plain(column: Sequence[object]) -> bool:
    """Whether DuckDB makes a list of these without changing any."""
    kinds = set(map(type, column)) - {NoneType}
    return len(kinds) <= 1 and kinds <= _PLAIN


class DuckDBDatabase:
    """A pool of connections to one file; a transaction has a connection to itself."""

    ear = None

    def __init__(self, url: CatalogUrl, _: Tuning, *, read_only: bool) -> None:
        self._url = url
        self._read_only = read_only
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._open: set[Any] = set()
        self._scratch: Scratch | None = None
        tell_after_fork(self)

    @contextmanager
    def reading(self) -> Iterator[DuckDBSession]:
        connection = self._connection()
        try:
            connection.execute("BEGIN")
            yield DuckDBSession(connection)
            connection.execute("COMMIT")
        except BaseException:
            self._end(connection)
            raise
        self._idle.put(connection)

    @contextmanager
    def writing(self) -> Iterator[DuckDBSession]:
        with _FILES.alone(self._url), self.reading() as session:
            yield session

    def shrink(self, _tables: Sequence[str]) -> None:
        """DuckDB writes its log into the file, and gives blocks back at the end of it. It does not
        clear blocks that it will use again."""
        with _FILES.alone(self._url):
            connection = self._connection()
            try:
                connection.execute("CHECKPOINT")
            except BaseException:
                self._end(connection)
                raise
            self._idle.put(connection)

    def _connection(self) -> Any:
        try:
            return self._idle.get_nowait()
        except Empty:
            return self._opened()

    def _opened(self) -> Any:
        self._check_not_inherited()
        path = str(self._url.path)
        with _FILES.opening:
            self._scratch = _FILES.scratch(self._url)
            connection = duck.open_duckdb(path, scratch=self._scratch, read_only=self._read_only)
        self._open.add(connection)
        return connection

    def _check_not_inherited(self) -> None:
        if self._url in _FILES.inherited:
            raise Unavailable(
                f"the catalog {self._url} was open when this process was forked, and a DuckDB"
                " file admits one process at a time",
                hint="close the lake before the fork, start processes with spawn, or keep the"
                " catalog in SQLite or PostgreSQL",
            )

    def _end(self, connection: Any) -> None:
        self._open.discard(connection)
        with _FILES.opening:
            connection.close()

    def close(self) -> None:
        while True:
            try:
                self._end(self._idle.get_nowait())
            except Empty:
                return

    def after_fork(self) -> None:
        """To close DuckDB here would write into the parent's file."""
        if self._open:
            keep_forever(self._open)
            _FILES.inherited.add(self._url)
        self._idle, self._open = SimpleQueue(), set()
