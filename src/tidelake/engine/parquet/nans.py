"""Which columns of a file hold NaN.

DuckDB tells it of the last row group that it wrote, and not of those before. But it gives no
bounds for a row group with a NaN: where values have none, there is one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from tidelake.model.change import ColumnFacts, NewFile
from tidelake.model.names import text_literal
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS

if TYPE_CHECKING:
    import duckdb

_VECTOR = 2048
"""Rows that DuckDB writes at once: row groups of no more come in any number."""
_UNBOUNDED = "stats_min_value IS NULL AND num_values > coalesce(stats_null_count, 0)"


def may_have_groups(rows: int, group_rows: int) -> bool:
    """Whether so many rows may be more than one row group: each of two threads begins one of its
    own when it has half of the rows of one."""
    return 2 * rows > group_rows or group_rows <= _VECTOR


def with_nans(
    connection: duckdb.DuckDBPyConnection,
    file: NewFile,
    place: str,
    leaves: Iterable[tuple[Column, bool]],
) -> NewFile:
    """The file's facts, with what all its row groups say. `leaves` are its columns that hold
    values, in order, and whether a list or map is above them."""
    floats = {
        column.id: (number, repeated)
        for number, (column, repeated) in enumerate(leaves)
        if column.type in FLOATS
    }
    doubted = {f.column_id for f in file.columns if f.contains_nan is False} & floats.keys()
    if not doubted:
        return file
    chunks = f"parquet_metadata({text_literal(place)})"
    found = connection.execute(f"SELECT column_id FROM {chunks} WHERE {_UNBOUNDED}").fetchall()
    unbounded = {number for (number,) in found}
    return file._replace(
        columns=tuple(
            _seen(each, *floats[each.column_id], unbounded) if each.column_id in doubted else each
            for each in file.columns
        ),
    )


def _seen(
    facts: ColumnFacts, number: int, repeated: bool, unbounded: Container[int]
) -> ColumnFacts:
    """Inside lists and maps DuckDB miscounts nulls: there may be no value that has no bounds."""
    if number not in unbounded:
        return facts
    return facts._replace(contains_nan=None if repeated else True)
