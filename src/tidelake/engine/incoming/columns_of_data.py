"""Columns for a table that is to hold what lies in files.

The columns that data has of its own, whatever table it is meant for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.duck import settle
from tidelake.engine.declare.arrow import arrow_schema, with_text_for_nulls
from tidelake.engine.declare.columns import columns_of
from tidelake.engine.declare.ddl import from_duckdb_type
from tidelake.engine.incoming import csv_files
from tidelake.engine.incoming.from_files import exactly, groups, list_files
from tidelake.engine.incoming.pandas_frame import without_guessed_types
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.selection import Selection
from tidelake.errors import Invalid
from tidelake.model.names import text_literal
from tidelake.model.schema import Column
from tidelake.model.source_files import CsvFormat, SourceFiles

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
    kind, found = list_files(connection, source.paths, "the new table")
    names = ", ".join(exactly(path) for path in found)
    how = _TOGETHER
    with translate_duckdb_errors(_DOING):
        if kind == "csv":
            if source.csv.header is None:
                headed = csv_files.looks_headed(connection, exactly(found[0]), source.csv)
                source = source.with_header(headed)
            groups(connection, kind, found, "the new table", source)
            told = csv_files.options(source.csv).replace("all_varchar = true, ", "")
            how = f"union_by_name = true, {told}"
        relation = settle(connection).sql(f"FROM {_READERS[kind]}([{names}], {how})")
        return columns_of(dict(zip(relation.columns, relation.types, strict=True))), source


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


def opened_stream(data: Any) -> Any:
    """What is nothing but an Arrow stream, as a reader that tells its schema; anything else as it
    is."""
    import pyarrow as pa

    known = ("schema", "columns", "dtypes")
    if not hasattr(data, "__arrow_c_stream__") or any(hasattr(type(data), each) for each in known):
        return data
    return pa.RecordBatchReader.from_stream(data)


def _described(data: Any) -> Any:
    """The schema of a frame. A pandas frame without rows may have types that nobody gave."""
    whole = type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")
    return arrow_schema(without_guessed_types(data) if whole else data)


def _inferred(rows: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pylist([dict(row) for row in rows]).schema
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise Invalid(
            f"the rows of the source do not go together: {error}",
            hint="give every column values of one type",
        ) from error


def described_columns(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    paths: Sequence[str],
    delimiter: str,
    form: CsvFormat,
    names: Sequence[str] = (),
) -> tuple[Column, ...]:
    """The columns of files of one kind together, without a look at whether all of it can be read.
    `names` are those of CSV files without a header. A column of nothing but nulls is text."""
    listed = ", ".join(exactly(path) for path in paths)
    how = _TOGETHER
    if kind == "csv":
        encoding = "" if form.encoding is None else f", encoding = '{form.known_encoding}'"
        null = "" if form.null is None else f", nullstr = ['', {text_literal(form.null)}]"
        named = f", names = [{', '.join(map(text_literal, names))}]" if names else ""
        how += (
            f", header = {str(form.has_header).lower()}, skip = 0, quote = '\"', escape = '\"'"
            f", delim = {text_literal(delimiter)}, ignore_errors = true{encoding}{null}{named}"
        )
    elif kind == "json":
        how += ", sample_size = -1"
        if not _is_array(connection, paths[0]):
            how += ", format = 'newline_delimited', ignore_errors = true"
    with translate_duckdb_errors(_DOING):
        relation = settle(connection).sql(f"FROM {_READERS[kind]}([{listed}], {how})")
        types = {
            name: "VARCHAR" if str(found) == '"NULL"' else found
            for name, found in zip(relation.columns, relation.types, strict=True)
        }
        return columns_of(types)


def _is_array(connection: duckdb.DuckDBPyConnection, path: str) -> bool:
    """Whether a JSON file is one array, by its first sign."""
    query = (
        f"SELECT left(ltrim(line), 1) FROM read_csv([{exactly(path)}], header = false,"
        " auto_detect = false, delim = '', quote = '', escape = '', columns = {'line': 'VARCHAR'},"
        " strict_mode = false, max_line_size = 67108864) LIMIT 1"
    )
    row = connection.execute(query).fetchone()
    return row is not None and row[0] == "["
