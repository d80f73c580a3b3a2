"""Statements of a role that is held to one tenant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tidelake.catalog.database.postgresql.session import PostgreSQLSession
from tidelake.catalog.database.server import Parameters

_CHANGES = re.compile(r"\bducklake_snapshot_changes\b")
_INLINED = re.compile(r"\bducklake_inlined_(?:data_[0-9]+_[0-9]+|delete_[0-9]+)\b")
_MAKES_INLINED = 'CREATE TABLE "ducklake_inlined_'


class GuestSession(PostgreSQLSession):
    """What others' commits did is not told, so a view is asked in place of the table. Tables for
    small writes are made by a function: had a tenant tables of its own, it could put triggers on
    them, and whoever writes there would run these."""

    def query_all(self, queries: Sequence[tuple[str, Parameters]]) -> list[list[Any]]:
        for sql, _ in queries:
            self._open(sql)
        return super().query_all(
            [(_CHANGES.sub("tidelake_own_changes", sql), given) for sql, given in queries]
        )

    def execute(self, sql: str, parameters: Parameters) -> None:
        if sql.startswith(_MAKES_INLINED):
            sql, parameters = "SELECT tidelake_make_inlined(:statement)", {"statement": sql}
        else:
            self._open(sql)
        super().execute(sql, parameters)

    def _open(self, sql: str) -> None:
        """DuckDB and the owner make such tables too, and have no policies in mind."""
        for name in set(_INLINED.findall(sql)):
            super().execute("SELECT tidelake_open_inlined(:name)", {"name": name})
