"""What expressions give, as DuckDB sees it before any row is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.engine.incoming.conform import DataShape
from tidelake.engine.incoming.from_files import shape_of

if TYPE_CHECKING:
    import duckdb


def computed_shapes(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[DataShape, ...]:
    """The shapes of a query's columns. A result would tell INTEGER for what is always null."""
    names = connection.sql(sql).columns
    places = [f"c{place}" for place in range(len(names))]
    types = ", ".join(f"typeof({place})" for place in places)
    row = connection.execute(
        f"SELECT {types} FROM (SELECT * FROM ({sql}) LIMIT 0) AS r({', '.join(places)})"
        " RIGHT JOIN (SELECT 1) ON true"
    ).fetchone()
    kinds = map(connection.type, row or ())
    return tuple(_computed(shape_of(*each)) for each in zip(names, kinds, strict=True))


def _computed(shape: DataShape) -> DataShape:
    return DataShape(shape.name, shape.type, tuple(map(_computed, shape.children)), computed=True)
