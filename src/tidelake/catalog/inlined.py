"""Rows that DuckLake keeps in the catalog itself, in whatever form each database gives them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidelake.catalog.database import Reader
from tidelake.catalog.read import columns_of_version, visible
from tidelake.model.file import InlinedRows
from tidelake.model.names import quote
from tidelake.model.schema import Column


def inlined_rows(
    reader: Reader, at: int, table_id: int, wanted: Collection[int]
) -> list[InlinedRows]:
    """The rows kept in the catalog that are visible at a snapshot, with the `wanted` columns."""
    tables = reader.rows(
        "SELECT table_name, schema_version FROM ducklake_inlined_data_tables"
        " WHERE table_id = :id ORDER BY schema_version",
        id=table_id,
    )
    found = []
    for name, schema_version in tables:
        if not reader.has_table(name):
            continue
        declared = columns_of_version(reader, table_id, schema_version)
        chosen = tuple(
            _as_text(column) if reader.dialect.name == "duckdb" else column
            for column in declared
            if column.id in wanted
        )
        rows = _rows(reader, at, name, chosen)
        if rows:
            found.append(InlinedRows(chosen, rows))
    return found


def _rows(
    reader: Reader, at: int, name: str, chosen: tuple[Column, ...]
) -> tuple[tuple[object, ...], ...]:
    stored = _stored_names(reader, name)
    values = "".join(
        f", {_value_sql(reader.dialect.name, column, stored.get(column.name.lower(), column.name))}"
        for column in chosen
    )
    rows = reader.rows(
        f'SELECT row_id, begin_snapshot{values} FROM "{name}" WHERE {visible()} ORDER BY row_id',
        at=at,
    )
    return tuple(
        (row[0], row[1], *(_value(v, c) for v, c in zip(row[2:], chosen, strict=True)))
        for row in rows
    )


def _stored_names(reader: Reader, table: str) -> dict[str, str]:
    """How PostgreSQL spells the columns of a table: DuckDB does not quote them when it makes one,
    so that their capitals are lost. The other databases do not mind the case."""
    if reader.dialect.name != "postgresql":
        return {}
    rows = reader.rows(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND table_name = :name",
        name=table,
    )
    return {name.lower(): name for (name,) in rows}


def _value_sql(database: str, column: Column, stored_name: str) -> str:
    name = quote(stored_name)
    if database == "duckdb" and column.type == "variant":
        return f"variant_to_parquet_variant({name})"
    if database == "duckdb" and column.is_nested:
        return f"CAST(CAST({name} AS {column.duckdb_type}) AS VARCHAR)"
    if database == "duckdb" and column.type == "timestamptz":
        # Written by way of the zone's calendar, the last moments before infinity would be off.
        plain = f"CAST(make_timestamp(epoch_us({name})) AS VARCHAR) || '+00'"
        return f"CASE WHEN isfinite({name}) THEN {plain} ELSE CAST({name} AS VARCHAR) END"
    if database == "duckdb" and column.type != "blob":
        return f"CAST({name} AS VARCHAR)"
    if database == "postgresql" and column.type not in ("varchar", "json", "blob"):
        return f"CAST({name} AS VARCHAR)"
    return name


def _as_text(column: Column) -> Column:
    """A nested column with plain text for JSON, which DuckDB would write unquoted inside lists
    and structs and could not read back."""
    if not column.is_nested:
        return column
    children = tuple(
        replace(child, type="varchar") if child.type == "json" else _as_text(child)
        for child in column.children
    )
    return replace(column, children=children)


def _value(value: object, column: Column) -> object:
    """None, bytes for blobs and variants, otherwise text."""
    if value is None:
        return None
    if isinstance(value, dict):
        return value["metadata"] + value["value"]
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return raw if column.type in ("blob", "variant") else raw.decode()
    if column.type == "blob":
        return str(value).encode()
    if column.type == "interval":
        return str(value).replace("+", "")  # PostgreSQL's sign, which DuckDB does not read
    return str(value)
