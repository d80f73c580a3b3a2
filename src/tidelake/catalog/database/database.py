"""The door to the catalog's database: transactions, and errors in our own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import local
from typing import Any

from tidelake.catalog.database.backend import Connections, Query, Session
from tidelake.catalog.database.backends import BACKENDS, DRIVERS
from tidelake.catalog.database.dialect import Dialect, InlineColumn
from tidelake.catalog.database.failures import translate_driver_errors
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import Denied, NotFound
from tidelake.model.file import ManyRows
from tidelake.model.tuning import Tuning

Row = Any


class Reader:
    """One transaction on the catalog that sees a single moment of it."""

    def __init__(self, session: Session, dialect: Dialect) -> None:
        self._session = session
        self.dialect = dialect

    def rows(self, sql: str, **parameters: object) -> list[Row]:
        return self._session.query(sql, parameters)

    def columns(self, sql: str, **parameters: object) -> list[list[Any]]:
        """The values of each column of an answer, which for many rows takes less than `rows`;
        nothing if there are no rows."""
        return self._session.query_columns(sql, parameters)

    def gather(
        self,
        table: str,
        kept: Sequence[InlineColumn],
        condition: str,
        parameters: Mapping[str, object],
    ) -> ManyRows | None:
        """Many rows of a table for small writes, where they are to be had together."""
        return self._session.gather(table, kept, condition, parameters)

    def rows_of(self, queries: Sequence[Query]) -> list[list[Row]]:
        """The rows of several queries, in one trip where the database allows it."""
        return self._session.query_all(queries)

    def row(self, sql: str, **parameters: object) -> Row | None:
        return next(iter(self.rows(sql, **parameters)), None)

    def has_table(self, name: str) -> bool:
        return self.dialect.has_table(self.rows, name)

    def has_index(self, name: str) -> bool:
        return self.row(self.dialect.index_exists, name=name) is not None


class Writer(Reader):
    """One transaction that may change the catalog."""

    def execute(self, sql: str, **parameters: object) -> None:
        self._session.execute(sql, parameters)

    def insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Requires: all rows name the same columns, in the same order."""
        if rows:
            self.insert_values(table, list(rows[0]), [list(row.values()) for row in rows])

    def insert_values(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        if rows:
            self._session.insert(table, columns, rows)


class Database:
    """A catalog database. Connections are pooled; `close` gives them all back. Whatever is asked of
    the database goes through `connections`: whoever wants to listen in may put others there."""

    def __init__(
        self, url: CatalogUrl, *, read_only: bool = False, tuning: Tuning | None = None
    ) -> None:
        self.url = url
        self.tuning = tuning or Tuning()
        self._backend = BACKENDS[url.kind]
        self.dialect = self._backend.dialect
        self.read_only = read_only
        if url.path is not None and not url.path.exists():
            self._check_creatable()
        self.connections: Connections = self._backend.connect(url, self.tuning, read_only=read_only)
        self._mine = local()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in this process or another, has connections of its own."""
        return _again, (self.url, self.read_only, self.tuning)

    def _check_creatable(self) -> None:
        path = self.url.path
        assert path is not None
        if self.read_only:
            raise NotFound(
                f"there is no catalog at {self.url}",
                hint="check the path; `tidelake init` creates a lake",
            )
        if not path.parent.is_dir():
            raise NotFound(
                f"the folder {path.parent} does not exist", hint=f"mkdir -p {path.parent}"
            )

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """A transaction in which every query sees the same moment: that which this thread is in,
        else a new one."""
        if (session := self._held()) is not None:
            yield Reader(session, self.dialect)
            return
        with self._told(), self.connections.reading() as session, self._holding(session):
            yield Reader(session, self.dialect)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction that commits at the end, or leaves no trace if the body raises."""
        if self.read_only:
            raise Denied(f"{self.url} was opened read-only", hint="connect without read_only=True")
        assert self._held() is None, "a write inside of a transaction would wait for itself"
        with self._told(), self.connections.writing() as session, self._holding(session):
            yield Writer(session, self.dialect)

    def shrink(self, tables: Sequence[str]) -> None:
        """Be rid of what the database still has of rows that were deleted from these tables.
        Requires: this thread is in no transaction."""
        assert self._held() is None, "a transaction keeps what others have deleted"
        with self._told():
            self.connections.shrink(tables)

    def _told(self) -> AbstractContextManager[None]:
        """Errors in our own words."""
        return translate_driver_errors(self.url, self._backend.failure_of, DRIVERS)

    def _held(self) -> Session | None:
        """The transaction that this thread is in. What it reads meanwhile it reads there: were
        everybody to hold one connection and to wait for another, nobody would get it."""
        return getattr(self._mine, "session", None)

    @contextmanager
    def _holding(self, session: Session) -> Iterator[None]:
        self._mine.session = session
        try:
            yield
        finally:
            self._mine.session = None

    def close(self) -> None:
        self.connections.close()


def _again(url: CatalogUrl, read_only: bool, tuning: Tuning) -> Database:
    return Database(url, read_only=read_only, tuning=tuning)
