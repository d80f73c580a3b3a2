"""Catalogs on PostgreSQL, through psycopg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database import server
from tidelake.catalog.database.postgresql.ear import CommitEar
from tidelake.catalog.database.postgresql.guest_session import GuestSession
from tidelake.catalog.database.postgresql.session import PostgreSQLSession
from tidelake.catalog.database.postgresql.walls import ROLE
from tidelake.catalog.database.server import ServerDatabase
from tidelake.catalog.database.url import CatalogUrl
from tidelake.model.extras import require
from tidelake.model.names import quote
from tidelake.model.tuning import Tuning

if TYPE_CHECKING:
    from sqlalchemy import Connection

_NOT_FREE = "55P03"
_HAS_WALLS = "SELECT to_regproc('tidelake_end_holders') IS NOT NULL"


class PostgreSQLDatabase(ServerDatabase):
    """The lake's lock ends with the transaction by itself."""

    rewrite = "VACUUM FULL {}"
    waits = ("SET lock_timeout = '1s'", "RESET lock_timeout")

    def __init__(self, url: CatalogUrl, tuning: Tuning, *, read_only: bool) -> None:
        require("postgres", "a catalog on PostgreSQL", "psycopg", "sqlalchemy")
        self._options = _driver_options(url, tuning, read_only)
        address = (url.url or "").replace("postgresql://", "postgresql+psycopg://", 1)
        super().__init__(server.pool_of(address, tuning, **self._options), tuning)
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

    def session_of(self, connection: Connection) -> PostgreSQLSession:
        driver: Any = connection.connection.driver_connection
        is_guest = ROLE.fullmatch(driver.info.user) is not None
        return GuestSession(connection) if is_guest else PostgreSQLSession(connection)

    @contextmanager
    def alone(self, connection: Connection) -> Iterator[PostgreSQLSession]:
        try:
            with self._locked(connection) as session:
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
    def _locked(self, connection: Connection) -> Iterator[PostgreSQLSession]:
        with connection.begin():
            session = self.session_of(connection)
            driver: Any = connection.connection.driver_connection
            driver.prepared_max = _PREPARED
            with driver.pipeline():  # what has no answer to wait for costs no trip
                session.lock()
                yield session
                driver.commit()


_WORKERS_COST = 20_000
"""PostgreSQL takes it for a thousand, a millisecond or so, and it is five: more than most of our
statements take."""
_PREPARED = 5000
"""psycopg gives up prepared statements beyond so many, and of one that is on its way through the
pipeline it does so too soon: a restore has hundreds."""


def _driver_options(url: CatalogUrl, tuning: Tuning, read_only: bool) -> dict[str, Any]:
    settings = ["-c timezone=UTC", f"-c lock_timeout={tuning.lock_wait_s * 1000:.0f}ms"]
    settings.append(f"-c parallel_setup_cost={_WORKERS_COST}")
    if read_only:
        settings.append("-c default_transaction_read_only=on")
    if url.schema:
        settings.append(f"-c search_path={_option(quote(url.schema))}")
    return {"options": " ".join(settings), "prepare_threshold": 1}


def _option(text: str) -> str:
    """One word of libpq's options."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ")
