"""Catalogs on a database server, through SQLAlchemy: what PostgreSQL and MySQL have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from tidelake.catalog import cells
from tidelake.catalog.database.backend import Ear
from tidelake.catalog.database.statement import insert_into, pyformat
from tidelake.errors import TidelakeError, Unavailable
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.names import quote
from tidelake.model.tuning import Tuning

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CONNECT_TIMEOUT_S = 10

Parameters = Mapping[str, object]


class ServerSession:
    """Statements go straight to the driver: SQLAlchemy has the connections and the transactions,
    and would double the time of a small statement."""

    def __init__(self, connection: Connection) -> None:
        self._driver: Any = connection.connection.driver_connection

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        return self.query_all([(sql, parameters)])[0]

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
    """Pooled connections. A read sees one moment; a write waits for the lake's lock first and
    then sees what its last holder committed, which is why it is READ COMMITTED. DuckDB does not
    take that lock; the primary key stops it instead."""

    lock_outlives_transaction = False
    """Whether the lock lasts until it is freed, or the connection closed."""

    ear: Ear | None = None

    def __init__(self, engine: Engine, tuning: Tuning) -> None:
        self._engine = engine
        self.tuning = tuning
        tell_after_fork(self)

    @contextmanager
    def reading(self) -> Iterator[ServerSession]:
        with self._connection() as connection, connection.begin():
            yield self.session_of(connection)

    def session_of(self, connection: Connection) -> ServerSession:
        """How statements reach the driver."""
        return ServerSession(connection)

    @contextmanager
    def writing(self) -> Iterator[ServerSession]:
        with self._connection() as connection:
            connection.execution_options(isolation_level="READ COMMITTED")
            with self.alone(connection) as session:
                yield session

    @abstractmethod
    def alone(self, connection: Connection) -> AbstractContextManager[ServerSession]:
        """A transaction with the lake's lock, which commits at the end."""

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
        """A connection that is closed, not given back, when something went wrong that may have
        left it in a bad state; that also frees a lock of the session."""
        with self._free_connection() as connection:
            try:
                yield connection
            except BaseException as error:
                if self.lock_outlives_transaction or not isinstance(error, TidelakeError):
                    connection.invalidate()
                raise

    def _free_connection(self) -> Connection:
        """Requires: the thread has none yet. Whoever has one needs no other, so it comes back."""
        from sqlalchemy.exc import TimeoutError as NoneFree

        try:
            return self._engine.connect()
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


def pool_of(url: str, tuning: Tuning, **options: object) -> Engine:
    """The connections to a database; `options` are its driver's."""
    from sqlalchemy import create_engine

    return create_engine(
        url,
        isolation_level="REPEATABLE READ",
        pool_size=tuning.pool_size,
        max_overflow=tuning.pool_more,
        pool_timeout=tuning.lock_wait_s,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, **options},
    )
