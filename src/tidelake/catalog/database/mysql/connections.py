"""Catalogs on MySQL and MariaDB, through PyMySQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database import server
from tidelake.catalog.database.server import ServerDatabase, ServerSession
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import Unavailable
from tidelake.model.extras import require
from tidelake.model.tuning import Tuning

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_LOCK = "SELECT GET_LOCK(CONCAT('tidelake.', MD5(DATABASE())), {})"
_UNLOCK = "SELECT RELEASE_LOCK(CONCAT('tidelake.', MD5(DATABASE())))"


class MySQLDatabase(ServerDatabase):
    """The lake's lock belongs to the session: it is taken before, and freed after, the
    transaction."""

    lock_outlives_transaction = True
    rewrite = "OPTIMIZE TABLE {}"
    waits = ("SET lock_wait_timeout = 1", "SET lock_wait_timeout = DEFAULT")

    def __init__(self, url: CatalogUrl, tuning: Tuning, *, read_only: bool) -> None:
        require("mysql", "a catalog on MySQL", "pymysql", "sqlalchemy")
        super().__init__(_engine(url.url or "", tuning, read_only), tuning)

    @contextmanager
    def reading(self) -> Iterator[ServerSession]:
        with self._connection() as connection, connection.begin():
            yield ServerSession(connection)

    @contextmanager
    def writing(self) -> Iterator[ServerSession]:
        with self._connection() as connection:
            connection.execution_options(isolation_level="READ COMMITTED")
            with self._alone(connection) as session:
                yield session

    @contextmanager
    def _alone(self, connection: Connection) -> Iterator[ServerSession]:
        taken = connection.exec_driver_sql(_LOCK.format(self.tuning.lock_wait_s)).scalar()
        connection.commit()
        if taken != 1:
            raise Unavailable(
                f"the lake was busy for {self.tuning.lock_wait_s} seconds",
                hint="try again when it is quieter",
            )
        with connection.begin():
            yield ServerSession(connection)
        connection.exec_driver_sql(_UNLOCK)
        connection.commit()


def _engine(url: str, tuning: Tuning, read_only: bool) -> Engine:
    from sqlalchemy import event

    address = url.replace("mysql://", "mysql+pymysql://", 1)
    engine = server.pool_of(address, tuning, isolation_level="REPEATABLE READ", charset="utf8mb4")

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
            if read_only:
                cursor.execute("SET SESSION TRANSACTION READ ONLY")

    return engine
