"""What differs between the four databases, in one place."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tidelake.catalog.url import CatalogUrl
from tidelake.errors import Unsupported

if TYPE_CHECKING:
    from sqlalchemy import Engine

BUSY_TIMEOUT_S = 10
CONNECT_TIMEOUT_S = 10

_LOCK = 0x7464_6C6B
_LOCK_WAIT_S = 60


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of database spells things.

    `types` maps our kinds (see `layout`) to column types; `text` is SQL with a `{}` for a
    column; `exists` asks for a table called :name. A reading transaction opens with
    `begin_read`, a writing one with `begin_write`, which also waits for other writers;
    what that leaves locked, `end_write` frees.
    """

    name: str
    types: Mapping[str, str]
    text: str
    exists: str
    begin_read: str | None = None
    begin_write: str | None = None
    end_write: str | None = None
    write_isolation: str | None = None


SQLITE = Dialect(
    name="sqlite",
    types={
        "int": "BIGINT",
        "text": "VARCHAR",
        "bool": "BIGINT",
        "time": "VARCHAR",
        "uuid": "VARCHAR",
    },
    text="{}",
    exists="SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name",
    begin_read="BEGIN",
    begin_write="BEGIN IMMEDIATE",
)
DUCKDB = Dialect(
    name="duckdb",
    types={
        "int": "BIGINT",
        "text": "VARCHAR",
        "bool": "BOOLEAN",
        "time": "TIMESTAMP WITH TIME ZONE",
        "uuid": "UUID",
    },
    text="CAST({} AS VARCHAR)",
    exists="SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()"
    " AND table_name = :name",
)
POSTGRESQL = Dialect(
    name="postgresql",
    types={
        "int": "BIGINT",
        "text": "VARCHAR",
        "bool": "BOOLEAN",
        "time": "TIMESTAMP WITH TIME ZONE",
        "uuid": "UUID",
    },
    text="CAST({} AS VARCHAR)",
    exists="SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = :name",
    # Reads after the lock must see what its last holder committed, hence READ COMMITTED.
    begin_write=f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext(current_schema()))",
    write_isolation="READ COMMITTED",
)
MYSQL = Dialect(
    name="mysql",
    types={
        "int": "BIGINT",
        "text": "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "bool": "TINYINT",
        "time": "VARCHAR(40)",
        "uuid": "VARCHAR(36)",
    },
    text="{}",
    exists="SELECT 1 FROM information_schema.tables"
    " WHERE table_schema = DATABASE() AND table_name = :name",
    begin_write=f"SELECT GET_LOCK(CONCAT('tidelake.', MD5(DATABASE())), {_LOCK_WAIT_S})",
    end_write="SELECT RELEASE_LOCK(CONCAT('tidelake.', MD5(DATABASE())))",
    write_isolation="READ COMMITTED",
)

DIALECTS = {dialect.name: dialect for dialect in (SQLITE, DUCKDB, POSTGRESQL, MYSQL)}


def open_engine(url: CatalogUrl, *, read_only: bool) -> Engine:
    """An SQLAlchemy engine for the catalog; it connects when first used."""
    opener = {"sqlite": _sqlite, "duckdb": _duckdb, "postgresql": _postgresql, "mysql": _mysql}
    return opener[url.kind](url, read_only)


def _sqlite(url: CatalogUrl, read_only: bool) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import QueuePool

    mode = "ro" if read_only else "rwc"
    address = f"file:{quote(str(url.path))}?mode={mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            address,
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )

    return create_engine("sqlite://", creator=connect, poolclass=QueuePool)


def _duckdb(url: CatalogUrl, read_only: bool) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.dialects import registry
    from sqlalchemy.pool import QueuePool

    registry.register("duckdb", "tidelake.catalog.duckdb_dialect", "DuckDBDialect")
    options: dict[str, Any] = {
        "read_only": read_only,
        "config": {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    }
    return create_engine(f"duckdb:///{url.path}", connect_args=options, poolclass=QueuePool)


def _postgresql(url: CatalogUrl, read_only: bool) -> Engine:
    from sqlalchemy import create_engine

    _require("psycopg", "postgres")
    settings = ["-c timezone=UTC"]
    if read_only:
        settings.append("-c default_transaction_read_only=on")
    if url.schema:
        settings.append(f"-c search_path={url.schema}")
    address = (url.url or "").replace("postgresql://", "postgresql+psycopg://", 1)
    return create_engine(
        address,
        isolation_level="REPEATABLE READ",
        connect_args={"options": " ".join(settings), "connect_timeout": CONNECT_TIMEOUT_S},
    )


def _mysql(url: CatalogUrl, read_only: bool) -> Engine:
    from sqlalchemy import create_engine, event

    _require("pymysql", "mysql")
    address = (url.url or "").replace("mysql://", "mysql+pymysql://", 1)
    engine = create_engine(
        address,
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


def _require(module: str, extra: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise Unsupported(
            f"this catalog needs the Python package {module}",
            hint=f"pip install 'tidelake[{extra}]'",
        )
