"""What a query over relations on Spark would give, as DuckDB in this process sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidelake.duck import settle
from tidelake.engine.declare.ddl import from_duckdb_type
from tidelake.model.literal import Value
from tidelake.model.names import quote
from tidelake.model.schema import Column

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

_AGGREGATES: set[str] = set()


class Shapes:
    """Relations stand here as empty tables of their columns: enough for DuckDB to tell the
    columns of any query over them, and to refuse one that makes no sense."""

    def __init__(self, local: LocalEngine) -> None:
        self.connection = local.workbench().connection

    def declare(self, name: str, columns: Sequence[Column]) -> None:
        fields = ", ".join(f"{quote(column.name)} {column.duckdb_type}" for column in columns)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} ({fields})")

    def columns_of(
        self, sql: str, parameters: Mapping[str, Value] | None = None
    ) -> tuple[Column, ...]:
        found = settle(self.connection).sql(sql, params=dict(parameters) if parameters else None)
        return tuple(map(from_duckdb_type, found.columns, found.types))

    @property
    def aggregates(self) -> frozenset[str]:
        """Functions that make one row of many, or many of one."""
        if not _AGGREGATES:
            rows = self.connection.execute(
                "SELECT DISTINCT function_name FROM duckdb_functions()"
                " WHERE function_type IN ('aggregate', 'table')"
            ).fetchall()
            _AGGREGATES.update(row[0] for row in rows)
        return frozenset(_AGGREGATES)

    def close(self) -> None:
        self.connection.close()
