"""What is declared otherwise of a table at two snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidelake.history.values_diff import Difference
from tidelake.model.schema import Column
from tidelake.model.table import PartitionSpec, SortKey, TableInfo
from tidelake.plan.partitioning.transforms import transform_of


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
    shown = (transform_of(key.transform).shown(names.get(key.column_id, "?")) for key in keys)
    return ", ".join(shown)


def _sorting(keys: Sequence[SortKey]) -> str:
    return ", ".join(f"{key.expression} {key.direction} {key.nulls}" for key in keys)
