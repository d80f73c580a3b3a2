"""The tables of a DuckLake 1.0 catalog, column by column, and the indexes we add to them.

The order of columns is part of the format: DuckDB inserts by position. Kinds: `id` and
`int` are 64-bit, `text`, `bool`, `time` (an instant), `uuid`, `name` (a text short enough for
a key on every database); `!` marks the columns of the primary key, and what comes after `=` is
what a column holds unless somebody says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VERSION = "1.0"

_SPAN = "begin_snapshot int, end_snapshot int"
_STATS = (
    "column_size_bytes int, value_count int, null_count int,"
    " min_value text, max_value text, contains_nan bool, extra_stats text"
)

TABLES: dict[str, str] = {
    "ducklake_metadata": "key text, value text, scope text, scope_id int",
    "ducklake_snapshot": (
        "snapshot_id int!, snapshot_time time, schema_version int,"
        " next_catalog_id int, next_file_id int"
    ),
    "ducklake_snapshot_changes": (
        "snapshot_id int!, changes_made text, author text,"
        " commit_message text, commit_extra_info text"
    ),
    "ducklake_schema": (
        f"schema_id int!, schema_uuid uuid, {_SPAN},"
        " schema_name text, path text, path_is_relative bool"
    ),
    "ducklake_table": (
        f"table_id int, table_uuid uuid, {_SPAN}, schema_id int,"
        " table_name text, path text, path_is_relative bool"
    ),
    "ducklake_view": (
        f"view_id int, view_uuid uuid, {_SPAN}, schema_id int,"
        " view_name text, dialect text, sql text, column_aliases text"
    ),
    "ducklake_tag": f"object_id int, {_SPAN}, key text, value text",
    "ducklake_column_tag": f"table_id int, column_id int, {_SPAN}, key text, value text",
    "ducklake_data_file": (
        f"data_file_id int!, table_id int, {_SPAN}, file_order int, path text,"
        " path_is_relative bool, file_format text, record_count int, file_size_bytes int,"
        " footer_size int, row_id_start int, partition_id int, encryption_key text,"
        " mapping_id int, partial_max int"
    ),
    "ducklake_file_column_stats": f"data_file_id int, table_id int, column_id int, {_STATS}",
    "ducklake_file_variant_stats": (
        "data_file_id int, table_id int, column_id int,"
        f" variant_path text, shredded_type text, {_STATS}"
    ),
    "ducklake_delete_file": (
        f"delete_file_id int!, table_id int, {_SPAN}, data_file_id int, path text,"
        " path_is_relative bool, format text, delete_count int, file_size_bytes int,"
        " footer_size int, encryption_key text, partial_max int"
    ),
    "ducklake_column": (
        f"column_id int, {_SPAN}, table_id int, column_order int, column_name text,"
        " column_type text, initial_default text, default_value text, nulls_allowed bool,"
        " parent_column int, default_value_type text, default_value_dialect text"
    ),
    "ducklake_table_stats": "table_id int, record_count int, next_row_id int, file_size_bytes int",
    "ducklake_table_column_stats": (
        "table_id int, column_id int, contains_null bool, contains_nan bool,"
        " min_value text, max_value text, extra_stats text"
    ),
    "ducklake_partition_info": f"partition_id int, table_id int, {_SPAN}",
    "ducklake_partition_column": (
        "partition_id int, table_id int, partition_key_index int, column_id int, transform text"
    ),
    "ducklake_file_partition_value": (
        "data_file_id int, table_id int, partition_key_index int, partition_value text"
    ),
    "ducklake_files_scheduled_for_deletion": (
        "data_file_id int, path text, path_is_relative bool, schedule_start time"
    ),
    "ducklake_inlined_data_tables": "table_id int, table_name text, schema_version int",
    "ducklake_column_mapping": "mapping_id int, table_id int, type text",
    "ducklake_name_mapping": (
        "mapping_id int, column_id int, source_name text, target_field_id int,"
        " parent_column int, is_partition bool"
    ),
    "ducklake_schema_versions": "begin_snapshot int, schema_version int, table_id int",
    "ducklake_macro": f"schema_id int, macro_id int, macro_name text, {_SPAN}",
    "ducklake_macro_impl": "macro_id int, impl_id int, dialect text, sql text, type text",
    "ducklake_macro_parameters": (
        "macro_id int, impl_id int, column_id int, parameter_name text,"
        " parameter_type text, default_value text, default_value_type text"
    ),
    "ducklake_sort_info": f"sort_id int, table_id int, {_SPAN}",
    "ducklake_sort_expression": (
        "sort_id int, table_id int, sort_key_index int, expression text,"
        " dialect text, sort_direction text, null_order text"
    ),
}

# What DuckLake has no place for. Dropping these leaves the lake whole.
OWN_TABLES: dict[str, str] = {
    "tidelake_zone": (
        "table_id int, column_id int, zone int, min_value text, max_value text,"
        " null_count int, value_count int, contains_nan bool"
    ),
}

_NOT_NULL = {("ducklake_metadata", "key"), ("ducklake_metadata", "value")}

# DuckDB makes no indexes and tolerates ours. Without them a plan reads the whole of each table.
# Never index text on a server: values are not truncated, and a long one would make DuckDB's own
# INSERT fail.
INDEXES: dict[str, tuple[str, str]] = {
    "tidelake_data_file": ("ducklake_data_file", "table_id, begin_snapshot"),
    "tidelake_delete_file": ("ducklake_delete_file", "table_id, data_file_id"),
    "tidelake_column": ("ducklake_column", "table_id"),
    "tidelake_column_stats": (
        "ducklake_file_column_stats",
        "table_id, column_id, data_file_id",
    ),
    "tidelake_partition_value": ("ducklake_file_partition_value", "table_id, data_file_id"),
    "tidelake_zone_column": ("tidelake_zone", "table_id, column_id"),
}

# For SQLite, which has no such limit, and reads statistics several times faster from the index
# alone.
COVERING_INDEXES = INDEXES | {
    "tidelake_column_stats": (
        "ducklake_file_column_stats",
        "table_id, column_id, data_file_id, min_value, max_value,"
        " value_count, null_count, contains_nan",
    ),
}


@dataclass(frozen=True, slots=True)
class Definition:
    """One column of a layout."""

    column: str
    kind: str
    in_key: bool
    default: str | None

    def sql(self, types: Mapping[str, str]) -> str:
        default = "" if self.default is None else f" DEFAULT '{self.default}'"
        return f'"{self.column}" {types[self.kind]}{default}'


def definitions_of(layout: str) -> list[Definition]:
    found = []
    for text in filter(None, layout.split(", ")):
        column, kind = text.split(" ")
        kind, _, default = kind.partition("=")
        found.append(Definition(column, kind.rstrip("!"), kind.endswith("!"), default or None))
    return found


def create_table(
    name: str, types: Mapping[str, str], layout: Mapping[str, str] = TABLES | OWN_TABLES
) -> str:
    """The CREATE TABLE statement, with the database's own `types` for our kinds."""
    definitions = definitions_of(layout[name])
    keys = [each.column for each in definitions if each.in_key]
    columns = []
    for each in definitions:
        constraint = " PRIMARY KEY" if keys == [each.column] else ""
        if (name, each.column) in _NOT_NULL:
            constraint = " NOT NULL"
        columns.append(each.sql(types) + constraint)
    if len(keys) > 1:
        columns.append(f"PRIMARY KEY ({', '.join(keys)})")
    return f'CREATE TABLE "{name}" ({", ".join(columns)})'


def columns(name: str) -> list[str]:
    return [definition.split(" ")[0] for definition in TABLES[name].split(", ")]
