"""Differences between two snapshots: of what is declared, of files, of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelake.model.schema import Column
from tidelake.model.table import PartitionSpec, SortKey, TableInfo


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is declared otherwise, for example `column renamed`: `price` to `cost`.

    `subject` is what it is about, by its name at the end, or the last that it had.
    """

    kind: str
    subject: str
    before: str | None = None
    after: str | None = None

    def __str__(self) -> str:
        if self.before is None and self.after is None:
            return f"{self.kind}: {self.subject}"
        if self.before is None or self.after is None:
            return f"{self.kind}: {self.subject} {self.after or self.before}"
        return f"{self.kind}: {self.subject} ({self.before} -> {self.after})"


@dataclass(frozen=True, slots=True)
class FileDifference:
    """Data files that only one of the snapshots has."""

    added: int = 0
    added_bytes: int = 0
    removed: int = 0
    removed_bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __str__(self) -> str:
        return (
            f"{self.added:,} added ({self.added_bytes:,} bytes),"
            f" {self.removed:,} removed ({self.removed_bytes:,} bytes)"
        )


@dataclass(frozen=True, slots=True)
class RowDifference:
    """Rows, by their ids, that only one of the snapshots has, or that have other values."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)

    def __str__(self) -> str:
        return f"{self.inserted:,} inserted, {self.updated:,} updated, {self.deleted:,} deleted"


def declared_differences(
    before: TableInfo | None, after: TableInfo | None
) -> tuple[Difference, ...]:
    """What is declared otherwise of a table; None where it does not exist."""
    if before is None or after is None:
        table = before or after
        if table is None:
            return ()
        kind = "table created" if before is None else "table dropped"
        return (Difference(kind, str(table.name)),)
    return tuple(_of_table(before, after))


def _of_table(before: TableInfo, after: TableInfo) -> Iterator[Difference]:
    if before.name != after.name:
        yield Difference("table renamed", str(after.name), str(before.name), str(after.name))
    yield from _of_columns(before.schema.columns, after.schema.columns, "")
    names = [{c.id: c.name for c in table.schema} for table in (before, after)]
    for what, one, other in (
        (
            "partitioning",
            _partitioning(before.partitioning, names[0]),
            _partitioning(after.partitioning, names[1]),
        ),
        ("sorting", _sorting(before.sorting), _sorting(after.sorting)),
    ):
        if one != other:
            yield Difference(f"{what} changed", str(after.name), one or "none", other or "none")
    for key in sorted({*before.tags, *after.tags}):
        was, now = before.tags.get(key), after.tags.get(key)
        if was != now:
            yield Difference(f"{key} changed", str(after.name), was or "none", now or "none")


def _of_columns(
    before: Sequence[Column], after: Sequence[Column], inside: str
) -> Iterator[Difference]:
    """By id: a column keeps its own whatever else happens to it."""
    old = {column.id: column for column in before}
    new = {column.id: column for column in after}
    for column in before:
        if column.id not in new:
            yield Difference("column dropped", inside + column.name, column.duckdb_type)
    for column in after:
        if column.id not in old:
            yield Difference("column added", inside + column.name, None, column.duckdb_type)
        else:
            yield from _of_column(old[column.id], column, inside)
    kept = [column.id for column in before if column.id in new]
    if kept != [column.id for column in after if column.id in old]:
        orders = [", ".join(column.name for column in columns) for columns in (before, after)]
        yield Difference("columns reordered", inside.rstrip(".") or "table", *orders)


def _of_column(old: Column, new: Column, inside: str) -> Iterator[Difference]:
    path = inside + new.name
    if old.name != new.name:
        yield Difference("column renamed", path, old.name, new.name)
    if old.type != new.type:
        yield Difference("column retyped", path, old.duckdb_type, new.duckdb_type)
    if old.nullable != new.nullable:
        words = {True: "nullable", False: "not null"}
        yield Difference("nullability changed", path, words[old.nullable], words[new.nullable])
    if (old.default, old.default_is_expression) != (new.default, new.default_is_expression):
        yield Difference("default changed", path, old.default or "none", new.default or "none")
    if old.comment != new.comment:
        yield Difference("comment changed", path, old.comment or "none", new.comment or "none")
    yield from _of_columns(old.children, new.children, f"{path}.")


def _partitioning(spec: PartitionSpec | None, names: Mapping[int, str]) -> str:
    keys = spec.keys if spec else ()
    return ", ".join(_key(names.get(key.column_id, "?"), key.transform) for key in keys)


def _key(column: str, transform: str) -> str:
    if transform == "identity":
        return column
    kind, _, count = transform.partition("(")
    return f"{kind}({count.rstrip(')')}, {column})" if count else f"{kind}({column})"


def _sorting(keys: Sequence[SortKey]) -> str:
    return ", ".join(f"{key.expression} {key.direction} {key.nulls}" for key in keys)
