"""Catalogs on a database server: PostgreSQL and MySQL, through SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from tidelake.catalog.statement import insert_into, pyformat
from tidelake.catalog.url import CatalogUrl
from tidelake.errors import Unavailable
from tidelake.model.extras import require

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CONNECT_TIMEOUT_S = 10
LOCK_WAIT_S = 60

Parameters = Mapping[str, object]

# One writer at a time. DuckDB does not take these locks; the primary key stops it instead.
_POSTGRES_LOCK = "SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))"
_MYSQL_LOCK = f"SELECT GET_LOCK(CONCAT('tidelake.', MD5(DATABASE())), {LOCK_WAIT_S})"
_MYSQL_UNLOCK = "SELECT RELEASE_LOCK(CONCAT('tidelake.', MD5(DATABASE())))"


class ServerSession:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def query(self, sql: str, parameters: Parameters) -> list[Any]:
        found = self._connection.exec_driver_sql(pyformat(sql), dict(parameters))
        return list(found) if found.returns_rows else []

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        marks = ", ".join(["%s"] * len(columns))
        text = f"{insert_into(table, columns).replace('%', '%%')} ({marks})"
        values = [tuple(row) for row in rows]
        self._connection.exec_driver_sql(text, values if len(values) > 1 else values[0])

    def together(self) -> AbstractContextManager[None]:
        driver = self._connection.connection.driver_connection
        pipeline = getattr(driver, "pipeline", nullcontext)
        return cast(AbstractContextManager[None], pipeline())


class ServerDatabase:
    """Pooled connections. A read sees one moment; a write waits for the lake's lock first and
    then sees what its last holder committed, which is why it is READ COMMITTED."""

    def __init__(self, url: CatalogUrl, *, read_only: bool) -> None:
        self._kind = url.kind
        opener = {"postgresql": _postgresql, "mysql": _mysql}[url.kind]
        self._engine = opener(url, read_only)

    @contextmanager
    def reading(self) -> Iterator[ServerSession]:
        with self._engine.connect() as connection, connection.begin():
            yield ServerSession(connection)

    @contextmanager
    def writing(self) -> Iterator[ServerSession]:
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level="READ COMMITTED")
            with self._alone(connection), connection.begin():
                if self._kind == "postgresql":
                    connection.exec_driver_sql(_POSTGRES_LOCK)
                yield ServerSession(connection)

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
        try:
            yield
        finally:
            connection.rollback()
            connection.exec_driver_sql(_MYSQL_UNLOCK)
            connection.commit()

    def close(self) -> None:
        self._engine.dispose()


def _postgresql(url: CatalogUrl, read_only: bool) -> Engine:
    require("psycopg", "a catalog on PostgreSQL")
    from sqlalchemy import create_engine

    settings = ["-c timezone=UTC"]
    if read_only:
        settings.append("-c default_transaction_read_only=on")
    if url.schema:
        settings.append(f"-c search_path={url.schema}")
    return create_engine(
        (url.url or "").replace("postgresql://", "postgresql+psycopg://", 1),
        isolation_level="REPEATABLE READ",
        connect_args={"options": " ".join(settings), "connect_timeout": CONNECT_TIMEOUT_S},
    )


def _mysql(url: CatalogUrl, read_only: bool) -> Engine:
    require("pymysql", "a catalog on MySQL")
    from sqlalchemy import create_engine, event

    engine = create_engine(
        (url.url or "").replace("mysql://", "mysql+pymysql://", 1),
        isolation_level="REPEATABLE READ",
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "charset": "utf8mb4"},
    )

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
            if read_only:
                cursor.execute("SET SESSION TRANSACTION READ ONLY")

    return engine
