"""What `ducklake_table_stats` and `ducklake_table_column_stats` say of a table after a write.

DuckDB answers questions from these rows without looking at data, so they are exact. They hold for
every snapshot at once, so they only ever widen. Bounds that are NULL mean to DuckDB that the column
has had no values yet, and its next insert puts its own there: where bounds are not known there must
be no row at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.database.backend import Query
from tidelake.catalog.database.database import Row
from tidelake.model.bounds import greatest, least
from tidelake.model.change import ColumnFacts, NewFile, Write
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS

UNBOUNDED = ("blob", "interval", "geometry", "variant")
"""Types of which DuckDB asks no bounds."""


@dataclass(frozen=True, slots=True)
class _Column:
    """What is known of a column over the whole table."""

    contains_null: bool
    contains_nan: bool | None
    min: str | None
    max: str | None
    has_values: bool = True


@dataclass(slots=True)
class TableStatistics:
    """`known` is False for a table that has never had rows."""

    table_id: int
    known: bool = False
    rows: int = 0
    next_row_id: int = 0
    bytes: int = 0
    columns: Mapping[int, _Column] = field(default_factory=dict)

    @staticmethod
    def query(table_id: int) -> Query:
        return (
            "SELECT t.record_count, t.next_row_id, t.file_size_bytes, c.column_id,"
            " c.contains_null, c.contains_nan, c.min_value, c.max_value"
            " FROM ducklake_table_stats t LEFT JOIN ducklake_table_column_stats c"
            " ON c.table_id = t.table_id WHERE t.table_id = :id",
            {"id": table_id},
        )

    @staticmethod
    def of(table_id: int, found: Sequence[Row]) -> TableStatistics:
        """From the rows of the query; a table that never had rows has none."""
        if not found:
            return TableStatistics(table_id)
        rows, next_row_id, size = (int(value or 0) for value in found[0][:3])
        columns = {row[3]: _column(row) for row in found if row[3] is not None}
        return TableStatistics(table_id, True, rows, next_row_id, size, columns)

    def take_row_ids(self, count: int) -> int:
        """The first of that many new row ids."""
        self.next_row_id += count
        return self.next_row_id - count

    def keep_row_ids(self, first: int, count: int) -> int:
        """Row ids that were given already."""
        self.next_row_id = max(self.next_row_id, first + count)
        return first

    def write(self, entries: Entries) -> None:
        if self.known:
            entries.change(
                "UPDATE ducklake_table_stats SET record_count = :rows, next_row_id = :next,"
                " file_size_bytes = :bytes WHERE table_id = :id",
                rows=self.rows,
                next=self.next_row_id,
                bytes=self.bytes,
                id=self.table_id,
            )
        else:
            entries.add(
                "ducklake_table_stats",
                table_id=self.table_id,
                record_count=self.rows,
                next_row_id=self.next_row_id,
                file_size_bytes=self.bytes,
            )


def _column(row: Row) -> _Column:
    null, nan, low, high = row[4:]
    has_values = low is not None or high is not None
    nans = None if nan is None else bool(nan)
    return _Column(null is None or bool(null), nans, low, high, has_values)


def widen_columns(entries: Entries, statistics: TableStatistics, write: Write) -> None:
    """Columns that were added to a table with rows have no row here, and get none: it would have
    to cover what the older files are read as."""
    leaves = {leaf.id: leaf for column in write.columns for leaf in column.leaves()}
    by_column: dict[int, list[ColumnFacts]] = defaultdict(list)
    for file in write.files:
        for facts in file.columns:
            by_column[facts.column_id].append(facts)
    places = {column.id: place for place, column in enumerate(write.columns)}
    coming = {
        leaf.id: _coming(leaf, write, by_column[leaf.id], places.get(leaf.id))
        for leaf in leaves.values()
    }
    table_id = statistics.table_id
    united = {column_id: _united(leaves[column_id], facts) for column_id, facts in coming.items()}
    if not statistics.known:
        for column_id, column in united.items():
            if not _is_vague(leaves[column_id], column):
                entries.add(
                    "ducklake_table_column_stats",
                    table_id=table_id,
                    column_id=column_id,
                    **_values(column),
                )
        return
    for column_id, before in statistics.columns.items():
        if column_id in united:
            after = _widened(leaves[column_id], before, united[column_id])
            if after != before:
                _replace(entries, table_id, leaves[column_id], after)


def hold_files(
    entries: Entries,
    statistics: TableStatistics,
    columns: Sequence[Column],
    files: Sequence[NewFile],
) -> None:
    """Widen by what other files for the same rows have been found to hold. DuckDB's rewrite may
    put NULL for bounds, and its next insert puts those of its own rows there: they are too narrow
    then, and nobody knows before a file is written that has statistics."""
    leaves = {leaf.id: leaf for column in columns for leaf in column.leaves()}
    found: dict[int, list[ColumnFacts]] = {}
    for facts in (facts for file in files for facts in file.columns):
        if facts.values == 0 or (facts.min is not None and facts.max is not None):
            found.setdefault(facts.column_id, []).append(facts)
    for column_id, before in statistics.columns.items():
        if column_id in leaves and column_id in found:
            leaf = leaves[column_id]
            after = _widened(leaf, before, _united(leaf, found[column_id]))
            if after != before:
                _replace(entries, statistics.table_id, leaf, after)


def _is_vague(leaf: Column, column: _Column) -> bool:
    """Whether there are values between bounds that nobody knows."""
    unknown = column.min is None or column.max is None
    return column.has_values and unknown and leaf.type not in UNBOUNDED


def forget_column(entries: Entries, table_id: int, column_id: int) -> None:
    """Say nothing more of a column. Due also when its type changes: DuckDB's next flush would put
    NULL for bounds of another type. It keeps what it has read until a file id is taken, and
    breaks over bounds that are not of the column's type."""
    entries.numbers.file_id()
    entries.change(
        "DELETE FROM ducklake_table_column_stats WHERE table_id = :table AND column_id = :column",
        table=table_id,
        column=column_id,
    )


def _replace(entries: Entries, table_id: int, leaf: Column, column: _Column) -> None:
    if _is_vague(leaf, column):
        forget_column(entries, table_id, leaf.id)
        return
    entries.change(
        "UPDATE ducklake_table_column_stats SET contains_null = :contains_null,"
        " contains_nan = :contains_nan, min_value = :min_value,"
        " max_value = :max_value, extra_stats = NULL"
        " WHERE table_id = :table AND column_id = :column",
        table=table_id,
        column=leaf.id,
        **_values(column),
    )


def _values(column: _Column) -> dict[str, object]:
    return {
        "contains_null": column.contains_null,
        "contains_nan": column.contains_nan,
        "min_value": column.min,
        "max_value": column.max,
    }


def _coming(
    leaf: Column, write: Write, in_files: Sequence[ColumnFacts], place: int | None
) -> list[ColumnFacts]:
    """What is known of the column in every new file and row, where it has that place."""
    found = list(in_files)
    if len(in_files) < len(write.files):
        found.append(ColumnFacts(leaf.id))
    if place is not None:
        found += [of_value(leaf, row.values[place]) for row in write.rows]
    elif write.rows:
        found.append(ColumnFacts(leaf.id))
    return found


def of_value(column: Column, value: object) -> ColumnFacts:
    """What a single value of the catalog's own says of its column. NaN has no place between
    the least and the greatest, so it does not count as a value."""
    if value is None:
        return ColumnFacts(column.id, values=0, nulls=1, contains_nan=False)
    text = value if isinstance(value, str) else None
    if column.type in FLOATS and text == "nan":
        return ColumnFacts(column.id, values=0, nulls=0, contains_nan=True)
    return ColumnFacts(column.id, values=1, nulls=0, min=text, max=text, contains_nan=False)


def _united(leaf: Column, facts: Sequence[ColumnFacts]) -> _Column:
    if not facts:
        return _Column(False, _any_nan(leaf, ()), None, None, False)
    _, _, values, nulls, lows, highs, nans, _ = zip(*facts, strict=True)
    if 0 in values:
        valued = [count != 0 for count in values]
        lows, highs = (tuple(compress(ends, valued)) for ends in (lows, highs))
    return _Column(
        contains_null=nulls.count(0) < len(nulls),
        contains_nan=_any_nan(leaf, nans),
        min=least(leaf.type, lows),
        max=greatest(leaf.type, highs),
        has_values=bool(lows),
    )


def _any_nan(leaf: Column, known: Sequence[bool | None]) -> bool | None:
    if leaf.type not in FLOATS:
        return None
    return True if True in known else None if None in known else False


def _widened(leaf: Column, before: _Column, coming: _Column) -> _Column:
    bounds = [before, coming] if coming.has_values else [before]
    return _Column(
        contains_null=before.contains_null or coming.contains_null,
        contains_nan=_any_nan(leaf, [before.contains_nan, coming.contains_nan]),
        min=least(leaf.type, [column.min for column in bounds]),
        max=greatest(leaf.type, [column.max for column in bounds]),
        has_values=before.has_values or coming.has_values,
    )
