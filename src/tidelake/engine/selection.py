"""Rows of a query over the lake's own tables, for writing them into one of them.

They never leave DuckDB: Arrow has no place for some of its types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelake.engine.conform import Shape, conformed, filled
from tidelake.engine.incoming import Incoming
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan

_FEW = 100_000


@dataclass(frozen=True, slots=True)
class Selection:
    """A query in DuckDB's SQL, the plans it reads under the names that it calls them by, and the
    columns that its values are for, by position."""

    sql: str
    tables: Mapping[str, ScanPlan | AsOfPlan]
    columns: Sequence[Column]

    def incoming(self, columns: Sequence[Column], table: TableName, *, defaults: bool) -> Incoming:
        """The table's columns, cast as DuckDB's INSERT casts, and checked as all data is.

        A query that reads much is not to be asked twice.
        """
        places = {column.id: f"c{place}" for place, column in enumerate(self.columns)}
        names = ", ".join(places.values())
        cast = ", ".join(
            f"CAST({places[c.id]} AS {c.duckdb_type}) AS {places[c.id]}" for c in self.columns
        )
        values = [self._value(c, places.get(c.id), str(table), defaults) for c in columns]
        chosen = ", ".join(f"{v} AS {quote(c.name)}" for v, c in zip(values, columns, strict=True))
        sql = f"SELECT {chosen} FROM (SELECT {cast} FROM ({self.sql}) AS r({names})) AS r"
        present = frozenset(column.name for column in self.columns)
        return Incoming(sql, present, self._read_rows() <= _FEW)

    def _value(self, column: Column, place: str | None, table: str, defaults: bool) -> str:
        if place is None:
            return filled(column, table, defaults=defaults)
        return conformed(column, _shape(column), place, table)

    def _read_rows(self) -> int:
        plans = self.tables.values()
        kept = sum(len(inlined.rows) for plan in plans for inlined in plan.inlined)
        return kept + sum(file.rows for plan in plans for file in plan.files)


def _shape(column: Column) -> Shape:
    kind = "timestamp" if column.type == "timestamp_us" else column.type
    return Shape(column.name, kind, tuple(_shape(child) for child in column.children))
