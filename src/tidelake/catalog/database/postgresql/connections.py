"""Catalogs on PostgreSQL, through psycopg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidelake.catalog.database import server
from tidelake.catalog.database.postgresql.ear import CommitEar
from tidelake.catalog.database.postgresql.guest_session import GuestSession
from tidelake.catalog.database.postgresql.session import PostgreSQLSession, Statements
from tidelake.catalog.database.postgresql.walls import ROLE
from tidelake.catalog.database.server import ServerDatabase
from tidelake.catalog.database.url import CatalogUrl
from tidelake.model.extras import require
from tidelake.model.names import quote
from tidelake.model.tuning import Tuning

_NOT_FREE = "55P03"
_ONE_MOMENT = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_EACH_ITS_OWN = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""A write waits for the lake's lock first, and then sees what its last holder committed."""
_HAS_WALLS = "SELECT to_regproc('tidelake_end_holders') IS NOT NULL"


class PostgreSQLDatabase(ServerDatabase):
    """The lake's lock ends with the transaction by itself."""

    rewrite = "VACUUM FULL {}"
    waits = ("SET lock_timeout = '1s'", "RESET lock_timeout")

    def __init__(self, url: CatalogUrl, tuning: Tuning, *, read_only: bool) -> None:
        require("postgres", "a catalog on PostgreSQL", "psycopg", "sqlalchemy")
        self._options = _driver_options(url, tuning, read_only)
        address = (url.url or "").replace("postgresql://", "postgresql+psycopg://", 1)
        pool = server.pool_of(address, tuning, isolation_level="AUTOCOMMIT", **self._options)
        super().__init__(pool, tuning)
        self._ear = self.ear = CommitEar(self._beside_the_pool)

    def _beside_the_pool(self) -> Any:
        """A connection that nobody waits for."""
        dialect = self._engine.dialect
        words, options = dialect.create_connect_args(self._engine.url)
        limits = {"connect_timeout": server.CONNECT_TIMEOUT_S}
        return dialect.connect(*words, **{**options, **limits, **self._options})

    def close(self) -> None:
        self._ear.close()
        super().close()

    @contextmanager
    def reading(self) -> Iterator[PostgreSQLSession]:
        with self._transaction(_ONE_MOMENT) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[PostgreSQLSession]:
        try:
            with self._transaction(_EACH_ITS_OWN) as session:
                session.lock()
                yield session
        except Exception as error:
            if getattr(error, "sqlstate", None) == _NOT_FREE:
                self._end_holders()
            raise

    def _end_holders(self) -> None:
        """A tenant that has held on to the lake for too long is shown out; whoever tries again
        gets in."""
        with self._connection() as connection, connection.begin():
            if connection.exec_driver_sql(_HAS_WALLS).scalar():
                connection.exec_driver_sql("SELECT tidelake_end_holders()")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgreSQLSession]:
        """What is not committed is undone when the pool takes the connection back."""
        with self._free(self._engine.raw_connection) as pooled:
            driver: Any = pooled.driver_connection
            prepared = pooled.info.setdefault(_PREPARED, Statements())
            is_guest = ROLE.fullmatch(driver.info.user) is not None
            session = (GuestSession if is_guest else PostgreSQLSession)(driver, prepared, begin)
            yield session
            session.end()


_WORKERS_COST = 20_000
"""PostgreSQL takes it for a thousand, a millisecond or so, and it is five: more than most of our
statements take."""
_PREPARED = "tidelake"
"""Under which name a connection of the pool keeps what it has prepared."""


def _driver_options(url: CatalogUrl, tuning: Tuning, read_only: bool) -> dict[str, Any]:
    from psycopg import ClientCursor

    settings = ["-c timezone=UTC", f"-c lock_timeout={tuning.lock_wait_s * 1000:.0f}ms"]
    settings.append(f"-c parallel_setup_cost={_WORKERS_COST}")
    if read_only:
        settings.append("-c default_transaction_read_only=on")
    if url.schema:
        settings.append(f"-c search_path={_option(quote(url.schema))}")
    return {"options": " ".join(settings), "cursor_factory": ClientCursor}


def _option(text: str) -> str:
    """One word of libpq's options."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ")
