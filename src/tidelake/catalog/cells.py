"""What the cells of a catalog must hold. SQLite takes any value for any column, and no database
minds a NULL that makes no sense: what our code relies on is checked as it is read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from types import NoneType
from typing import Any

from tidelake.catalog.layout import OWN_TABLES, TABLES, definitions_of
from tidelake.errors import Corrupt

NEEDED: dict[str, str] = {
    "ducklake_metadata": "key value",
    "ducklake_snapshot": "snapshot_id snapshot_time schema_version next_catalog_id next_file_id",
    "ducklake_snapshot_changes": "snapshot_id",
    "ducklake_schema": "schema_id begin_snapshot schema_name",
    "ducklake_table": "table_id begin_snapshot schema_id table_name",
    "ducklake_view": "view_id begin_snapshot schema_id view_name sql",
    "ducklake_tag": "object_id begin_snapshot key",
    "ducklake_column_tag": "table_id column_id begin_snapshot key",
    "ducklake_data_file": (
        "data_file_id table_id begin_snapshot path record_count file_size_bytes"
    ),
    "ducklake_delete_file": (
        "delete_file_id table_id begin_snapshot data_file_id path format delete_count"
        " file_size_bytes"
    ),
    "ducklake_column": "column_id begin_snapshot table_id column_order column_name column_type",
    "ducklake_table_stats": "table_id record_count next_row_id",
    "ducklake_table_column_stats": "table_id column_id",
    "ducklake_partition_info": "partition_id table_id begin_snapshot",
    "ducklake_partition_column": "partition_id table_id partition_key_index column_id transform",
    "ducklake_files_scheduled_for_deletion": "path schedule_start",
    "ducklake_inlined_data_tables": "table_id table_name schema_version",
    "ducklake_column_mapping": "mapping_id table_id type",
    "ducklake_name_mapping": "mapping_id column_id source_name target_field_id",
    "ducklake_schema_versions": "begin_snapshot schema_version",
    "ducklake_macro": "schema_id macro_id macro_name begin_snapshot",
    "ducklake_macro_impl": "macro_id impl_id sql type",
    "ducklake_macro_parameters": "macro_id impl_id column_id",
    "ducklake_sort_info": "sort_id table_id begin_snapshot",
    "ducklake_sort_expression": "sort_id table_id sort_key_index expression",
}
"""Columns without which a row of DuckLake's says nothing."""

_INLINED = {
    "ducklake_inlined_data_": "row_id int, begin_snapshot int, end_snapshot int",
    "ducklake_inlined_delete_": "file_id int, row_id int, begin_snapshot int",
}
_INLINED_NEEDED = {"row_id", "begin_snapshot", "file_id"}
_TABLE = re.compile(r"\b(?:ducklake|tidelake)_[a-z0-9_]+")
_GATHERED = re.compile(r"(?:(?:max|min|coalesce)\()+(?:\w+\.)?(\w+)\)(?:, [\d:]\w*\))*", re.I)
_SQLITE_TYPES: dict[str, frozenset[type]] = {
    "int": frozenset({int}),
    "bool": frozenset({int}),
    "text": frozenset({str}),
    "name": frozenset({str}),
    "time": frozenset({str}),
    "blob": frozenset({bytes}),
}
_KIND_WORDS = {"int": "number", "bool": "truth value", "time": "timestamp", "blob": "bytes"}
_SHOWN = 60
_KNOWN: dict[str, str] = TABLES | OWN_TABLES
_NEEDED: dict[str, str] = NEEDED | {"tidelake_zone": "table_id column_id zone"}


def know(layouts: Mapping[str, str], needed: Mapping[str, str]) -> None:
    """Of tables that are made later, what their columns are, and which a row needs."""
    _KNOWN.update(layouts)
    _NEEDED.update(needed)
    _wanted.cache_clear()
    _layout.cache_clear()


def check(sql: str, names: Sequence[str], rows: Sequence[Sequence[Any]], *, typed: bool) -> None:
    """Corrupt if a cell of an answer holds what it must not. `typed`: the database itself sees to
    the types, so that only NULLs are looked for."""
    for place, column, kind, allowed in _wanted(sql, tuple(names), typed):
        cells = map(itemgetter(place), rows)
        if typed:
            if None in list(cells):
                raise _wrong(sql, column, kind, next(r for r in rows if r[place] is None), place)
        elif not allowed.issuperset(map(type, cells)):
            row = next(row for row in rows if type(row[place]) not in allowed)
            raise _wrong(sql, column, kind, row, place)


def check_columns(sql: str, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
    """The same for an answer column by column, of a database that does not see to types."""
    for place, column, kind, allowed in _wanted(sql, tuple(names), typed=False) if columns else ():
        if not allowed.issuperset(map(type, columns[place])):
            rows = zip(*columns, strict=True)
            row = next(row for row in rows if type(row[place]) not in allowed)
            raise _wrong(sql, column, kind, row, place)


Cell = tuple[int, str, str, frozenset[type]]


@lru_cache(maxsize=1024)
def _wanted(sql: str, names: tuple[str, ...], typed: bool) -> tuple[Cell, ...]:
    """Of which columns of an answer it is known what they must hold, as they are called like
    those of the tables that the query is of."""
    tables = sorted(set(_TABLE.findall(sql)))
    own = [name for name in tables if name.startswith(tuple(_INLINED)) and name not in TABLES]
    layouts = [_layout(name) for name in own or tables]
    outer = "LEFT" in sql.upper()
    found = []
    for place, said in enumerate(names):
        name, is_whole = _column(said)
        told = [layout[name] for layout in layouts if name in layout]
        kinds = {kind for kind, _ in told}
        if len(kinds) != 1 or not kinds <= _SQLITE_TYPES.keys():
            continue
        (kind,) = kinds
        needed = is_whole and not outer and all(is_needed for _, is_needed in told)
        allowed = _SQLITE_TYPES[kind] | (frozenset() if needed else {NoneType})
        if needed or not typed:
            found.append((place, name, kind, allowed))
    return tuple(found)


def _column(said: str) -> tuple[str, bool]:
    """Which column a part of an answer is of, and whether it is that column itself: it may be its
    maximum or the like, which is there or not."""
    found = _GATHERED.fullmatch(said)
    return (found.group(1), False) if found else (said, True)


@cache
def _layout(table: str) -> dict[str, tuple[str, bool]]:
    """The kinds of a table's columns, and whether they are needed."""
    for prefix, layout in _INLINED.items():
        if table.startswith(prefix) and table not in TABLES:
            return _kinds(layout, _INLINED_NEEDED)
    layout = _KNOWN.get(table, "")
    needed = _NEEDED.get(table, "").split()
    return _kinds(layout, needed)


def _kinds(layout: str, needed: Collection[str]) -> dict[str, tuple[str, bool]]:
    found = definitions_of(layout)
    return {each.column: (each.kind, each.column in needed) for each in found}


def _wrong(sql: str, column: str, kind: str, row: Sequence[Any], place: int) -> Corrupt:
    tables = [name for name in sorted(set(_TABLE.findall(sql))) if column in _layout(name)]
    value = "nothing" if row[place] is None else repr(row[place])[:_SHOWN]
    beside = ", ".join(repr(cell)[:_SHOWN] for cell in row[:4])
    return Corrupt(
        f"{' or '.join(tables)} has {value} as {column}, where a"
        f" {_KIND_WORDS.get(kind, 'text')} must be, in the row ({beside}, …)",
        hint="`tidelake verify` tells what else is wrong; restore the catalog from a backup",
    )
