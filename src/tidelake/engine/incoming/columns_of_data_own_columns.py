"""The columns that data has of its own, whatever table it is meant for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.engine.declare.arrow import arrow_schema, with_text_for_nulls
from tidelake.engine.declare.columns import columns_of
from tidelake.engine.declare.ddl import from_duckdb_type
from tidelake.engine.incoming.columns_of_data import file_columns
from tidelake.engine.incoming.pandas_frame import untyped
from tidelake.engine.local.selection import Selection
from tidelake.errors import Invalid
from tidelake.model.schema import Column

if TYPE_CHECKING:
    import duckdb


def own_columns(connection: duckdb.DuckDBPyConnection, data: Any) -> tuple[Column, ...]:
    """None for data that would be used up by looking at it. A column of nothing but nulls, whose
    type nobody knows, is text."""
    if isinstance(data, Selection):
        return ()
    items = data if isinstance(data, list | tuple) else [data]
    if items and all(isinstance(item, str | Path) for item in items):
        return file_columns(connection, [str(item) for item in items])
    if items and all(isinstance(item, Mapping) for item in items):
        return columns_of(with_text_for_nulls(_inferred(items)))
    library = type(data).__module__.partition(".")[0]
    if library in ("duckdb", "_duckdb"):
        return tuple(map(from_duckdb_type, data.columns, data.types))
    if not any(hasattr(type(data), name) for name in ("schema", "columns")):
        return ()
    if library in ("pandas", "polars", "pyarrow"):
        return columns_of(with_text_for_nulls(_described(data)))
    return columns_of(data)


def _described(data: Any) -> Any:
    """The schema of a frame. A pandas frame without rows may have types that nobody gave."""
    whole = type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")
    return arrow_schema(untyped(data) if whole else data)


def _inferred(rows: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pylist([dict(row) for row in rows]).schema
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise Invalid(
            f"the rows of the source do not go together: {error}",
            hint="give every column values of one type",
        ) from error
