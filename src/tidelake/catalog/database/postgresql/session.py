"""Statements on PostgreSQL. Those who listen are told of commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelake.catalog.database.server import ServerSession
from tidelake.model.names import quote

CHANNEL = "SELECT hashtext(current_schema())"
"""What the lake's channel is called after: a database may have several lakes."""
_LOCK = f"{CHANNEL}, pg_advisory_xact_lock(1952738411, hashtext(current_schema()))"
_COMMITS = "ducklake_snapshot"


def channel(schema: int | None) -> str:
    return quote(f"tidelake_{schema}")


class PostgreSQLSession(ServerSession):
    """Whoever writes a snapshot says so with its commit. NOTIFY needs no privilege, and it goes
    through the pipeline with all the rest: the lock's answer, which names the channel, has come
    long before."""

    _named: Any = None

    def lock(self) -> None:
        """Be the one who writes, until the transaction ends."""
        self._named = self._driver.cursor()
        self._named.execute(_LOCK)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        super().insert(table, columns, rows)
        if table == _COMMITS and self._named is not None:
            (schema, _), self._named = self._named.fetchone(), None
            self._driver.cursor().execute(f"NOTIFY {channel(schema)}")
