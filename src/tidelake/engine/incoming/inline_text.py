"""Rows in the form in which the catalog keeps them: NULL, bytes, or DuckDB's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column

if TYPE_CHECKING:
    import duckdb

Rows = tuple[tuple[object, ...], ...]


def as_text(
    connection: duckdb.DuckDBPyConnection, sql: str, columns: Sequence[Column], *, numbered: bool
) -> Rows | None:
    """The rows of a query; with their row numbers in front if they have them.

    None if the text of some value would not be read back as the value: DuckDB's text of nested
    values is not always the way back to them, and zero bytes end a text in some databases.
    """
    chosen = [ROW_NUMBER] if numbered else []
    chosen += [
        quote(c.name) if c.type == "blob" else f"CAST({quote(c.name)} AS VARCHAR)" for c in columns
    ]
    checks = [_survives(column) for column in columns if column.is_nested]
    chosen.append(" AND ".join(checks) or "true")
    rows = connection.execute(f"SELECT {', '.join(chosen)} FROM ({sql}) AS r").fetchall()
    if any(not row[-1] for row in rows) or any(_has_zero(row) for row in rows):
        return None
    return tuple(tuple(row[:-1]) for row in rows)


def _survives(column: Column) -> str:
    name = quote(column.name)
    back = f"TRY_CAST(CAST({name} AS VARCHAR) AS {column.duckdb_type})"
    return f"{back} IS NOT DISTINCT FROM {name}"


def _has_zero(row: Sequence[object]) -> bool:
    return any(isinstance(value, str) and "\0" in value for value in row)
