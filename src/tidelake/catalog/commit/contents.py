"""Files, deletes and catalog rows that come and go, as rows of the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.commit.entries import STATISTICS, Entries
from tidelake.catalog.commit.table_statistics import TableStatistics, widen_columns
from tidelake.catalog.database.database import Reader
from tidelake.catalog.database.dialect import Dialect
from tidelake.catalog.read import registrations
from tidelake.catalog.read.files import among, chunks
from tidelake.catalog.read.paths import from_data_path
from tidelake.model.change import NewDeleteFile, NewFile, NewRow, TableChange, Write
from tidelake.model.file import DeleteFile, MappedField
from tidelake.model.ownership import is_own
from tidelake.model.schema import Column
from tidelake.model.table import TableInfo


def fill(
    reader: Reader,
    entries: Entries,
    change: TableChange,
    statistics: TableStatistics,
    data_path: str,
) -> None:
    """The rows of everything that the change writes to and deletes from one table."""
    write, table = change.write, change.table
    if write.adds:
        _add(reader, entries, write, table, statistics, data_path)
    if write.removes:
        _remove(reader, entries, write, table, data_path)


def _add(
    reader: Reader,
    entries: Entries,
    write: Write,
    table: TableInfo,
    statistics: TableStatistics,
    data_path: str,
) -> None:
    table_id = statistics.table_id
    widen_columns(entries, statistics, write)
    partition_id = entries.partition_ids.get(table_id, write.partition_id)
    mappings: dict[tuple[MappedField, ...], int] = {}
    row_ids = _row_ids(write, statistics)
    last: tuple[MappedField, ...] | None = None
    mapping_id: int | None = None
    for file, first in zip(write.files, row_ids, strict=False):
        if file.mapping is not last:
            last = file.mapping
            mapping_id = None if last is None else mappings.get(last)
        if last is not None and mapping_id is None:
            mapping_id = mappings[last] = _add_mapping(entries, table_id, last)
        file_id = add_file(entries, file, table, (table_id, partition_id, mapping_id, first))
        registrations.add(entries, file, table_id, file_id, data_path)
        if file.deletes is not None:
            own = replace(file.deletes, data_file_id=file_id)
            add_delete_file(entries, own, replace(table, id=table_id), "")
        statistics.rows += file.rows
        statistics.bytes += file.bytes
    if write.files:
        entries.say(f"inserted_into_table:{table_id}")
    if write.rows:
        _add_catalog_rows(reader, entries, write, table_id, row_ids[len(write.files) :])
        statistics.rows += len(write.rows)
    statistics.write(entries)


def _row_ids(write: Write, statistics: TableStatistics) -> list[int | None]:
    """The first row id of each file, then that of each row for the catalog. The new ones grow in
    the order in which the transaction wrote."""
    added: list[NewFile | NewRow] = [*write.files, *write.rows]
    found: list[int | None] = [None] * len(added)
    for number in sorted(range(len(added)), key=lambda number: added[number].order):
        found[number] = _row_id(added[number], statistics)
    return found


def _row_id(added: NewFile | NewRow, statistics: TableStatistics) -> int | None:
    if isinstance(added, NewRow):
        return statistics.take_row_ids(1) if added.row_id is None else added.row_id
    # A first row id beside embedded ones would make DuckDB's compaction trust the former.
    if added.carries_row_ids:
        statistics.keep_row_ids(added.first_row or 0, 0)
        return None
    if added.first_row is not None:
        return statistics.keep_row_ids(added.first_row, added.rows)
    return statistics.take_row_ids(added.rows)


class FileSpan(NamedTuple):
    """The first and the last snapshot whose rows a file holds, and the one that ended it. Without
    a last, all rows are of the first."""

    begin: int
    last: int | None = None
    end: int | None = None


def add_file(
    entries: Entries,
    file: NewFile,
    table: TableInfo,
    ids: tuple[int, int | None, int | None, int | None],
    span: FileSpan | None = None,
) -> int:
    """The rows of one data file, and its id. `ids` are those of the table, the partitioning, the
    name mapping and the first row; `span` is given if its rows are older than this snapshot."""
    table_id, partition_id, mapping_id, first_row_id = ids
    begin, last, end = span or FileSpan(entries.snapshot_id)
    file_id = entries.numbers.file_id()
    inside = file.path.startswith(table.path)
    row = (
        begin,
        end,
        file_id,
        table_id,
        file.path[len(table.path) :] if inside else file.path,
        inside,
        "parquet",
        file.rows,
        file.bytes,
        file.footer_size,
        first_row_id,
        None if file.partition_values is None else partition_id,
        mapping_id,
        last,
    )
    entries.rows["ducklake_data_file", _DATA_FILE].append(row)
    _describe(entries, file, table_id, file_id)
    entries.tell_annexes(table_id, file_id, file)
    return file_id


def _describe(entries: Entries, file: NewFile, table_id: int, file_id: int) -> None:
    """What is in a data file: its statistics, and the values that its partition has."""
    entries.facts.append((file_id, table_id, file.columns))
    for variant in file.variants:
        entries.add(
            "ducklake_file_variant_stats",
            variant_path=variant.path,
            shredded_type=variant.shredded_type,
            **dict(zip(STATISTICS, (file_id, table_id, *variant.facts), strict=True)),
        )
    for index, value in enumerate(file.partition_values or ()):
        entries.add(
            "ducklake_file_partition_value",
            data_file_id=file_id,
            table_id=table_id,
            partition_key_index=index,
            partition_value=value,
        )


_DATA_FILE = (
    "begin_snapshot",
    "end_snapshot",
    "data_file_id",
    "table_id",
    "path",
    "path_is_relative",
    "file_format",
    "record_count",
    "file_size_bytes",
    "footer_size",
    "row_id_start",
    "partition_id",
    "mapping_id",
    "partial_max",
)


def _add_mapping(entries: Entries, table_id: int, mapping: Sequence[MappedField]) -> int:
    mapping_id = entries.numbers.file_id()
    entries.add(
        "ducklake_column_mapping", mapping_id=mapping_id, table_id=table_id, type="map_by_name"
    )
    for ordinal, (field, parent) in enumerate(_numbered(mapping)):
        entries.add(
            "ducklake_name_mapping",
            mapping_id=mapping_id,
            column_id=ordinal,
            source_name=field.source_name,
            target_field_id=field.field_id,
            parent_column=parent,
            is_partition=field.is_partition,
        )
    return mapping_id


def _numbered(mapping: Sequence[MappedField]) -> Iterator[tuple[MappedField, int | None]]:
    """All fields, parents first, each with its parent's place among them."""
    waiting: list[tuple[MappedField, int | None]] = [(field, None) for field in mapping]
    place = 0
    while waiting:
        field, parent = waiting.pop(0)
        yield field, parent
        waiting += [(child, place) for child in field.children]
        place += 1


def _add_catalog_rows(
    reader: Reader, entries: Entries, write: Write, table_id: int, row_ids: Sequence[int | None]
) -> None:
    dialect = reader.dialect
    name = entries.inline_tables.get(table_id) or write.inline_table
    name = name or inline_tables.newest(reader, table_id, write.columns)
    if name is None:
        # DuckDB makes such a table without a word of its version. Then it cannot read what was
        # before a column was dropped.
        entries.new_version()
        entries.begin_columns(table_id)
        name = inline_tables.create(entries, dialect, table_id, write.columns)
    spelled = [dialect.inline_name(column.name) for column in write.columns]
    columns = ("row_id", "begin_snapshot", *spelled)
    for row, row_id in zip(write.rows, row_ids, strict=True):
        values = _stored(write.columns, row.values, dialect)
        entries.rows[name, columns].append((row_id, entries.snapshot_id, *values))
    if not write.files:
        entries.numbers.file_id()  # DuckDB keeps statistics until this counter moves
    entries.say(f"inlined_insert:{table_id}")


def _stored(columns: Sequence[Column], values: Sequence[object], dialect: Dialect) -> list[object]:
    return [
        None if value is None else dialect.inline_value(column, value)
        for column, value in zip(columns, values, strict=True)
    ]


def _remove(
    reader: Reader, entries: Entries, write: Write, table: TableInfo, data_path: str
) -> None:
    """Both words for a delete are said, whichever it is: DuckDB's own maintenance then breaks
    off instead of losing it."""
    entries.say(f"deleted_from_table:{table.id}")
    entries.say(f"inlined_delete:{table.id}")
    for delete in write.delete_files:
        add_delete_file(entries, delete, table, data_path)
    for ids in chunks(write.ended_files):
        entries.end("ducklake_data_file", f"1 = 1{among(ids)}")
    for name in inline_tables.names(reader, table.id) if write.ended_rows else ():
        for ids in chunks(write.ended_rows):
            entries.end(name, f"1 = 1{among(ids, 'row_id')}")
    if write.positions:
        _add_positions(reader, entries, write, table.id)


def add_delete_file(
    entries: Entries, delete: NewDeleteFile, table: TableInfo, data_path: str
) -> None:
    for old in delete.replaces:
        entries.change("DELETE FROM ducklake_delete_file WHERE delete_file_id = :id", id=old.id)
        schedule_delete_file(entries, old, data_path)
    entries.add(
        "ducklake_delete_file",
        begin_snapshot=entries.snapshot_id if delete.since is None else delete.since,
        delete_file_id=entries.numbers.file_id(),
        table_id=table.id,
        data_file_id=delete.data_file_id,
        path=delete.path.removeprefix(table.path),
        path_is_relative=delete.path.startswith(table.path),
        format="parquet",
        delete_count=delete.rows,
        file_size_bytes=delete.bytes,
        footer_size=delete.footer_size,
        partial_max=delete.stamp,
    )


def schedule_delete_file(entries: Entries, file: DeleteFile, data_path: str) -> None:
    if is_own(file.path, data_path):
        schedule(entries, file.id, file.path, data_path)


def schedule(entries: Entries, file_id: int, path: str, data_path: str) -> None:
    """Have a file that no snapshot needs any more removed some time later. Requires: it is the
    lake's to delete, for DuckDB deletes whatever is on this list."""
    spelled, relative = from_data_path(path, data_path)
    entries.add(
        "ducklake_files_scheduled_for_deletion",
        data_file_id=file_id,
        path=spelled,
        path_is_relative=relative,
        schedule_start=entries.moment,
    )


def _add_positions(reader: Reader, entries: Entries, write: Write, table_id: int) -> None:
    name = inline_tables.deletes_name(table_id)
    if not reader.has_table(name):
        inline_tables.create_deletes(entries, table_id)
    columns = ("file_id", "row_id", "begin_snapshot")
    for file_id, positions in write.positions.items():
        for position in positions:
            entries.rows[name, columns].append((file_id, position, entries.snapshot_id))
