"""What `ducklake_table_stats` and `ducklake_table_column_stats` say of a table after a write.

DuckDB answers questions from these rows without looking at data, so they are exact or NULL. They
hold for every snapshot at once, so they only ever widen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelake.catalog.database import Reader
from tidelake.catalog.entries import Entries
from tidelake.model.change import ColumnFacts, Write
from tidelake.model.comparable import FLOATS
from tidelake.model.extremes import greatest, least
from tidelake.model.schema import Column


@dataclass(slots=True)
class TableStatistics:
    """`known` is False for a table that has never had rows."""

    table_id: int
    known: bool = False
    rows: int = 0
    next_row_id: int = 0
    bytes: int = 0

    @staticmethod
    def read(reader: Reader, table_id: int) -> TableStatistics:
        row = reader.row(
            "SELECT record_count, next_row_id, file_size_bytes FROM ducklake_table_stats"
            " WHERE table_id = :id",
            id=table_id,
        )
        if row is None:
            return TableStatistics(table_id)
        return TableStatistics(table_id, True, *(int(value or 0) for value in row))

    def take_row_ids(self, count: int) -> int:
        """The first of that many new row ids."""
        self.next_row_id += count
        return self.next_row_id - count

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


@dataclass(frozen=True, slots=True)
class _Column:
    """What is known of a column over the whole table."""

    contains_null: bool
    contains_nan: bool | None
    min: str | None
    max: str | None
    has_values: bool = True


def widen_columns(
    reader: Reader, entries: Entries, table_id: int, write: Write, known: bool
) -> None:
    """Columns that were added to a table with rows have no row here, and get none: it would have
    to cover what the older files are read as."""
    leaves = {leaf.id: leaf for column in write.columns for leaf in column.leaves()}
    coming = {leaf.id: _coming(leaf, write) for leaf in leaves.values()}
    if not known:
        for column_id, facts in coming.items():
            column = _united(leaves[column_id], facts)
            entries.add(
                "ducklake_table_column_stats",
                table_id=table_id,
                column_id=column_id,
                **_values(column),
            )
        return
    for column_id, before in _stored(reader, table_id).items():
        if column_id in coming:
            after = _widened(
                leaves[column_id], before, _united(leaves[column_id], coming[column_id])
            )
            if after != before:
                entries.change(
                    "UPDATE ducklake_table_column_stats SET contains_null = :contains_null,"
                    " contains_nan = :contains_nan, min_value = :min_value,"
                    " max_value = :max_value, extra_stats = NULL"
                    " WHERE table_id = :table AND column_id = :column",
                    table=table_id,
                    column=column_id,
                    **_values(after),
                )


def _values(column: _Column) -> dict[str, object]:
    return {
        "contains_null": column.contains_null,
        "contains_nan": column.contains_nan,
        "min_value": column.min,
        "max_value": column.max,
    }


def _stored(reader: Reader, table_id: int) -> Mapping[int, _Column]:
    rows = reader.rows(
        "SELECT column_id, contains_null, contains_nan, min_value, max_value"
        " FROM ducklake_table_column_stats WHERE table_id = :id",
        id=table_id,
    )
    return {
        row[0]: _Column(
            row[1] is None or bool(row[1]), None if row[2] is None else bool(row[2]), row[3], row[4]
        )
        for row in rows
    }


def _coming(leaf: Column, write: Write) -> list[ColumnFacts]:
    """What is known of the column in every new file and row."""
    found = []
    for file in write.files:
        facts = next((f for f in file.columns if f.column_id == leaf.id), None)
        found.append(facts or ColumnFacts(leaf.id))
    places = {column.id: place for place, column in enumerate(write.columns)}
    if leaf.id in places:
        found += [of_value(leaf, row.values[places[leaf.id]]) for row in write.rows]
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
    valued = [f for f in facts if f.values != 0]
    return _Column(
        contains_null=any(f.nulls != 0 for f in facts),
        contains_nan=_any_nan(leaf, [f.contains_nan for f in facts]),
        min=least(leaf.type, [f.min for f in valued]),
        max=greatest(leaf.type, [f.max for f in valued]),
        has_values=bool(valued),
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
    )
