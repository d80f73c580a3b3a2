"""DuckDB's SQL. It has every type that a column of a lake can have."""

from __future__ import annotations

from dataclasses import replace

from tidelake.catalog.database.dialect import (
    NUMBER,
    SMALL_INTEGERS,
    Dialect,
    InlineColumn,
    StatisticsSql,
)
from tidelake.model.schema import Column

_SAME_IN_ARROW = SMALL_INTEGERS | {"float32", "float64", "varchar", "date", "timestamp"}
_TYPES = {
    "int": "BIGINT",
    "text": "VARCHAR",
    "name": "VARCHAR",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "blob": "BLOB",
}


class DuckDBDialect(Dialect):
    types = _TYPES
    exists = (
        "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()"
        " AND table_name = :name"
    )
    index_exists = (
        "SELECT 1 FROM duckdb_indexes() WHERE database_name = current_database()"
        " AND index_name = :name"
    )
    every_column = (
        "SELECT table_name, column_name FROM duckdb_columns()"
        " WHERE database_name = current_database() AND NOT internal"
        " ORDER BY table_name, column_index"
    )
    statistics = StatisticsSql(
        number="TRY_CAST({v} AS DOUBLE)",
        odd_number=f"NOT regexp_matches({{v}}, {NUMBER})",
        in_order="{v}",
        hex_text="decode(unhex('{x}'))",
    )
    instant = "CAST({} AS VARCHAR)"

    def inline_type(self, column: Column) -> str:
        return column.duckdb_type

    def inline_value(self, _column: Column, value: object) -> object:
        return value

    def inline_sql(self, column: Column, name: str) -> str:
        if column.type == "variant":
            return f"variant_to_parquet_variant({name})"
        if column.is_nested:
            return f"CAST(CAST({name} AS {column.duckdb_type}) AS VARCHAR)"
        if column.type == "timestamptz":
            # Written by way of the zone's calendar, the last moments before infinity would be off.
            plain = f"CAST(make_timestamp(epoch_us({name})) AS VARCHAR) || '+00'"
            return f"CASE WHEN isfinite({name}) THEN {plain} ELSE CAST({name} AS VARCHAR) END"
        return name if column.type == "blob" else f"CAST({name} AS VARCHAR)"

    def inline_column(self, column: Column, name: str) -> InlineColumn:
        return InlineColumn(
            name if column.type in _SAME_IN_ARROW else self.inline_sql(column, name)
        )

    def read_as(self, column: Column) -> Column:
        """A nested column with plain text for JSON, which DuckDB would write unquoted inside lists
        and structs and could not read back."""
        if not column.is_nested:
            return column
        children = tuple(
            replace(child, type="varchar") if child.type == "json" else self.read_as(child)
            for child in column.children
        )
        return replace(column, children=children)
