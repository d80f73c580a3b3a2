"""A whole catalog into another database, of whatever kind: every row, of every snapshot.

Both sides are one transaction each. What is not finished is no lake: the row that makes it one is
written last of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tidelake.catalog import create, own_tables, recovery
from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.layout import (
    OWN_TABLES,
    TABLES,
    VERSION,
    Definition,
    create_table,
    definitions_of,
)
from tidelake.catalog.read import inlined_data, snapshots
from tidelake.catalog.read.inlined_data import KeptHistory
from tidelake.catalog.read.snapshots import as_instant
from tidelake.catalog.read.tables import columns_of_version
from tidelake.errors import Invalid, Unsupported
from tidelake.model.file import InlinedRows
from tidelake.model.schema import Column

_METADATA = "ducklake_metadata"
_INLINED = "ducklake_inlined_data_tables"
_TRUE = ("1", "true", "t")
_FIRST = {"ducklake_snapshot": 0, "ducklake_snapshot_changes": 0, "ducklake_schema": 0}
"""The rows that a lake is made with, by what they begin with."""

Counts = dict[str, int]
"""How many rows each table has."""


def check_free(reader: Reader) -> None:
    """Raise Invalid if a lake is there, or rows of one."""
    if create.is_lake(reader):
        raise Invalid(
            "there is a lake already", hint="name an empty database, or a file that is not there"
        )
    for name in TABLES:
        if reader.has_table(name) and reader.row(f'SELECT 1 FROM "{name}" LIMIT 1') is not None:
            raise Invalid(
                f"{name} has rows, and they are of no finished lake",
                hint="name an empty database; if nobody needs these, drop the ducklake_* tables",
            )


def transfer(reader: Reader, writer: Writer) -> Counts:
    """Copy all that a lake has in its catalog. Requires: nothing is there, as `check_free` says."""
    layouts = _layouts(reader)
    kept = _kept(reader, writer)
    deletes = _with_deletes(reader)
    _create(writer, layouts, kept, deletes)
    counts = {}
    for name in (*(each for each in layouts if each != _METADATA), _METADATA):
        counts[name] = _copy(reader, writer, name, layouts[name])
    counts |= _copy_kept(writer, kept)
    counts |= _copy_deletes(reader, writer, deletes)
    _finish(writer)
    return counts


def _layouts(reader: Reader) -> dict[str, list[Definition]]:
    """The tables that are there, DuckLake's and ours, with the columns that they have."""
    physical: dict[str, set[str]] = {}
    for table, column in reader.rows(reader.dialect.every_column):
        physical.setdefault(table, set()).add(column)
    known = TABLES | OWN_TABLES | own_tables.layouts()
    return {
        name: [each for each in definitions_of(layout) if each.column in physical[name]]
        for name, layout in known.items()
        if name in physical
    }


def _create(
    writer: Writer,
    layouts: Mapping[str, object],
    kept: Sequence[KeptHistory],
    deletes: Sequence[int],
) -> None:
    for name in (*TABLES, *OWN_TABLES):
        if not writer.has_table(name):
            writer.execute(create_table(name, writer.dialect.types))
    for name in layouts:
        if name not in TABLES and name not in OWN_TABLES:
            own_tables.ensure(writer, name)
    for each in kept:
        writer.execute(f'DROP TABLE IF EXISTS "{each.table_name}"')
        writer.execute(inline_tables.create_sql(writer.dialect, each.table_name, each.rows.columns))
    for table_id in deletes:
        writer.execute(f'DROP TABLE IF EXISTS "{inline_tables.deletes_name(table_id)}"')
        writer.execute(inline_tables.create_deletes_sql(table_id))


def fill(reader: Reader, writer: Writer) -> None:
    """All that a catalog has, but for settings, into that of a lake that is new: it stays this
    lake, with its own first snapshot and its own first schema."""
    recovery.check_new(writer)
    layouts = {name: each for name, each in _layouts(reader).items() if _has_rows(reader, name)}
    _create(writer, layouts, (), ())
    for name, columns in layouts.items():
        if name != _METADATA:
            _copy(reader, writer, name, columns, without=_FIRST.get(name))
    first = snapshots.by_id(reader, recovery.BEFORE).time
    if first < snapshots.by_id(writer, recovery.BEFORE).time:
        recovery.set_time(writer, recovery.BEFORE, first)


def _has_rows(reader: Reader, name: str) -> bool:
    return reader.row(f'SELECT 1 FROM "{name}" LIMIT 1') is not None


# Rows of DuckLake's tables and of ours.


def _copy(
    reader: Reader,
    writer: Writer,
    name: str,
    columns: Sequence[Definition],
    without: object = "version",
) -> int:
    """Rows of the catalog's own that begin with `without` are left out, as is the version: it makes
    the tables a lake."""
    count, converters = 0, _converters(writer)
    for rows in _pages(reader, name, columns):
        values = [_converted(row, columns, converters) for row in rows]
        if name == _METADATA or name in _FIRST:
            values = [row for row in values if row[0] != without]
        writer.insert_values(name, [each.column for each in columns], values)
        count += len(rows)
    return count


def _pages(reader: Reader, name: str, columns: Sequence[Definition]) -> Iterator[list[Any]]:
    """The rows, of one table of the lake at a time where they say whose they are."""
    listed = ", ".join(
        reader.dialect.instant.format(f'"{each.column}"')
        if each.kind == "time"
        else f'"{each.column}"'
        for each in columns
    )
    if "table_id" not in {each.column for each in columns}:
        yield reader.rows(f'SELECT {listed} FROM "{name}"')
        return
    ids = [row[0] for row in reader.rows(f'SELECT DISTINCT table_id AS own FROM "{name}"')]
    for table_id in sorted(ids, key=lambda each: -1 if each is None else each):
        which = "IS NULL" if table_id is None else f"= {int(table_id)}"
        yield reader.rows(f'SELECT {listed} FROM "{name}" WHERE table_id {which}')


def _converted(
    row: Sequence[Any],
    columns: Sequence[Definition],
    converters: Mapping[str, Callable[[Any], object]],
) -> list[object]:
    return [
        None if value is None else converters[each.kind](value)
        for value, each in zip(row, columns, strict=True)
    ]


def _converters(writer: Writer) -> dict[str, Callable[[Any], object]]:
    return {
        "int": int,
        "id": int,
        "text": str,
        "name": str,
        "uuid": str,
        "bool": bool,
        "blob": bytes,
        "time": lambda value: writer.dialect.moment(as_instant(value)),
    }


# Rows that the catalog keeps of tables.


def _kept(reader: Reader, writer: Writer) -> list[KeptHistory]:
    """Every table for small writes, with all its rows, in the types that it was declared with."""
    at = snapshots.head_id(reader)
    listed = reader.rows(f"SELECT table_id, table_name, schema_version FROM {_INLINED}")
    found = []
    for table_id in sorted({int(row[0]) for row in listed}):
        full = {each.table_name: each for each in inlined_data.kept_history(reader, at, table_id)}
        for _, name, version in (row for row in listed if row[0] == table_id):
            declared = columns_of_version(reader, table_id, version)
            history = full.get(name)
            if inline_tables.can_inline(writer.dialect, declared):
                found.append(_history(name, version, declared, history))
            elif history is not None:
                raise Unsupported(
                    f"the catalog keeps rows of table {table_id} that the other database cannot",
                    hint="lake.compact() puts them into files first",
                )
    return found


def _history(
    name: str, version: int, declared: Sequence[Column], found: KeptHistory | None
) -> KeptHistory:
    rows = () if found is None else found.rows.rows
    ends = () if found is None else found.ends
    return KeptHistory(name, version, InlinedRows(tuple(declared), rows), ends)


def _copy_kept(writer: Writer, kept: Sequence[KeptHistory]) -> Counts:
    counts = {}
    for history in kept:
        ends = {(row_id, begin): end for row_id, begin, end in history.ends}
        columns = history.rows.columns
        names = [writer.dialect.inline_name(column.name) for column in columns]
        values = [
            (
                row[0],
                row[1],
                ends.get((int(str(row[0])), int(str(row[1])))),
                *(_kept_value(writer, c, v) for c, v in zip(columns, row[2:], strict=True)),
            )
            for row in history.rows.rows
        ]
        spans = ("row_id", "begin_snapshot", "end_snapshot")
        writer.insert_values(history.table_name, [*spans, *names], values)
        counts[history.table_name] = len(values)
    _forget_others(writer, [each.table_name for each in kept])
    return counts


def _kept_value(writer: Writer, column: Column, value: object) -> object:
    """Databases that have no truth values give numbers for them."""
    if value is None:
        return None
    if column.type == "boolean":
        value = "true" if str(value).lower() in _TRUE else "false"
    return writer.dialect.inline_value(column, value)


def _forget_others(writer: Writer, names: Sequence[str]) -> None:
    """Those that the other database cannot have were empty."""
    listed = writer.rows(f"SELECT table_name FROM {_INLINED}")
    for name in {row[0] for row in listed} - set(names):
        writer.execute(f"DELETE FROM {_INLINED} WHERE table_name = :name", name=name)


def _with_deletes(reader: Reader) -> list[int]:
    """Tables of which the catalog keeps deletes from files."""
    tables = {int(row[0]) for row in reader.rows("SELECT table_id FROM ducklake_table")}
    return [each for each in sorted(tables) if reader.has_table(inline_tables.deletes_name(each))]


def _copy_deletes(reader: Reader, writer: Writer, tables: Sequence[int]) -> Counts:
    counts = {}
    columns = ("file_id", "row_id", "begin_snapshot")
    for table_id in tables:
        name = inline_tables.deletes_name(table_id)
        rows = reader.rows(f'SELECT {", ".join(columns)} FROM "{name}"')
        writer.insert_values(name, columns, [[int(cell) for cell in row] for row in rows])
        counts[name] = len(rows)
    return counts


def _finish(writer: Writer) -> None:
    writer.insert(_METADATA, [{"key": "version", "value": VERSION}])
