"""Rows of a query over the lake's own tables, for writing them into one of them.

They never leave DuckDB: Arrow has no place for some of its types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.engine.incoming.bring import IncomingData
from tidelake.engine.incoming.conform import DataShape, conformed_sql, filler_sql
from tidelake.engine.local.expression_shapes import computed_shapes
from tidelake.engine.row_source import Tables
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import duckdb

_FEW = 100_000


@dataclass(frozen=True, slots=True)
class Selection:
    """A query in DuckDB's SQL, the plans it reads under the names that it calls them by, and the
    columns that its values are for, by position. If `exact`, a value that a cast would change is
    refused; else values are cast as DuckDB's INSERT casts them."""

    sql: str
    tables: Tables
    columns: Sequence[Column]
    exact: bool = False

    def incoming(
        self,
        connection: duckdb.DuckDBPyConnection,
        columns: Sequence[Column],
        table: TableName,
        *,
        defaults: bool,
    ) -> IncomingData:
        """The table's columns, checked as all data is. The connection has the tables.

        A query that reads much is not to be asked twice.
        """
        names = ", ".join(f"c{place}" for place in range(len(self.columns)))
        if self.exact:
            shapes = computed_shapes(connection, self.sql)
            source = f"({self.sql}) AS r({names})"
        else:
            shapes = tuple(map(_shape, self.columns))
            cast = (f"CAST(c{at} AS {c.duckdb_type}) AS c{at}" for at, c in enumerate(self.columns))
            source = f"(SELECT {', '.join(cast)} FROM ({self.sql}) AS r({names})) AS r"
        there = {c.id: (f"c{at}", shapes[at]) for at, c in enumerate(self.columns)}
        values = [self._value(c, there.get(c.id), str(table), defaults) for c in columns]
        chosen = ", ".join(f"{v} AS {quote(c.name)}" for v, c in zip(values, columns, strict=True))
        present = frozenset(column.name for column in self.columns)
        return IncomingData(f"SELECT {chosen} FROM {source}", present, self._read_rows() <= _FEW)

    def _value(
        self, column: Column, there: tuple[str, DataShape] | None, table: str, defaults: bool
    ) -> str:
        if there is None:
            return filler_sql(column, table, defaults=defaults)
        return conformed_sql(column, there[1], there[0], table)

    def _read_rows(self) -> int:
        """Of what is no plan nobody knows."""
        plans = [each for each in self.tables.values() if isinstance(each, ScanPlan | AsOfPlan)]
        if len(plans) < len(self.tables):
            return _FEW + 1
        kept = sum(len(inlined.rows) for plan in plans for inlined in plan.inlined)
        return kept + sum(file.rows for plan in plans for file in plan.files)


def _shape(column: Column) -> DataShape:
    kind = "timestamp" if column.type == "timestamp_us" else column.type
    return DataShape(column.name, kind, tuple(_shape(child) for child in column.children))
