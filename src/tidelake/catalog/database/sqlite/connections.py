"""Catalogs in an SQLite file, through Python's own driver.

Alone in its process, SQLite is called directly. Beside DuckDB's SQLite, or in a process that was
forked, it must not be: the file is then kept open by a process of its own. See `libraries`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from urllib.parse import quote

from tidelake.catalog import cells
from tidelake.catalog.database.dialect import InlineColumn
from tidelake.catalog.database.sqlite import arrays
from tidelake.catalog.database.sqlite.keeper import by_column
from tidelake.catalog.database.sqlite.keepers import IDLE_KEEPERS, Keeper, Step
from tidelake.catalog.database.sqlite.libraries import has_duckdb_sqlite
from tidelake.catalog.database.statement import insert_into
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import TidelakeError, Unavailable
from tidelake.model.file import GatheredRows
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.tuning import Tuning

Parameters = Mapping[str, object]
_SHRINK = ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
_ROWS_AT_ONCE, _VALUES_AT_ONCE = 50, 900
"""In one statement; the oldest SQLite takes 999 values."""
_TIMES = 90
"""If a statement runs so often, it is found out what all its rows share."""
_PLAIN_NUMBER = 1 << 53
_THREADS = min(4, os.cpu_count() or 1)
"""That read many rows at once."""
Kind = TypeVar("Kind")


class _Surroundings:
    """Whether a database may be opened in this process. What SQLite knows of the locks that it
    holds is wrong in a child that was forked, and stays so."""

    def __init__(self) -> None:
        self.has_opened = False
        self._forked = False
        tell_after_fork(self)

    @property
    def are_shared(self) -> bool:
        return self._forked or has_duckdb_sqlite()

    def after_fork(self) -> None:
        self._forked = self._forked or self.has_opened


_SURROUNDINGS = _Surroundings()


class _Connection(sqlite3.Connection):
    """A connection of this process. Once it has company it is never closed: that would drop the
    locks of the others. And what the parent of this process was at is not ours to undo."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pid = os.getpid()

    def close(self) -> None:
        if not _SURROUNDINGS.are_shared:
            super().close()
            return
        keep_forever(self)
        if self.in_transaction and self._pid == os.getpid():
            self.execute("ROLLBACK")

    def __del__(self) -> None:
        if _SURROUNDINGS.are_shared:
            keep_forever(self)


class SQLiteSession:
    """A transaction in this process. `beside` opens others that see the same moment."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        beside: Callable[[sqlite3.Connection], AbstractContextManager[Sequence[sqlite3.Connection]]]
        | None = None,
    ) -> None:
        self._connection = connection
        self._beside = beside

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        cursor = self._connection.execute(sql, parameters)
        rows = cursor.fetchall()
        if rows:
            cells.check(sql, [column[0] for column in cursor.description], rows, typed=False)
        return rows

    def query_columns(self, sql: str, parameters: Parameters) -> list[list[Any]]:
        names, columns = by_column(self._connection.execute(sql, parameters))
        cells.check_columns(sql, names, columns)
        return columns

    def gather(
        self, table: str, kept: Sequence[InlineColumn], condition: str, parameters: Parameters
    ) -> GatheredRows | None:
        with self._beside(self._connection) if self._beside else nullcontext(()) as others:
            asks = [self.query, *(SQLiteSession(other).query for other in others)]
            return arrays.rows_of(asks, table, kept, condition, parameters)

    def query_all(self, queries: Sequence[tuple[str, Parameters]]) -> list[list[Any]]:
        return [self.query(sql, parameters) for sql, parameters in queries]

    def execute(self, sql: str, parameters: Parameters) -> None:
        self.query(sql, parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        for sql, values in _insert(table, columns, rows):
            self._connection.executemany(sql, values)


class KeptSession:
    """A transaction in another process. What has no answer to wait for goes with the next that
    has."""

    def __init__(self, keeper: Keeper, begin: str) -> None:
        self._keeper = keeper
        self._ahead: list[Step] = [("query", (begin, {}))]

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        return self.query_all([(sql, parameters)])[0]

    def query_columns(self, sql: str, parameters: Parameters) -> list[list[Any]]:
        ((names, columns),) = self._answers([("columns", (sql, dict(parameters)))])
        cells.check_columns(sql, names, columns)
        found: list[list[Any]] = columns
        return found

    def gather(
        self, table: str, kept: Sequence[InlineColumn], condition: str, parameters: Parameters
    ) -> GatheredRows | None:
        return arrays.rows_of([self.query], table, kept, condition, parameters)

    def query_all(self, queries: Sequence[tuple[str, Parameters]]) -> list[list[Any]]:
        answers = self._answers([("ask", (sql, dict(values))) for sql, values in queries])
        for (sql, _), (names, rows) in zip(queries, answers, strict=True):
            cells.check(sql, names, rows, typed=False)
        return [rows for _, rows in answers]

    def _answers(self, steps: list[Step]) -> list[Any]:
        ahead, self._ahead = self._ahead, []
        return self._keeper.run([*ahead, *steps])[len(ahead) :]

    def leave(self) -> None:
        """The end of a transaction that has changed nothing."""
        if not self._ahead:  # else it was not even begun
            self._keeper.tell(("query", ("COMMIT", {})))

    def execute(self, sql: str, parameters: Parameters) -> None:
        self._ahead.append(("query", (sql, dict(parameters))))

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        for sql, values in _insert(table, columns, rows):
            self._ahead.append(("many", (sql, values)))


def _insert(
    table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> Iterator[tuple[str, Iterable[tuple[object, ...]]]]:
    """Statements, and the values for each time that they run. A statement for many rows takes half
    as long for each of them; so does one that says itself what all of very many share."""
    names = tuple(columns)
    marks = ("?",) * len(names)
    at_once = max(1, min(_ROWS_AT_ONCE, _VALUES_AT_ONCE // len(names)))
    whole = len(rows) - len(rows) % at_once
    for start in range(0, whole, at_once * _TIMES):
        some = rows[start : min(start + at_once * _TIMES, whole)]
        if len(some) == at_once * _TIMES:
            yield _insert_alike(table, names, some, at_once)
        else:
            starts = range(0, len(some), at_once)
            parts = [tuple(chain.from_iterable(some[n : n + at_once])) for n in starts]
            yield _insert_of(table, names, marks, at_once), parts
    if whole < len(rows):
        yield _insert_of(table, names, marks, 1), [tuple(row) for row in rows[whole:]]


def _insert_alike(
    table: str, columns: tuple[str, ...], rows: Sequence[Sequence[object]], at_once: int
) -> tuple[str, list[tuple[object, ...]]]:
    by_column = list(zip(*rows, strict=True))
    marks = tuple(map(_mark, by_column))
    bound = [cells for cells, mark in zip(by_column, marks, strict=True) if mark == "?"]
    values = chain.from_iterable(zip(*bound, strict=True))
    each, times = at_once * len(bound), len(rows) // at_once
    return _insert_of(table, columns, marks, at_once), [
        tuple(islice(values, each)) for _ in range(times)
    ]


def _mark(cells: Sequence[object]) -> str:
    """What a statement says for a column: the value itself if all are NULL, or one number."""
    first = cells[0]
    if first is not None and (type(first) is not int or abs(first) > _PLAIN_NUMBER):
        return "?"
    if cells[-1] != first or cells.count(first) < len(cells) or len(set(map(type, cells))) > 1:
        return "?"
    return "NULL" if first is None else str(first)


@lru_cache(maxsize=256)
def _insert_of(table: str, columns: tuple[str, ...], marks: tuple[str, ...], rows: int) -> str:
    one = f"({', '.join(marks)})"
    return f"{insert_into(table, columns)} {', '.join([one] * rows)}"


class SQLiteDatabase:
    """A pool of connections to one file; a transaction has a connection to itself."""

    ear = None

    def __init__(self, url: CatalogUrl, tuning: Tuning, *, read_only: bool) -> None:
        self._busy_timeout_s = tuning.busy_timeout_s
        self._uri = f"file:{quote(str(url.path))}?mode={'rw' if read_only else 'rwc'}"
        self._read_only = read_only
        self._idle: SimpleQueue[_Connection] = SimpleQueue()
        self._keepers: SimpleQueue[Keeper] = SimpleQueue()
        tell_after_fork(self)

    @contextmanager
    def reading(self) -> Iterator[SQLiteSession | KeptSession]:
        if _SURROUNDINGS.are_shared:
            with self._kept("BEGIN") as session:
                yield session
                session.leave()
            return
        with self._connection() as connection:
            connection.execute("BEGIN")
            yield SQLiteSession(connection, self._beside)
            connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[SQLiteSession | KeptSession]:
        if _SURROUNDINGS.are_shared:
            with self._kept("BEGIN IMMEDIATE") as kept:
                yield kept
                kept.query("COMMIT", {})
            return
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield SQLiteSession(connection)
            _check_alone()
            connection.execute("COMMIT")
            _check_alone()

    @contextmanager
    def _connection(self) -> Iterator[_Connection]:
        connection = _next(self._idle) or self._opened()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)

    @contextmanager
    def _beside(self, reader: sqlite3.Connection) -> Iterator[Sequence[sqlite3.Connection]]:
        """Connections for other threads that see what this one sees, which has read already. As
        long as it reads, nobody can change the file; with a write-ahead log somebody can, and then
        there are none."""
        ((journal,),) = reader.execute("PRAGMA journal_mode").fetchall()
        others: list[_Connection] = []
        try:
            while journal != "wal" and len(others) < _THREADS - 1:
                other = self._opened(timeout=0)
                others.append(other)
                other.execute("BEGIN")
                other.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.OperationalError:  # a writer waits for us, and lets nobody else begin
            if others:
                others.pop().close()
        try:
            yield others
        finally:
            for other in others:
                other.close()

    def _opened(self, timeout: float | None = None) -> _Connection:
        """A reader may have to undo what a writer was at when it was killed, so SQLite is told
        not to change anything rather than to open the file for reading only."""
        _SURROUNDINGS.has_opened = True
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            timeout=self._busy_timeout_s if timeout is None else timeout,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        if self._read_only:
            connection.execute("PRAGMA query_only = ON")
        return connection

    @contextmanager
    def _kept(self, begin: str) -> Iterator[KeptSession]:
        keeper = self._keeper()
        try:
            session = KeptSession(keeper, begin)
            yield session
        except BaseException:
            self._undo(keeper)
            raise
        self._keepers.put(keeper)

    def _keeper(self) -> Keeper:
        while (kept := _next(self._keepers)) is not None:
            if kept.is_ours:
                return kept
        keeper = IDLE_KEEPERS.take()
        try:
            keeper.run([("open", (self._uri, self._busy_timeout_s, self._read_only))])
        except sqlite3.Error:
            IDLE_KEEPERS.give_back(keeper)
            raise
        return keeper

    def _undo(self, keeper: Keeper) -> None:
        """After an error, whatever it was."""
        try:
            if keeper.is_ours:
                keeper.run([("undo", ())])
                self._keepers.put(keeper)
        except (sqlite3.Error, TidelakeError):
            keeper.end()

    def shrink(self, _tables: Sequence[str]) -> None:
        """The whole file: SQLite gives pages back, and does not clear them."""
        if _SURROUNDINGS.are_shared:
            keeper = self._keeper()
            try:
                keeper.run([("query", (sql, {})) for sql in _SHRINK])
            except BaseException:
                self._undo(keeper)
                raise
            self._keepers.put(keeper)
            return
        with self._connection() as connection:
            for sql in _SHRINK:
                connection.execute(sql).fetchall()

    def close(self) -> None:
        while (connection := _next(self._idle)) is not None:
            connection.close()
        while (keeper := _next(self._keepers)) is not None:
            _let_go(keeper)

    def after_fork(self) -> None:
        """Connections of the parent are neither used nor closed; the queues may be in the middle
        of something."""
        keep_forever(self._idle)
        self._idle, self._keepers = SimpleQueue(), SimpleQueue()


def _let_go(keeper: Keeper) -> None:
    try:
        keeper.run([("close", ())])
    except (sqlite3.Error, TidelakeError):
        keeper.end()
    else:
        IDLE_KEEPERS.give_back(keeper)


def _next(queue: SimpleQueue[Kind]) -> Kind | None:
    try:
        return queue.get_nowait()
    except Empty:
        return None


def _check_alone() -> None:
    """Once DuckDB's library is here, what was begun before is not to be trusted: our lock may be
    gone already. Whether it has landed, a commit finds out by its mark."""
    if has_duckdb_sqlite():
        raise Unavailable(
            "DuckDB opened SQLite files in this process while this was written",
            hint="try again",
            passing=True,
        )
