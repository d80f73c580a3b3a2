"""Catalogs on a database server: PostgreSQL and MySQL, through SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelake.catalog import cells
from tidelake.catalog.database.statement import insert_into, pyformat
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import TidelakeError, Unavailable
from tidelake.model.extras import require
from tidelake.model.fork import keep_forever, tell_after_fork
from tidelake.model.names import quote

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CONNECT_TIMEOUT_S = 10
LOCK_WAIT_S = 60
POOL_SIZE = 5
"""How many connections a lake keeps."""
POOL_MORE = 10
"""How many more it opens while they are needed."""

Parameters = Mapping[str, object]

# One writer at a time. DuckDB does not take these locks; the primary key stops it instead.
_POSTGRES_LOCK = "SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))"
_MYSQL_LOCK = f"SELECT GET_LOCK(CONCAT('tidelake.', MD5(DATABASE())), {LOCK_WAIT_S})"
_MYSQL_UNLOCK = "SELECT RELEASE_LOCK(CONCAT('tidelake.', MD5(DATABASE())))"


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


class ServerDatabase:
    """Pooled connections. A read sees one moment; a write waits for the lake's lock first and
    then sees what its last holder committed, which is why it is READ COMMITTED."""

    def __init__(self, url: CatalogUrl, *, read_only: bool) -> None:
        self._kind = url.kind
        opener = {"postgresql": _postgresql, "mysql": _mysql}[url.kind]
        self._engine = opener(url, read_only)
        tell_after_fork(self)

    @contextmanager
    def reading(self) -> Iterator[ServerSession]:
        with self._connection() as connection, connection.begin():
            yield ServerSession(connection)

    @contextmanager
    def writing(self) -> Iterator[ServerSession]:
        with self._connection() as connection:
            connection.execution_options(isolation_level="READ COMMITTED")
            with self._alone(connection), connection.begin():
                session = ServerSession(connection)
                if self._kind == "mysql":
                    yield session
                    return
                driver: Any = connection.connection.driver_connection
                with driver.pipeline():  # what has no answer to wait for costs no trip
                    session.execute(_POSTGRES_LOCK, {})
                    yield session
                    driver.commit()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection that is closed, not given back, when something went wrong that may have
        left it in a bad state; on MySQL that also frees the lock."""
        with self._free_connection() as connection:
            try:
                yield connection
            except BaseException as error:
                if self._kind == "mysql" or not isinstance(error, TidelakeError):
                    connection.invalidate()
                raise

    def _free_connection(self) -> Connection:
        """Requires: the thread has none yet. Whoever has one needs no other, so it comes back."""
        from sqlalchemy.exc import TimeoutError as NoneFree

        try:
            return self._engine.connect()
        except NoneFree as error:
            raise Unavailable(
                f"all {POOL_SIZE + POOL_MORE} connections that this lake opens to its catalog have"
                f" been in use for {LOCK_WAIT_S} seconds",
                hint="use fewer threads at a time, or connect() once more for some of them",
            ) from error

    @contextmanager
    def _alone(self, connection: Connection) -> Iterator[None]:
        """MySQL's lock belongs to the session: it is taken before, and freed after, the
        transaction. PostgreSQL's ends with the transaction by itself."""
        if self._kind != "mysql":
            yield
            return
        taken = connection.exec_driver_sql(_MYSQL_LOCK).scalar()
        connection.commit()
        if taken != 1:
            raise Unavailable(
                f"the lake was busy for {LOCK_WAIT_S} seconds", hint="try again when it is quieter"
            )
        yield
        connection.exec_driver_sql(_MYSQL_UNLOCK)
        connection.commit()

    def close(self) -> None:
        self._engine.dispose()

    def after_fork(self) -> None:
        """The connections are the parent's. They are not closed, for the server would believe
        that the parent has."""
        keep_forever(self._engine.pool)
        self._engine.dispose(close=False)


def _postgresql(url: CatalogUrl, read_only: bool) -> Engine:
    require("psycopg", "a catalog on PostgreSQL")
    from sqlalchemy import create_engine

    settings = ["-c timezone=UTC", f"-c lock_timeout={LOCK_WAIT_S}s"]
    if read_only:
        settings.append("-c default_transaction_read_only=on")
    if url.schema:
        settings.append(f"-c search_path={_option(quote(url.schema))}")
    return create_engine(
        (url.url or "").replace("postgresql://", "postgresql+psycopg://", 1),
        isolation_level="REPEATABLE READ",
        pool_size=POOL_SIZE,
        max_overflow=POOL_MORE,
        pool_timeout=LOCK_WAIT_S,
        connect_args={
            "options": " ".join(settings),
            "connect_timeout": CONNECT_TIMEOUT_S,
            "prepare_threshold": 1,
        },
    )


def _option(text: str) -> str:
    """One word of libpq's options."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ")


def _mysql(url: CatalogUrl, read_only: bool) -> Engine:
    require("pymysql", "a catalog on MySQL")
    from sqlalchemy import create_engine, event

    engine = create_engine(
        (url.url or "").replace("mysql://", "mysql+pymysql://", 1),
        isolation_level="REPEATABLE READ",
        pool_size=POOL_SIZE,
        max_overflow=POOL_MORE,
        pool_timeout=LOCK_WAIT_S,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "charset": "utf8mb4"},
    )

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
            if read_only:
                cursor.execute("SET SESSION TRANSACTION READ ONLY")

    return engine
