"""Compaction as rows of the catalog: other files for the same rows, in the past as well.

Files that were merged leave the catalog, and the file that has their rows stands in for them at
every snapshot, because each row in it names the snapshot that wrote it. Files that were rewritten
end, and stay for the past.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tidelake.catalog.commit import conflict, inline_tables
from tidelake.catalog.commit.contents import (
    FileSpan,
    add_delete_file,
    add_file,
    schedule,
    schedule_delete_file,
)
from tidelake.catalog.commit.entries import Entries, Numbers
from tidelake.catalog.commit.table_statistics import TableStatistics, hold_files
from tidelake.catalog.database.database import Database, Reader
from tidelake.catalog.read import paths, registrations, snapshots
from tidelake.catalog.read.files import among, chunks
from tidelake.errors import Conflict, NotFound, TidelakeError
from tidelake.model.change import CarriedFile, Change, KeptTable, SeenFile, TableChange, Upkeep
from tidelake.model.file import DataFile
from tidelake.model.table import TableInfo

OF_FILES = (
    "ducklake_data_file",
    "ducklake_file_column_stats",
    "ducklake_file_partition_value",
    "ducklake_file_variant_stats",
    "ducklake_delete_file",
)
_GRACE = timedelta(days=1)
"""How long a table for small writes that is no longer listed stays, empty as it is: a DuckDB that
had looked at the catalog before asks it for rows, and fails if it is not there."""
_AGAIN = "compact again"


def check(reader: Reader, change: Change, head: Numbers) -> None:
    """Raise Conflict unless all that compaction starts from is still as it was. Rows that have
    come to the table since do not matter."""
    if head.snapshot_id == change.base:
        return
    for table in change.tables:
        if table.upkeep is not None:
            check_upkeep(reader, table.table, table.upkeep, change.base)


def check_upkeep(reader: Reader, table: TableInfo, upkeep: Upkeep, base: int) -> None:
    """The same for a part of the work, with which nothing else need be wrong."""
    _check_there(reader, table)
    conflict.check_seen(reader, table, _seen(upkeep.sources))
    for kept in upkeep.flushed:
        _check_kept(reader, table, kept, base)


def _check_there(reader: Reader, table: TableInfo) -> None:
    """A table that is dropped keeps the rows that the catalog has of it."""
    if not reader.row(
        "SELECT 1 FROM ducklake_table WHERE table_id = :id AND end_snapshot IS NULL", id=table.id
    ):
        raise Conflict(f"somebody else dropped table {table.name}", hint="there is nothing to do")


def _seen(files: Sequence[DataFile]) -> dict[int, SeenFile]:
    return {
        file.id: SeenFile(frozenset(d.id for d in file.deletes), len(file.deleted_positions))
        for file in files
    }


def _check_kept(reader: Reader, table: TableInfo, kept: KeptTable, base: int) -> None:
    rows = (0, 0)
    if reader.has_table(kept.name):
        rows = reader.rows(
            f'SELECT count(*), count(end_snapshot) FROM "{kept.name}"'
            " WHERE begin_snapshot <= :base",
            base=base,
        )[0]
    if tuple(rows) != (kept.rows, kept.ended):
        raise Conflict(
            f"somebody else changed or flushed rows of {table.name} that the catalog keeps",
            hint=_AGAIN,
        )


def fill(
    reader: Reader,
    entries: Entries,
    change: TableChange,
    statistics: TableStatistics,
    where: tuple[str, int],
) -> None:
    """`where` are the lake's data path, and the snapshot that the work was started from."""
    upkeep, table = change.upkeep, change.table
    assert upkeep is not None
    data_path, base = where
    for token in _tokens(upkeep, table.id):
        entries.say(token)
    _forget(reader, entries, upkeep.merged, (table.id, data_path))
    for annex in entries.annexes:
        annex.files_gone(reader, entries.change, table.id, [file.id for file in upkeep.merged])
    _forget_positions(reader, entries, upkeep, table.id)
    _end(entries, upkeep.rewritten)
    for carried in upkeep.carried:
        _carry(entries, carried, table, data_path)
    partition_id = table.partitioning.id if table.partitioning else None
    for file in upkeep.fresh:
        add_file(entries, file, table, (table.id, partition_id, None, None))
    for delete in upkeep.delete_files:
        add_delete_file(entries, delete, table, data_path)
    written = [*(carried.file for carried in upkeep.carried), *upkeep.fresh]
    hold_files(entries, statistics, table.schema.columns, written)
    if upkeep.flushed:
        statistics.bytes += sum(carried.file.bytes for carried in upkeep.carried)
        statistics.write(entries)
        _empty(reader, entries, upkeep.flushed, table.id, base)
    entries.numbers.file_id()  # DuckDB keeps statistics until this counter moves


def _tokens(upkeep: Upkeep, table_id: int) -> Iterator[str]:
    """More is said than was done, so that a DuckDB which began before us gives up a delete that
    it would lose; what it inserts does no harm."""
    if upkeep.rewritten:
        yield f"rewrite_delete:{table_id}"
    elif upkeep.merged or upkeep.touched:
        yield f"merge_adjacent:{table_id}"
    yield f"inline_flush:{table_id}"


def _carry(entries: Entries, carried: CarriedFile, table: TableInfo, data_path: str) -> None:
    ids = (table.id, carried.partition_id, None, None)
    file_id = add_file(entries, carried.file, table, ids, FileSpan(carried.begin, carried.last))
    if carried.deletes is not None:
        delete = replace(carried.deletes, data_file_id=file_id)
        add_delete_file(entries, delete, table, data_path)


def _forget(
    reader: Reader, entries: Entries, merged: Sequence[DataFile], where: tuple[int, str]
) -> None:
    """Files leave the catalog. Those that are the lake's own are scheduled for deletion."""
    table_id, data_path = where
    for ids in chunks(file.id for file in merged):
        for name in OF_FILES:
            entries.change(f"DELETE FROM {name} WHERE 1 = 1{among(ids)}")
    shared = shared_paths(reader, merged, data_path)
    going = {file.path: file.id for file in reversed(merged) if file.path not in shared}
    by_id = {file_id: path for path, file_id in going.items()}
    mapped = {file.id for file in merged if file.mapping_id is not None}
    ours = registrations.deletable(reader, by_id, data_path, mapped)
    for file_id in sorted(ours):
        schedule(entries, file_id, by_id[file_id], data_path)
    others = {id_: (table_id, path) for id_, path in by_id.items() if id_ not in ours}
    registrations.put_later(entries, registrations.release(reader, others, data_path))
    for delete in (delete for file in merged for delete in file.deletes):
        schedule_delete_file(entries, delete, data_path)


def shared_paths(reader: Reader, merged: Sequence[DataFile], data_path: str) -> set[str]:
    """Paths that other rows of the catalog name too: a file can be registered more than once."""
    registered = {file.path for file in merged if file.mapping_id is not None}
    if not registered:
        return set()
    ours = {file.id for file in merged}
    named = paths.ids_by_path(reader, registered, data_path, "ducklake_data_file")
    return {path for path, ids in named.items() if not ids <= ours}


def _forget_positions(reader: Reader, entries: Entries, upkeep: Upkeep, table_id: int) -> None:
    name = inline_tables.deletes_name(table_id)
    moved = (*upkeep.merged, *upkeep.touched)
    listed = [file.id for file in moved if file.deleted_positions]
    if listed and reader.has_table(name):
        for ids in chunks(listed):
            entries.change(f'DELETE FROM "{name}" WHERE 1 = 1{among(ids, "file_id")}')


def _end(entries: Entries, rewritten: Sequence[DataFile]) -> None:
    for ids in chunks(file.id for file in rewritten):
        entries.end("ducklake_data_file", f"1 = 1{among(ids)}")
        entries.end("ducklake_delete_file", f"1 = 1{among(ids)}")


def _empty(
    reader: Reader, entries: Entries, flushed: Sequence[KeptTable], table_id: int, base: int
) -> None:
    """Take the rows out. Only the newest of these tables gets more: others need not be listed
    any longer once nothing is in them."""
    for kept in flushed:
        entries.change(f'DELETE FROM "{kept.name}" WHERE begin_snapshot <= :base', base=base)
    listed = reader.rows(
        "SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = :id"
        " ORDER BY schema_version",
        id=table_id,
    )
    emptied = {kept.name for kept in flushed}
    for (name,) in listed[:-1]:
        rest = f" WHERE begin_snapshot > {base}" if name in emptied else ""
        if not reader.has_table(name) or not reader.row(f'SELECT 1 FROM "{name}"{rest} LIMIT 1'):
            entries.change(
                "DELETE FROM ducklake_inlined_data_tables"
                " WHERE table_id = :id AND table_name = :name",
                id=table_id,
                name=name,
            )


def sweep(database: Database, table_id: int) -> None:
    """Drop tables for small writes that have not been listed for long. One that somebody is
    using is left for another time."""
    with database.reading() as reader:
        unlisted = _unlisted(reader, table_id) if _quiet(reader, table_id) else []
    for name in unlisted:
        with suppress(TidelakeError), database.writing() as writer:
            if name in _unlisted(writer, table_id):
                if writer.dialect.brief_wait is not None:
                    writer.execute(writer.dialect.brief_wait)
                writer.execute(f'DROP TABLE "{name}"')


def _quiet(reader: Reader, table_id: int) -> bool:
    row = reader.row(
        "SELECT max(snapshot_id) FROM ducklake_snapshot_changes WHERE changes_made LIKE :flush",
        flush=f"%inline_flush:{table_id}%",
    )
    if row is None or row[0] is None:
        return True
    try:
        return snapshots.by_id(reader, row[0]).time < datetime.now(UTC) - _GRACE
    except NotFound:
        return True


def _unlisted(reader: Reader, table_id: int) -> list[str]:
    listed = set(inline_tables.names(reader, table_id))
    versions = reader.rows(
        "SELECT DISTINCT schema_version FROM ducklake_schema_versions WHERE table_id = :id",
        id=table_id,
    )
    names = (f"ducklake_inlined_data_{table_id}_{version}" for (version,) in versions)
    return [name for name in names if name not in listed and reader.has_table(name)]
