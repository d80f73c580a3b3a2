"""An erasure as rows of the catalog: files without some of their rows, for the past as well.

A file that loses rows gets a new id, as one that was compacted does: whoever still knows the old
one finds that it has gone. All else that is known of it stays: from which snapshot to which it is
there, which partition it is of, and since when rows of it are deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.commit.contents import FileSpan, add_file
from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.commit.rebuild import OF_FILES
from tidelake.catalog.commit.table_statistics import UNBOUNDED, of_value
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.expire.remove import SCHEDULE
from tidelake.catalog.read import counting, inlined_data, registrations, snapshots, zones
from tidelake.catalog.read.files import among, chunks
from tidelake.catalog.read.paths import from_data_path
from tidelake.catalog.read.tables import visible
from tidelake.model.bounds import greatest, least
from tidelake.model.change import ColumnFacts, NewDeleteFile, PurgedFile, TableChange
from tidelake.model.file import InlinedRows
from tidelake.model.schema import Column
from tidelake.model.table import TableInfo

_WORDS = ("merge_adjacent", "inline_flush", "deleted_from_table", "inlined_delete")
"""Whoever began to delete, update, compact or flush before must begin anew, DuckDB too."""


def fill(
    reader: Reader,
    entries: Entries,
    change: TableChange,
    data_path: str,
) -> None:
    purge, table = change.purge, change.table
    assert purge is not None
    for word in _WORDS:
        entries.say(f"{word}:{table.id}")
    stamps = _delete_rows(reader, table.id, [each.before.id for each in purge.files])
    _forget(reader, entries, purge.files, table.id, data_path)
    for each in purge.files:
        if each.file is not None:
            _replace(entries, each, table, stamps)
    for name, rows in purge.rows.items():
        _remove_rows(entries, name, rows)
    if reader.has_table(zones.TABLE):
        entries.change(f"DELETE FROM {zones.TABLE} WHERE table_id = :id", id=table.id)
    entries.numbers.file_id()  # DuckDB keeps statistics until this counter moves


def _delete_rows(reader: Reader, table_id: int, file_ids: Sequence[int]) -> dict[int, Row]:
    """From when to when delete files hold, and the last snapshot in them, by id."""
    found: dict[int, Row] = {}
    for ids in chunks(file_ids):
        rows = reader.rows(
            "SELECT delete_file_id, begin_snapshot, end_snapshot, partial_max"
            f" FROM ducklake_delete_file WHERE table_id = :id{among(ids)}",
            id=table_id,
        )
        found |= {row[0]: row[1:] for row in rows}
    return found


def _forget(
    reader: Reader,
    entries: Entries,
    files: Sequence[PurgedFile],
    table_id: int,
    data_path: str,
) -> None:
    """The old files leave the catalog. Those that are called as the lake's own, and are not, must
    not be taken for orphans."""
    gone = [each.before.id for each in files]
    deletes = inline_tables.deletes_name(table_id)
    has_deletes = reader.has_table(deletes)
    for ids in chunks(gone):
        for name in OF_FILES:
            entries.change(f"DELETE FROM {name} WHERE 1 = 1{among(ids)}")
        if has_deletes:
            entries.change(f'DELETE FROM "{deletes}" WHERE 1 = 1{among(ids, "file_id")}')
    for annex in entries.annexes:
        annex.files_gone(reader, entries.change, table_id, gone)
    paths = {each.before.id: each.before.path for each in files}
    mapped = {each.before.id for each in files if each.before.mapping_id is not None}
    ours = registrations.deletable(reader, paths, data_path, mapped)
    others = {id_: (table_id, path) for id_, path in paths.items() if id_ not in ours}
    registrations.put_later(entries, registrations.release(reader, others, data_path))


def _replace(
    entries: Entries, each: PurgedFile, table: TableInfo, stamps: Mapping[int, Row]
) -> None:
    old = each.before
    assert each.file is not None
    span = FileSpan(old.begin_snapshot, old.partial_max, old.end_snapshot)
    file_id = add_file(entries, each.file, table, (table.id, old.partition_id, None, None), span)
    for old_id, delete in each.deletes:
        if delete is not None:
            _add_delete_file(entries, delete, table, (file_id, *stamps[old_id]))
    columns = ("file_id", "row_id", "begin_snapshot")
    positions = [(file_id, position, at) for position, at in each.positions]
    if positions:
        entries.rows[inline_tables.deletes_name(table.id), columns] += positions


def _add_delete_file(
    entries: Entries, delete: NewDeleteFile, table: TableInfo, of: tuple[int, int, int, int]
) -> None:
    """`of` are its data file, and what its predecessor said of snapshots."""
    file_id, begin, end, last = of
    entries.add(
        "ducklake_delete_file",
        begin_snapshot=begin,
        end_snapshot=end,
        delete_file_id=entries.numbers.file_id(),
        table_id=table.id,
        data_file_id=file_id,
        path=delete.path.removeprefix(table.path),
        path_is_relative=delete.path.startswith(table.path),
        format="parquet",
        delete_count=delete.rows,
        file_size_bytes=delete.bytes,
        footer_size=delete.footer_size,
        partial_max=last,
    )


def _remove_rows(entries: Entries, name: str, rows: Iterable[tuple[int, int]]) -> None:
    by_begin: dict[int, list[int]] = defaultdict(list)
    for row_id, begin in rows:
        by_begin[begin].append(row_id)
    for begin, row_ids in by_begin.items():
        for ids in chunks(row_ids):
            entries.change(
                f'DELETE FROM "{name}" WHERE begin_snapshot = :begin{among(ids, "row_id")}',
                begin=begin,
            )


def unschedule(writer: Writer, paths: Iterable[str], data_path: str) -> None:
    """Take files off the schedule that are deleted now."""
    for path in paths:
        spelled, relative = from_data_path(path, data_path)
        writer.execute(
            f"DELETE FROM {SCHEDULE} WHERE path = :path AND path_is_relative = :relative",
            path=spelled,
            relative=relative,
        )


def restate(writer: Writer, table: TableInfo) -> None:
    """Statistics of the table from what is left. They hold for every snapshot at once, so all files
    count, whichever snapshots see them. DuckDB answers from them whenever the counted rows are all
    that there are: then they are exact, and otherwise more rows are said to be there."""
    at = snapshots.head_id(writer)
    leaves = {leaf.id: leaf for column in table.schema for leaf in column.leaves()}
    facts = _facts(writer, table.id, at)
    count = writer.rows(
        "SELECT count(*) FROM ducklake_data_file WHERE table_id = :id", id=table.id
    )[0][0]
    known = "SELECT column_id FROM ducklake_table_column_stats WHERE table_id = :id"
    for (column_id,) in writer.rows(known, id=table.id):
        leaf = leaves.get(column_id)
        found = facts.files.get(column_id, [])
        if leaf is None or len(found) != count:
            _forget_bounds(writer, table.id, column_id)
        else:
            _set_bounds(writer, table.id, leaf, [*found, *facts.of_rows(leaf)])
    _set_count(writer, table.id, at)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of each column in each file, and the rows that the catalog keeps."""

    files: Mapping[int, list[ColumnFacts]]
    rows: Sequence[InlinedRows]

    def of_rows(self, leaf: Column) -> list[ColumnFacts]:
        found = []
        for kept in self.rows:
            places = [place for place, each in enumerate(kept.columns, 2) if each.id == leaf.id]
            if places:
                found += [of_value(leaf, row[places[0]]) for row in kept.rows]
            elif kept.rows:
                found.append(ColumnFacts(leaf.id))
        return found


def _facts(reader: Reader, table_id: int, at: int) -> _Facts:
    files: dict[int, list[ColumnFacts]] = defaultdict(list)
    for column_id, values, low, high in reader.rows(
        "SELECT column_id, value_count, min_value, max_value FROM ducklake_file_column_stats"
        " WHERE table_id = :id",
        id=table_id,
    ):
        files[column_id].append(ColumnFacts(column_id, values=values, min=low, max=high))
    kept = inlined_data.kept_history(reader, at, table_id)
    return _Facts(files, [each.rows for each in kept])


def _set_bounds(writer: Writer, table_id: int, leaf: Column, facts: Sequence[ColumnFacts]) -> None:
    valued = [each for each in facts if each.values != 0]
    low = least(leaf.type, [each.min for each in valued])
    high = greatest(leaf.type, [each.max for each in valued])
    vague = bool(valued) and (low is None or high is None)
    if vague and leaf.type not in UNBOUNDED:
        _forget_bounds(writer, table_id, leaf.id)
        return
    writer.execute(
        "UPDATE ducklake_table_column_stats SET min_value = :low, max_value = :high,"
        " extra_stats = NULL WHERE table_id = :id AND column_id = :column",
        low=None if vague else low,
        high=None if vague else high,
        id=table_id,
        column=leaf.id,
    )


def _forget_bounds(writer: Writer, table_id: int, column_id: int) -> None:
    writer.execute(
        "DELETE FROM ducklake_table_column_stats WHERE table_id = :id AND column_id = :column",
        id=table_id,
        column=column_id,
    )


def _set_count(writer: Writer, table_id: int, at: int) -> None:
    stats = writer.row(
        "SELECT record_count FROM ducklake_table_stats WHERE table_id = :id", id=table_id
    )
    if stats is None:
        return
    most = writer.rows(
        "SELECT COALESCE(sum(record_count), 0) FROM ducklake_data_file"
        f" WHERE table_id = :id AND {visible()}",
        id=table_id,
        at=at,
    )[0][0]
    kept = inlined_data.kept_history(writer, at, table_id)
    rows = int(most) + sum(len(each.rows.rows) for each in kept)
    all_live = not any(each.ends for each in kept) and not _has_past(writer, table_id)
    live = counting.row_count(writer, at, table_id) if all_live else None
    writer.execute(
        "UPDATE ducklake_table_stats SET record_count = :rows WHERE table_id = :id",
        rows=max(int(stats[0] or 0), rows + 1) if live is None else live,
        id=table_id,
    )


def _has_past(reader: Reader, table_id: int) -> bool:
    """Whether rows lie in files that the newest snapshot does not see."""
    deletes = inline_tables.deletes_name(table_id)
    questions = [
        "SELECT 1 FROM ducklake_data_file WHERE table_id = :id AND end_snapshot IS NOT NULL",
        "SELECT 1 FROM ducklake_delete_file WHERE table_id = :id",
    ]
    if reader.has_table(deletes):
        questions.append(f'SELECT 1 FROM "{deletes}" WHERE :id = :id')
    return any(reader.row(f"{sql} LIMIT 1", id=table_id) is not None for sql in questions)
