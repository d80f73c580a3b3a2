"""Columns for a table that is to hold what lies in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelake.engine.declare.columns import columns_of
from tidelake.engine.incoming import csv_files
from tidelake.engine.incoming.from_files import exactly, groups, listed
from tidelake.engine.local.errors import translated
from tidelake.model.schema import Column
from tidelake.model.source_files import SourceFiles

if TYPE_CHECKING:
    import duckdb

_TOGETHER = "union_by_name = true, hive_partitioning = false"
_READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json_auto"}
_DOING = "cannot read the columns of the files"


def file_columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> tuple[Column, ...]:
    """The columns of all the files together. Those of CSV and JSON files have the types that
    DuckDB finds in their first rows."""
    return source_columns(connection, SourceFiles(tuple(paths)))[0]


def source_columns(
    connection: duckdb.DuckDBPyConnection, source: SourceFiles
) -> tuple[tuple[Column, ...], SourceFiles]:
    """The same, and the files with what was found out about their header."""
    kind, found = listed(connection, source.paths, "the new table")
    names = ", ".join(exactly(path) for path in found)
    how = _TOGETHER
    with translated(_DOING):
        if kind == "csv":
            if source.csv.header is None:
                headed = csv_files.looks_headed(connection, exactly(found[0]), source.csv)
                source = source.with_header(headed)
            groups(connection, kind, found, "the new table", source)
            told = csv_files.options(source.csv).replace("all_varchar = true, ", "")
            how = f"union_by_name = true, {told}"
        relation = connection.sql(f"FROM {_READERS[kind]}([{names}], {how})")
        return columns_of(dict(zip(relation.columns, relation.types, strict=True))), source
