"""A process that keeps one SQLite database open for another, which talks to it over pipes.

It is started as a program of its own and imports nothing but the standard library. Each request
is a list of steps, done in order; the first that fails ends it. The database is closed, and what
was not committed is undone, when the other side is gone.
"""

from __future__ import annotations

import marshal
import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

LENGTH = 8
ROWS_AT_ONCE = 500


def send(out: BinaryIO, message: Any) -> None:
    data = marshal.dumps(message)
    out.write(len(data).to_bytes(LENGTH, "big") + data)
    out.flush()


def receive(source: BinaryIO) -> Any:
    """The next message. Raises EOFError when there is none to come."""
    head = source.read(LENGTH)
    size = int.from_bytes(head, "big")
    data = source.read(size) if len(head) == LENGTH else b""
    if len(head) < LENGTH or len(data) < size:
        raise EOFError
    return marshal.loads(data)


def by_column(cursor: sqlite3.Cursor) -> tuple[list[str], list[list[Any]]]:
    """The names of an answer's columns, and the values of each, if it has rows. There are never so
    many tuples at a time that Python would look for garbage among them."""
    names = [column[0] for column in cursor.description]
    columns: list[list[Any]] = [[] for _ in names]
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(cells)
    return names, columns if columns[0] else []


class KeptDatabase:
    """The database, if one is open."""

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None

    def open(self, uri: str, timeout: float, query_only: bool) -> None:
        self._connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
        if query_only:
            self._connection.execute("PRAGMA query_only = ON")

    def query(self, sql: str, parameters: Any) -> list[Any]:
        assert self._connection is not None
        return self._connection.execute(sql, parameters).fetchall()

    def ask(self, sql: str, parameters: Any) -> tuple[list[str], list[Any]]:
        """The names of an answer's columns, and its rows."""
        assert self._connection is not None
        cursor = self._connection.execute(sql, parameters)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()

    def columns(self, sql: str, parameters: Any) -> tuple[list[str], list[list[Any]]]:
        assert self._connection is not None
        return by_column(self._connection.execute(sql, parameters))

    def many(self, sql: str, rows: Any) -> None:
        assert self._connection is not None
        self._connection.executemany(sql, rows)

    def undo(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def answer(kept: KeptDatabase, request: list[tuple[str, tuple[Any, ...]]]) -> tuple[str, Any]:
    """What the steps gave, or what went wrong."""
    steps: dict[str, Callable[..., Any]] = {
        "open": kept.open,
        "query": kept.query,
        "ask": kept.ask,
        "columns": kept.columns,
        "many": kept.many,
        "undo": kept.undo,
        "close": kept.close,
    }
    try:
        return "done", [steps[name](*arguments) for name, arguments in request]
    except Exception as error:
        code = getattr(error, "sqlite_errorcode", None)
        return "failed", (type(error).__name__, str(error), code)


def serve(source: BinaryIO, out: BinaryIO) -> None:
    kept = KeptDatabase()
    try:
        while True:
            request = receive(source)
            send(out, answer(kept, request))
    except (EOFError, OSError):
        kept.close()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
    os._exit(0)
