"""Rows that DuckLake keeps in the catalog itself, in whatever form each database gives them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.database.dialect import SMALL_INTEGERS, InlineColumn
from tidelake.catalog.read.tables import columns_of_version, visible
from tidelake.model.file import Cells, ColumnarRows, InlinedRows, ManyRows
from tidelake.model.names import fold, quote
from tidelake.model.schema import Column

_FEW = 2_000
_UNLIKE_TEXT = ("blob", "variant", "interval")
_WHOLE = SMALL_INTEGERS - {"boolean"}


def inlined_rows(
    reader: Reader, at: int, table_id: int, wanted: Collection[int]
) -> list[InlinedRows]:
    """The rows kept in the catalog that are visible at a snapshot, with the `wanted` columns."""
    return _found(reader, table_id, wanted, _When(visible(), {"at": at}))


def has_rows(reader: Reader, at: int, table_id: int) -> bool:
    """Whether the catalog keeps any rows that are visible at a snapshot."""
    return any(
        reader.row(f'SELECT 1 FROM "{name}" WHERE {visible()} LIMIT 1', at=at) is not None
        for name, _ in _tables(reader, table_id)
    )


def begun_between(
    reader: Reader, after: int, until: int, table_id: int, wanted: Collection[int]
) -> list[InlinedRows]:
    """Rows that came after one snapshot and up to another, whether or not they have gone."""
    between = "begin_snapshot > :after AND begin_snapshot <= :until"
    return _found(reader, table_id, wanted, _When(between, {"after": after, "until": until}))


def ended_between(
    reader: Reader, after: int, until: int, table_id: int, wanted: Collection[int]
) -> list[InlinedRows]:
    """Rows that went in between; they carry the snapshot at which they did."""
    between = "end_snapshot > :after AND end_snapshot <= :until"
    when = _When(between, {"after": after, "until": until}, "end_snapshot")
    return _found(reader, table_id, wanted, when)


@dataclass(frozen=True, slots=True)
class KeptHistory:
    """All rows in one of the catalog's own tables that had begun by a snapshot; `ends` are those
    that have ended, as (row id, begin snapshot, end snapshot)."""

    table_name: str
    schema_version: int
    rows: InlinedRows
    ends: tuple[tuple[int, int, int], ...]


def kept_history(reader: Reader, at: int, table_id: int) -> list[KeptHistory]:
    """Every row that the catalog keeps of a table, also those that no longer count."""
    found = []
    when = _When("begin_snapshot <= :at", {"at": at})
    for name, schema_version in _tables(reader, table_id):
        chosen = _columns(reader, table_id, schema_version)
        ends = reader.rows(
            f'SELECT row_id, begin_snapshot, end_snapshot FROM "{name}"'
            " WHERE begin_snapshot <= :at AND end_snapshot IS NOT NULL",
            at=at,
        )
        if rows := _rows(reader, when, name, chosen):
            kept = InlinedRows(chosen, rows)
            ended = tuple((row[0], row[1], row[2]) for row in ends)
            found.append(KeptHistory(name, schema_version, kept, ended))
    return found


@dataclass(frozen=True, slots=True)
class _When:
    """Which rows by their snapshots, and which of the two they are to carry."""

    condition: str
    values: Mapping[str, int]
    snapshot: str = "begin_snapshot"


def _found(
    reader: Reader, table_id: int, wanted: Collection[int], when: _When
) -> list[InlinedRows]:
    found = []
    for name, schema_version in _tables(reader, table_id):
        declared = _columns(reader, table_id, schema_version)
        chosen = tuple(column for column in declared if column.id in wanted)
        rows = _rows(reader, when, name, chosen)
        if rows:
            found.append(InlinedRows(chosen, rows))
    return found


def _tables(reader: Reader, table_id: int) -> Iterator[tuple[str, int]]:
    """The catalog's own tables for a table, with the version of its columns that each has."""
    rows = reader.rows(
        "SELECT table_name, schema_version FROM ducklake_inlined_data_tables"
        " WHERE table_id = :id ORDER BY schema_version",
        id=table_id,
    )
    return ((name, version) for name, version in rows if reader.has_table(name))


def _columns(reader: Reader, table_id: int, schema_version: int) -> tuple[Column, ...]:
    """The columns of a version, in the types in which their values come out of the database."""
    declared = columns_of_version(reader, table_id, schema_version)
    return tuple(reader.dialect.read_as(column) for column in declared)


Rows = tuple[()] | ColumnarRows | ManyRows


def _rows(reader: Reader, when: _When, name: str, chosen: tuple[Column, ...]) -> Rows:
    stored = _stored_names(reader, name)
    spelled = [(column, stored.get(fold(column.name), column.name)) for column in chosen]
    values = "".join(f", {reader.dialect.inline_sql(c, quote(name))}" for c, name in spelled)
    sql = f'SELECT row_id, {when.snapshot}{values} FROM "{name}" WHERE {when.condition}'
    found = reader.columns(f"{sql} LIMIT {_FEW + 1}", **when.values)
    if found and len(found[0]) > _FEW:
        if (many := _many(reader, when, name, spelled)) is not None:
            return many
        found = reader.columns(sql, **when.values)
    if not found:
        return ()
    row_ids, snapshots, *cells = _in_order(found)
    return ColumnarRows([row_ids, snapshots, *map(_values, cells, chosen)])


def _many(
    reader: Reader, when: _When, name: str, spelled: Sequence[tuple[Column, str]]
) -> ManyRows | None:
    """Many rows, where the database gives them together; in the order of their ids."""
    if any(column.type in _UNLIKE_TEXT for column, _ in spelled):
        return None
    wanted = [InlineColumn("row_id", is_whole=True), InlineColumn(when.snapshot, is_whole=True)]
    wanted += [reader.dialect.inline_column(column, quote(name)) for column, name in spelled]
    return reader.gather(name, wanted, when.condition, when.values)


def _in_order(columns: list[list[Any]]) -> list[list[Any]]:
    """By the row ids. Mostly they are already, and then a database would sort for nothing."""
    row_ids = columns[0]
    if row_ids == sorted(row_ids):
        return columns
    places = sorted(range(len(row_ids)), key=row_ids.__getitem__)
    return [list(map(cells.__getitem__, places)) for cells in columns]


def _stored_names(reader: Reader, table: str) -> dict[str, str]:
    """How PostgreSQL spells the columns of a table: DuckDB does not quote them when it makes one,
    so that their capitals are lost. The other databases do not mind the case."""
    spellings = reader.dialect.column_spellings
    rows = [] if spellings is None else reader.rows(spellings, name=table)
    return {fold(name): name for (name,) in rows}


def _values(cells: Cells, column: Column) -> Cells:
    """Each as `_value` has it, or a whole number of a column of such. Many that are of one plain
    type are looked at once."""
    kinds = set(map(type, cells))
    plain = kinds - {NoneType}
    if column.type not in _UNLIKE_TEXT and plain == {str}:
        return cells
    if column.type in _WHOLE and plain == {int}:
        return cells
    if column.type not in _UNLIKE_TEXT and kinds in ({int}, {float}):
        return list(map(str, cells))
    return [_value(cell, column) for cell in cells]


def _value(value: object, column: Column) -> object:
    """None, bytes for blobs and variants, otherwise text."""
    if value is None:
        return None
    if isinstance(value, dict):
        return value["metadata"] + value["value"]
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return raw if column.type in ("blob", "variant") else raw.decode()
    if column.type == "blob":
        return str(value).encode()
    if column.type == "interval":
        return str(value).replace("+", "")  # PostgreSQL's sign, which DuckDB does not read
    return str(value)
