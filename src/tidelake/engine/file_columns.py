"""Columns for a table that is to hold what lies in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.engine.declare import columns_of
from tidelake.engine.duck_errors import translated
from tidelake.engine.incoming_files import exactly, listed
from tidelake.model.schema import Column

if TYPE_CHECKING:
    import duckdb

_TOGETHER = "union_by_name = true, hive_partitioning = false"
_READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json_auto"}


def file_columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> tuple[Column, ...]:
    """The columns of all the files together. Those of CSV and JSON files have the types that
    DuckDB finds in their first rows."""
    kind, found = listed(connection, paths, "the new table")
    names = ", ".join(exactly(path) for path in found)
    with translated("cannot read the columns of the files"):
        relation = connection.sql(f"FROM {_READERS[kind]}([{names}], {_TOGETHER})")
        return columns_of(dict(zip(relation.columns, relation.types, strict=True)))
