"""Statements on PostgreSQL, as few trips as can be. Those who listen are told of commits."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import sub
from typing import Any

from tidelake.catalog import cells
from tidelake.catalog.database.dialect import InlineColumn
from tidelake.catalog.database.postgresql import gather
from tidelake.catalog.database.statement import Marks, insert_into, marks, row_marks
from tidelake.errors import Unavailable
from tidelake.model.file import ManyRows
from tidelake.model.names import quote

CHANNEL = "SELECT hashtext(current_schema())"
"""What the lake's channel is called after: a database may have several lakes."""
_LOCK = "SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))"
_COMMITS = "ducklake_snapshot"
_PREPARABLE = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_MOST_PREPARED = 300
_MOST_SEEN = 1_000
_LONGEST_PREPARED = 4_000
_ROWS_AT_ONCE = 1_000
_WAITING = 20_000
"""Values that wait at most: more are sent before anybody asks."""
_KINDS: dict[type, str] = {bool: "bool", float: "float8", bytes: "bytea", datetime: "timestamptz"}
_SMALL = 1 << 31
_Key = tuple[str, tuple[str, ...]]
"""A statement, and the types of its values."""


def channel(schema: int | None) -> str:
    return quote(f"tidelake_{schema}")


class Statements:
    """The statements that one connection has prepared: those that have come before, with values of
    the same types. And the lake's channel there, once somebody has asked for it."""

    channel: str | None = None

    def __init__(self) -> None:
        self._names: dict[_Key, str] = {}
        self._seen: dict[_Key, None] = {}

    def spelled(self, said: Marks, values: Sequence[object]) -> list[str]:
        """The statement as it is to be sent, `%s` in the place of each value."""
        kinds = tuple(map(_kind, values))
        key = (said.numbered, kinds)
        if (name := self._names.get(key)) is not None:
            return [_execution(name, len(kinds))]
        if not self._is_worth_it(key):
            return [said.plain]
        name = self._names[key] = f"tidelake_{len(self._names)}"
        types = f" ({', '.join(kinds)})" if kinds else ""
        return [f"PREPARE {name}{types} AS {said.numbered}", _execution(name, len(kinds))]

    def _is_worth_it(self, key: _Key) -> bool:
        if key in self._seen:
            return len(self._names) < _MOST_PREPARED
        if len(key[0]) <= _LONGEST_PREPARED and _PREPARABLE.match(key[0]):
            self._seen[key] = None
            if len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        return False


def _execution(name: str, values: int) -> str:
    return f"EXECUTE {name} ({', '.join(['%s'] * values)})" if values else f"EXECUTE {name}"


def _kind(value: object) -> str:
    if type(value) is int:
        return "int4" if -_SMALL <= value < _SMALL else "int8"
    return _KINDS.get(type(value), "unknown")


class PostgreSQLSession:
    """What has no answer to wait for waits itself, and goes with the next statement that has, in
    one trip: the first with BEGIN, the last with COMMIT. So its errors come later too. Requires,
    after an error of the database, that the connection is closed."""

    def __init__(self, driver: Any, prepared: Statements, begin: str) -> None:
        self._driver = driver
        self._prepared = prepared
        self._waiting: list[tuple[Marks, Sequence[object]]] = [(_as_it_is(begin), ())]

    def lock(self) -> None:
        """Be the one who writes, until the transaction ends."""
        self._waiting.append((marks(_LOCK), ()))

    def query(self, sql: str, parameters: Mapping[str, object]) -> list[Any]:
        return self.query_all([(sql, parameters)])[0]

    def query_columns(self, sql: str, parameters: Mapping[str, object]) -> list[list[Any]]:
        return [list(cells) for cells in zip(*self.query(sql, parameters), strict=True)]

    def gather(
        self,
        table: str,
        kept: Sequence[InlineColumn],
        condition: str,
        parameters: Mapping[str, object],
    ) -> ManyRows | None:
        if self._driver.info.parameter_status("server_encoding") != "UTF8":
            return None
        return gather.rows_of(self._ask_for_bytes, table, kept, (condition, parameters))

    def _ask_for_bytes(self, sql: str, parameters: Mapping[str, object]) -> Any:
        """The one row of an answer, in which bytes are not spelled out."""
        from psycopg import Cursor

        if self._waiting:
            self.query("SELECT 1", {})
        said = marks(sql)
        values = [parameters[name] for name in said.names]
        return Cursor(self._driver).execute(said.plain, values, binary=True).fetchone()

    def query_all(self, queries: Sequence[tuple[str, Mapping[str, object]]]) -> list[list[Any]]:
        if not queries:
            return []
        for sql, parameters in queries:
            self._add(sql, parameters)
        answers = self._send(len(queries))
        return [_checked(sql, cursor) for (sql, _), cursor in zip(queries, answers, strict=True)]

    def execute(self, sql: str, parameters: Mapping[str, object]) -> None:
        self._add(sql, parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        if len(rows) == 1:
            self._waiting.append((row_marks(table, tuple(columns)), rows[0]))
        else:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                self._add_rows(table, columns, rows[start : start + _ROWS_AT_ONCE])
        if table == _COMMITS:
            told = _as_it_is(f"NOTIFY {self._channel()}")
            self._waiting.append((told, ()))

    def _channel(self) -> str:
        """Asked once for each connection. NOTIFY needs no privilege, as `pg_notify` does."""
        if self._prepared.channel is None:
            ((schema,),) = self.query(CHANNEL, {})
            self._prepared.channel = channel(schema)
        return self._prepared.channel

    def _add_rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        marked = f"({', '.join(['%s'] * len(columns))})"
        into = insert_into(table, columns).replace("%", "%%")
        text = f"{into} {', '.join([marked] * len(rows))}"
        self._waiting.append((_as_it_is(text), [value for row in rows for value in row]))
        if sum(len(values) for _, values in self._waiting) > _WAITING:
            deque(self._send(1), 0)

    def _add(self, sql: str, parameters: Mapping[str, object]) -> None:
        said = marks(sql)
        self._waiting.append((said, [parameters[name] for name in said.names]))

    def _send(self, wanted: int) -> Iterator[Any]:
        """What waits; the cursor at each of the last so many answers."""
        waiting, self._waiting = self._waiting, []
        texts: list[str] = []
        given: list[object] = []
        places = []
        for said, values in waiting:
            texts += self._prepared.spelled(said, values)
            places.append(len(texts) - 1)
            given += values
        cursor = self._driver.execute(";\n".join(texts), given)
        for skipped in map(sub, places[-wanted:], [0, *places[-wanted:]]):
            for _ in range(skipped):
                cursor.nextset()
            yield cursor

    def end(self) -> None:
        """Commit, or find out by an error that it cannot be."""
        self._waiting.append((_as_it_is("COMMIT"), ()))
        (cursor,) = self._send(1)
        if cursor.statusmessage != "COMMIT":
            raise Unavailable(
                "the database has undone the transaction", hint="try again", passing=True
            )


def _as_it_is(text: str) -> Marks:
    """A statement that is too long, or too rare, to be prepared."""
    return Marks("", text, ())


def _checked(sql: str, cursor: Any) -> list[Any]:
    rows: list[Any] = cursor.fetchall()
    if rows:
        answer = cursor.pgresult
        names = [answer.fname(place).decode() for place in range(answer.nfields)]
        cells.check(sql, names, rows, typed=True)
    return rows
