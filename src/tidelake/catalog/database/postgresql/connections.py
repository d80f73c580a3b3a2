"""Catalogs on PostgreSQL, through psycopg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database import server
from tidelake.catalog.database.postgresql.guest_session import GuestSession
from tidelake.catalog.database.postgresql.walls import ROLE
from tidelake.catalog.database.server import ServerDatabase, ServerSession
from tidelake.catalog.database.url import CatalogUrl
from tidelake.model.extras import require
from tidelake.model.names import quote
from tidelake.model.tuning import Tuning

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LOCK = "SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))"

_NOT_FREE = "55P03"
_HAS_WALLS = "SELECT to_regproc('tidelake_end_holders') IS NOT NULL"


class PostgreSQLDatabase(ServerDatabase):
    """The lake's lock ends with the transaction by itself."""

    rewrite = "VACUUM FULL {}"
    waits = ("SET lock_timeout = '1s'", "RESET lock_timeout")

    def __init__(self, url: CatalogUrl, tuning: Tuning, *, read_only: bool) -> None:
        require("postgres", "a catalog on PostgreSQL", "psycopg", "sqlalchemy")
        settings = ["-c timezone=UTC", f"-c lock_timeout={tuning.lock_wait_s * 1000:.0f}ms"]
        if read_only:
            settings.append("-c default_transaction_read_only=on")
        if url.schema:
            settings.append(f"-c search_path={_option(quote(url.schema))}")
        address = (url.url or "").replace("postgresql://", "postgresql+psycopg://", 1)
        options = {"options": " ".join(settings), "prepare_threshold": 1}
        super().__init__(server.pool_of(address, tuning, **options), tuning)

    def session_of(self, connection: Connection) -> ServerSession:
        driver: Any = connection.connection.driver_connection
        is_guest = ROLE.fullmatch(driver.info.user) is not None
        return GuestSession(connection) if is_guest else ServerSession(connection)

    @contextmanager
    def alone(self, connection: Connection) -> Iterator[ServerSession]:
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
    def _locked(self, connection: Connection) -> Iterator[ServerSession]:
        with connection.begin():
            session = self.session_of(connection)
            driver: Any = connection.connection.driver_connection
            driver.prepared_max = _PREPARED
            with driver.pipeline():  # what has no answer to wait for costs no trip
                session.execute(_LOCK, {})
                yield session
                driver.commit()


_PREPARED = 5000
"""psycopg gives up prepared statements beyond so many, and of one that is on its way through the
pipeline it does so too soon: a restore has hundreds."""


def _option(text: str) -> str:
    """One word of libpq's options."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ")
