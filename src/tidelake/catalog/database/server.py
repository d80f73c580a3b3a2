"""Catalogs on a database server, through SQLAlchemy: what PostgreSQL and MySQL have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from tidelake.catalog import cells
from tidelake.catalog.database.backend import Ear, Session
from tidelake.catalog.database.dialect import InlineColumn
from tidelake.catalog.database.statement import insert_into, pyformat
from tidelake.errors import TidelakeError, Unavailable
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.names import quote
from tidelake.model.tuning import Tuning

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, PoolProxiedConnection
    from sqlalchemy.engine.interfaces import IsolationLevel

CONNECT_TIMEOUT_S = 10

Parameters = Mapping[str, object]
Taken = TypeVar("Taken", "Connection", "PoolProxiedConnection")
"""Of the pool, with SQLAlchemy's transactions or without."""


class ServerSession:
    """Statements go straight to the driver: SQLAlchemy has the connections and the transactions,
    and would double the time of a small statement."""

    def __init__(self, connection: Connection) -> None:
        self._driver: Any = connection.connection.driver_connection

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        return self.query_all([(sql, parameters)])[0]

    def query_columns(self, sql: str, parameters: Parameters) -> list[list[Any]]:
        return [list(cells) for cells in zip(*self.query(sql, parameters), strict=True)]

    def gather(
        self, _table: str, _kept: Sequence[InlineColumn], _condition: str, _parameters: Parameters
    ) -> None:
        return None

    def query_all(self, queries: Sequence[tuple[str, Parameters]]) -> list[list[Any]]:
        cursors = [self._driver.cursor() for _ in queries]
        for cursor, (sql, parameters) in zip(cursors, queries, strict=True):
            cursor.execute(pyformat(sql), dict(parameters))
        return [_checked(sql, cursor) for (sql, _), cursor in zip(queries, cursors, strict=True)]

    def execute(self, sql: str, parameters: Parameters) -> None:
        self._driver.cursor().execute(pyformat(sql), dict(parameters))

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        marks = ", ".join(["%s"] * len(columns))
        text = f"{insert_into(table, columns).replace('%', '%%')} ({marks})"
        cursor = self._driver.cursor()
        if len(rows) == 1:
            cursor.execute(text, tuple(rows[0]))
        else:
            cursor.executemany(text, [tuple(row) for row in rows])


def _checked(sql: str, cursor: Any) -> list[Any]:
    rows = list(cursor.fetchall())
    if rows:
        cells.check(sql, [column[0] for column in cursor.description], rows, typed=True)
    return rows


class ServerDatabase(ABC):
    """Pooled connections."""

    lock_outlives_transaction = False
    """Whether the lock lasts until it is freed, or the connection closed."""

    ear: Ear | None = None

    def __init__(self, engine: Engine, tuning: Tuning) -> None:
        self._engine = engine
        self.tuning = tuning
        tell_after_fork(self)

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one moment."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A transaction that waits for the lake's lock first and then sees what its last holder
        committed, which is why it is READ COMMITTED. DuckDB does not take that lock; the primary
        key stops it instead. It commits at the end."""

    rewrite: str
    """The statement that writes a table {} anew."""
    waits: tuple[str, str]
    """Statements after which a connection waits for locks only briefly, and as usual again."""

    def shrink(self, tables: Sequence[str]) -> None:
        """Nobody can read a table while this waits for it, so it does not wait for long."""
        briefly, as_usual = self.waits
        with self._connection() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            for sql in (briefly, *(self.rewrite.format(quote(name)) for name in tables), as_usual):
                connection.exec_driver_sql(sql).close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with self._free(self._engine.connect) as connection:
            yield connection

    @contextmanager
    def _free(self, take: Callable[[], Taken]) -> Iterator[Taken]:
        """A connection that is closed, not given back, when something went wrong that may have
        left it in a bad state; that also frees a lock of the session. Requires: the thread has
        none yet. Whoever has one needs no other, so it comes back."""
        connection = self._taken(take)
        try:
            yield connection
        except BaseException as error:
            if self.lock_outlives_transaction or not isinstance(error, TidelakeError):
                connection.invalidate()
            raise
        finally:
            connection.close()

    def _taken(self, take: Callable[[], Taken]) -> Taken:
        from sqlalchemy.exc import TimeoutError as NoneFree

        try:
            return take()
        except NoneFree as error:
            most, wait_s = self.tuning.pool_size + self.tuning.pool_more, self.tuning.lock_wait_s
            raise Unavailable(
                f"all {most} connections that this lake opens to its catalog have"
                f" been in use for {wait_s} seconds",
                hint="use fewer threads at a time, or connect() once more for some of them",
            ) from error

    def close(self) -> None:
        self._engine.dispose()

    def after_fork(self) -> None:
        """The connections are the parent's. They are not closed, for the server would believe
        that the parent has."""
        keep_forever(self._engine.pool)
        self._engine.dispose(close=False)


def pool_of(
    url: str, tuning: Tuning, *, isolation_level: IsolationLevel, **options: object
) -> Engine:
    """The connections to a database; `options` are its driver's."""
    from sqlalchemy import create_engine

    return create_engine(
        url,
        isolation_level=isolation_level,
        pool_size=tuning.pool_size,
        max_overflow=tuning.pool_more,
        pool_timeout=tuning.lock_wait_s,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, **options},
    )
