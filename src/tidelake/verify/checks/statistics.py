"""Checks of a table's statistics against those of its files: DuckDB answers from the former."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import counting, files
from tidelake.model.bounds import certain_high, certain_low, is_above, is_below
from tidelake.model.schema import Column
from tidelake.model.statistics import UNCOUNTED, ColumnStats
from tidelake.verify.values import Problem

FileStatistics = Mapping[int, Mapping[int, ColumnStats]]


def file_statistics(inventory: Inventory, reader: Reader, table_id: int) -> FileStatistics:
    """What the catalog says of each column, by file."""
    ids = [row.data_file_id for row in inventory.of_table("data_file", table_id)]
    columns = {row.column_id for row in inventory.of_table("column", table_id)}
    return files.statistics(reader, table_id, columns, ids)


def table_counts(inventory: Inventory, reader: Reader, table_id: int) -> Iterator[Problem]:
    """A table has at least the rows that are there now."""
    stats = inventory.of_table("table_stats", table_id)
    rows = counting.row_count(reader, inventory.head, table_id) or 0
    if len(stats) > 1 or (rows and not stats):
        yield Problem(
            "table-statistics",
            f"ducklake_table_stats has {len(stats)} rows for the table, which has {rows} rows",
            "leave one: record_count = rows ever inserted, next_row_id above every row id",
            table=inventory.name(table_id),
        )
    elif stats and stats[0].record_count < rows:
        yield Problem(
            "table-statistics",
            f"record_count is {stats[0].record_count}, but the table has {rows} rows",
            f"set ducklake_table_stats.record_count to {rows} or more",
            table=inventory.name(table_id),
        )


def table_bounds(
    inventory: Inventory, statistics: FileStatistics, table_id: int
) -> Iterator[Problem]:
    """Bounds of the table hold those of every file that the newest snapshot sees."""
    columns = inventory.columns_at(table_id, inventory.head)
    leaves = {leaf.id: leaf for column in columns for leaf in column.leaves()}
    live = [row for row in inventory.of_table("data_file", table_id) if row.end_snapshot is None]
    for row in inventory.of_table("table_column_stats", table_id):
        leaf = leaves.get(row.column_id)
        if leaf is None:
            continue
        for file in live:
            known = statistics.get(file.data_file_id, {}).get(leaf.id)
            said = outside(leaf, row, _certain(leaf, row, known)) if known else None
            if said:
                yield bounds_problem(inventory.name(table_id), leaf.name, said, file.path)
                break


def _certain(leaf: Column, row: Any, known: ColumnStats) -> ColumnStats:
    """Without bounds of long texts, as far as they do not prove anything."""
    if leaf.type not in ("varchar", "json"):
        return known
    low, high = certain_low(known.min, row.min_value), certain_high(known.max, row.max_value)
    return replace(known, min=low, max=high)


def bounds_problem(table: str | None, column: str, said: str, file: str | None) -> Problem:
    return Problem(
        "table-statistics",
        f"column {column} has {said}, which the table's statistics rule out",
        "widen its row of ducklake_table_column_stats, or delete that row: DuckDB leaves out"
        " rows by it",
        table=table,
        file=file,
    )


def outside(leaf: Column, row: Any, known: ColumnStats) -> str | None:
    """What facts about a column lie beyond its row of ducklake_table_column_stats."""
    if known.value_count != 0 or leaf.type in UNCOUNTED:
        if is_below(leaf.type, known.min, row.min_value):
            return f"a minimum {known.min!r} below {row.min_value!r}"
        if is_above(leaf.type, known.max, row.max_value):
            return f"a maximum {known.max!r} above {row.max_value!r}"
    if known.contains_nan and row.contains_nan is not None and not row.contains_nan:
        return "NaN"
    if known.null_count and row.contains_null is not None and not row.contains_null:
        return "nulls"
    return None
