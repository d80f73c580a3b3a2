"""Checks that what rows point at is there, and that names and ids mean one thing at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import BIG, INLINED_DELETES, Inventory
from tidelake.model.names import fold
from tidelake.verify.values import Problem

_SCHEMA, _TABLE = ("schema", "schema_id"), ("table", "table_id")
_REFERENCES: tuple[tuple[str, str, tuple[str, str]], ...] = (
    ("table", "schema_id", _SCHEMA),
    ("view", "schema_id", _SCHEMA),
    ("macro", "schema_id", _SCHEMA),
    ("macro_impl", "macro_id", ("macro", "macro_id")),
    ("macro_parameters", "macro_id", ("macro", "macro_id")),
    ("column", "table_id", _TABLE),
    ("column_tag", "table_id", _TABLE),
    ("data_file", "table_id", _TABLE),
    ("delete_file", "table_id", _TABLE),
    ("table_stats", "table_id", _TABLE),
    ("table_column_stats", "table_id", _TABLE),
    ("partition_info", "table_id", _TABLE),
    ("sort_info", "table_id", _TABLE),
    ("column_mapping", "table_id", _TABLE),
    ("inlined_data_tables", "table_id", _TABLE),
    ("schema_versions", "table_id", _TABLE),
    ("partition_column", "partition_id", ("partition_info", "partition_id")),
    ("sort_expression", "sort_id", ("sort_info", "sort_id")),
    ("name_mapping", "mapping_id", ("column_mapping", "mapping_id")),
    ("data_file", "mapping_id", ("column_mapping", "mapping_id")),
    ("data_file", "partition_id", ("partition_info", "partition_id")),
    ("delete_file", "data_file_id", ("data_file", "data_file_id")),
)
_COLUMNS = (
    ("column", "parent_column"),
    ("column_tag", "column_id"),
    ("table_column_stats", "column_id"),
    ("partition_column", "column_id"),
)
_RESTORE = "restore what is missing from a backup, or delete the rows that point at it"


def references(inventory: Inventory) -> Iterator[Problem]:
    """No row points at something that is not there."""
    for source, column, (target, key) in _REFERENCES:
        known = {getattr(row, key) for row in inventory.of(target)}
        lost = Counter(
            (getattr(row, column), getattr(row, "table_id", None))
            for row in inventory.of(source)
            if getattr(row, column) is not None and getattr(row, column) not in known
        )
        for (value, table_id), number in lost.items():
            yield _dangling(inventory, source, f"{column} {value}", number, table_id)


def columns(inventory: Inventory) -> Iterator[Problem]:
    """Columns that rows point at exist, and every table has some."""
    known = {(row.table_id, row.column_id) for row in inventory.of("column")}
    for source, column in _COLUMNS:
        for row in inventory.of_tables(source):
            value = getattr(row, column)
            if value is not None and (row.table_id, value) not in known:
                yield _dangling(inventory, source, f"{column} {value}", 1, row.table_id)
    owners = {row.mapping_id: row.table_id for row in inventory.of("column_mapping")}
    for row in inventory.of("name_mapping"):
        owner = owners.get(row.mapping_id)
        if owner is not None and (owner, row.target_field_id) not in known:
            said = f"target_field_id {row.target_field_id}"
            yield _dangling(inventory, "name_mapping", said, 1, owner)
    for kind, what in (("column", "columns"), ("schema_versions", "versions of its columns")):
        for table_id in inventory.wanted_tables:
            if not inventory.of_table(kind, table_id):
                yield Problem(
                    "references",
                    f"the table has no {what}",
                    f"restore its rows of ducklake_{kind}",
                    table=inventory.name(table_id),
                )


def tag_targets(inventory: Inventory) -> Iterator[Problem]:
    """Tags and comments are of something."""
    known = {*inventory.schemas, *inventory.tables}
    known |= {row.view_id for row in inventory.of("view")}
    known |= {row.macro_id for row in inventory.of("macro")}
    for row in inventory.of("tag"):
        if row.object_id not in known:
            yield _dangling(inventory, "tag", f"object_id {row.object_id}", 1, None)


def file_rows(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Statistics and partition values belong to files and columns that are there."""
    columns = {(row.table_id, row.column_id) for row in inventory.of("column")}
    for table in sorted(BIG):
        rows = reader.rows(
            f"SELECT s.table_id, s.data_file_id, count(*) FROM {table} s"
            " LEFT JOIN ducklake_data_file f ON f.data_file_id = s.data_file_id"
            " AND f.table_id = s.table_id WHERE f.data_file_id IS NULL"
            " GROUP BY s.table_id, s.data_file_id"
        )
        kind = table.removeprefix("ducklake_")
        for table_id, file_id, number in rows:
            yield _dangling(inventory, kind, f"data_file_id {file_id}", number, table_id)
        if table != "ducklake_file_partition_value":
            rows = reader.rows(f"SELECT DISTINCT table_id, column_id FROM {table}")
            for table_id, column_id in rows:
                if table_id in inventory.tables and (table_id, column_id) not in columns:
                    yield _dangling(inventory, kind, f"column_id {column_id}", 1, table_id)


def partition_values(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """A file has a value for each key of the partitioning it was written with."""
    keys: Counter[int] = Counter(row.partition_id for row in inventory.of("partition_column"))
    counts = dict(
        reader.rows(
            "SELECT data_file_id, count(*) FROM ducklake_file_partition_value GROUP BY data_file_id"
        )
    )
    for row in inventory.of_tables("data_file"):
        expected = keys[row.partition_id] if row.partition_id is not None else 0
        if counts.get(row.data_file_id, 0) != expected:
            yield Problem(
                "partition-values",
                f"the file has {counts.get(row.data_file_id, 0)} partition values, and its"
                f" partitioning {expected} keys",
                "correct ducklake_file_partition_value, or set the file's partition_id to NULL",
                table=inventory.name(row.table_id),
                file=row.path,
            )


def inline_tables(inventory: Inventory) -> Iterator[Problem]:
    """Tables for small writes are where the catalog says, and no others."""
    registered = {row.table_name: row.table_id for row in inventory.of("inlined_data_tables")}
    for name, table_id in registered.items():
        if name not in inventory.physical:
            yield Problem(
                "inline-tables",
                f"the table {name} is gone, and with it the rows that were in it",
                "restore it from a backup, or delete its row of ducklake_inlined_data_tables",
                table=inventory.name(table_id),
            )
        elif not {"row_id", "begin_snapshot", "end_snapshot"} <= set(inventory.physical[name]):
            yield Problem(
                "inline-tables",
                f"the table {name} lacks row_id, begin_snapshot or end_snapshot",
                "restore it from a backup",
                table=inventory.name(table_id),
            )
    for name in inventory.strays:
        yield Problem(
            "inline-tables",
            f"the table {name} holds rows, and nothing knows of it: they are not read",
            "insert a row for it into ducklake_inlined_data_tables, or drop it",
        )
    for name in inventory.physical:
        owner = name.removeprefix(INLINED_DELETES)
        if name.startswith(INLINED_DELETES) and int_or_none(owner) not in inventory.tables:
            yield Problem(
                "inline-tables",
                f"{name} holds deletes of a table that is not there",
                "drop it",
            )


def int_or_none(text: str) -> int | None:
    return int(text) if text.isdecimal() and text.isascii() else None


def names(inventory: Inventory) -> Iterator[Problem]:
    """At every snapshot a name stands for one thing, and a thing is there once."""
    yield from _clashing(inventory, inventory.of("schema"), _folded("schema_name"), "schemas named")
    relations = [*inventory.of("table"), *inventory.of("view")]
    yield from _clashing(inventory, relations, _relation, "tables or views named")
    columns = inventory.of_tables("column")
    yield from _clashing(inventory, columns, _column, "columns named")
    for kind, key in (
        ("table", ("table_id",)),
        ("view", ("view_id",)),
        ("macro", ("macro_id",)),
        ("column", ("table_id", "column_id")),
        ("partition_info", ("table_id",)),
        ("sort_info", ("table_id",)),
        ("tag", ("object_id", "key")),
        ("column_tag", ("table_id", "column_id", "key")),
    ):
        what = f"rows of ducklake_{kind} for {' and '.join(key)}"
        yield from _clashing(inventory, inventory.of(kind), _fields(*key), what)


def _folded(column: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda row: (fold(getattr(row, column)),)


def _relation(row: Any) -> tuple[object, ...]:
    name = str(getattr(row, "table_name", None) or row.view_name)
    return (row.schema_id, fold(name))


def _column(row: Any) -> tuple[object, ...]:
    return (row.table_id, row.parent_column, fold(row.column_name))


def _fields(*names: str) -> Callable[[Any], tuple[object, ...]]:
    return lambda row: tuple(getattr(row, name) for name in names)


def _clashing(
    inventory: Inventory,
    rows: Iterable[Any],
    key: Callable[[Any], tuple[object, ...]],
    what: str,
) -> Iterator[Problem]:
    for _, row, at in inventory.clashes(rows, key):
        yield Problem(
            "names",
            f"there are two {what} {', '.join(map(str, key(row)[-2:]))}",
            "end one of them where the other begins (end_snapshot), or give it another name",
            table=inventory.name(getattr(row, "table_id", None)),
            snapshot_id=at,
        )


def _dangling(
    inventory: Inventory, source: str, said: str, number: int, table_id: int | None
) -> Problem:
    rows = "a row" if number == 1 else f"{number:,} rows"
    return Problem(
        "references",
        f"ducklake_{source} has {rows} with {said}, which is not there",
        _RESTORE,
        table=inventory.name(table_id),
    )


CHECKS = (references, columns, tag_targets, names, inline_tables)
READING_CHECKS = (file_rows, partition_values)
