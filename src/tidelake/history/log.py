"""The log: what every snapshot did. Our own commits say it; of DuckDB's the catalog shows as much
as is left of their files.

A commit takes the file ids from the counter before it up to its own. Only while all of these are
there as it made them do they tell its rows: what was merged or replaced since does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.errors import Invalid
from tidelake.history.values import (
    WENT,
    CommitNote,
    LogEntry,
    MadeFiles,
    counts_from_changes,
    read_commit_note,
)
from tidelake.model.changes_made import created_names, kinds_of, named_tables, operation_of
from tidelake.model.names import TableName
from tidelake.model.snapshot import Snapshot

Names = Mapping[int, Sequence[tuple[int, str]]]
"""The names of a table, each with the first snapshot at which it had it."""
_FEW = 1000


def entries(reader: Reader, found: Sequence[Snapshot]) -> list[LogEntry]:
    """The log of these snapshots."""
    names = _names(reader, {table for each in found for table in named_tables(each.changes)})
    said = {s.snapshot_id: read_commit_note(s.extra) for s in found}
    made = _made(reader, [each for each in found if said[each.snapshot_id] is None])
    nothing = MadeFiles()
    return [
        _entry(s, said[s.snapshot_id], _tables(s, names), made.get(s.snapshot_id, nothing))
        for s in found
    ]


def entries_of(reader: Reader, table_id: int, at: int, limit: int | None) -> list[LogEntry]:
    """Of the snapshots up to one that changed a table, the newest."""
    ids = snapshots.of_table(reader, table_id)
    found: list[Snapshot] = []
    last: int | None = at
    while last is not None and (limit is None or len(found) < limit):
        some = snapshots.of_changes_to(reader, table_id, ids, last, limit)
        found += [each for each in some if _touches(each, table_id, ids)]
        last = some[-1].snapshot_id - 1 if limit is not None and len(some) == limit else None
    return entries(reader, found[:limit][::-1])


def _touches(snapshot: Snapshot, table_id: int, ids: frozenset[int]) -> bool:
    if snapshot.snapshot_id in ids:
        return True
    return any(change.endswith(f":{table_id}") for change in snapshot.changes)


def _entry(
    snapshot: Snapshot, said: CommitNote | None, tables: tuple[str, ...], made: MadeFiles
) -> LogEntry:
    counts = said.counts if said is not None else counts_from_changes(snapshot.changes, made)
    operation = said.operation if said is not None else None
    return LogEntry(
        snapshot_id=snapshot.snapshot_id,
        time=snapshot.time,
        schema_version=snapshot.schema_version,
        changes=snapshot.changes,
        author=snapshot.author,
        message=snapshot.message,
        extra=snapshot.extra,
        operation=operation or operation_of(snapshot.changes),
        tables=tables,
        seconds=None if said is None else said.seconds,
        **asdict(counts),
    )


def _tables(snapshot: Snapshot, names: Names) -> tuple[str, ...]:
    """By the names they had at the snapshot, sorted."""
    found = {_spelled(created) for created in created_names(snapshot.changes)}
    for table_id in named_tables(snapshot.changes):
        known = [name for begin, name in names.get(table_id, ()) if begin <= snapshot.snapshot_id]
        found.add(known[-1] if known else f"table {table_id}")
    return tuple(sorted(found))


def _spelled(created: str) -> str:
    try:
        return str(TableName.parse(created))
    except Invalid:
        return created


def _names(reader: Reader, table_ids: set[int]) -> Names:
    """Of these tables: all that the lake ever had may be many more."""
    if not table_ids:
        return {}
    which = ""
    if len(table_ids) <= _FEW:
        which = f" WHERE table_id IN ({', '.join(map(str, sorted(table_ids)))})"
    schemas = dict(
        reader.rows("SELECT schema_id, schema_name FROM ducklake_schema ORDER BY begin_snapshot")
    )
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for table_id, begin, schema_id, name in reader.rows(
        "SELECT table_id, begin_snapshot, schema_id, table_name FROM ducklake_table"
        f"{which} ORDER BY begin_snapshot"
    ):
        found[table_id].append((begin, str(TableName(schemas.get(schema_id, "?"), name))))
    return found


_OWN = (
    " FROM ducklake_snapshot s"
    " JOIN ducklake_snapshot p ON p.snapshot_id = s.snapshot_id - 1 {join}"
    " WHERE s.snapshot_id {which} GROUP BY s.snapshot_id"
)
_TAKEN = "SELECT s.snapshot_id, max(p.next_file_id), max(s.next_file_id)" + _OWN.replace(
    "{join}", ""
)


def _with_files(table: str, file_id: str) -> str:
    """The bounds of all ids are said too: without them PostgreSQL would look at all files for every
    snapshot."""
    join = (
        f"JOIN {table} f ON f.{file_id} >= p.next_file_id AND f.{file_id} < s.next_file_id"
        f" AND f.{file_id} >= {{least}} AND f.{file_id} < {{end}} AND f.partial_max IS NULL"
    )
    return _OWN.replace("{join}", join)


_IS_OWN = "CASE WHEN f.begin_snapshot = s.snapshot_id THEN {} ELSE 0 END"
"""No part of the join: databases would look at all files for it, and not at a range of ids."""
_FILES = (
    f"SELECT s.snapshot_id, sum({_IS_OWN.format(1)}), sum({_IS_OWN.format('f.record_count')}),"
    f" sum({_IS_OWN.format('f.file_size_bytes')})"
    + _with_files("ducklake_data_file", "data_file_id")
)
_DELETES = (
    f"SELECT s.snapshot_id, sum({_IS_OWN.format(1)}), sum({_IS_OWN.format('f.delete_count')})"
    + _with_files("ducklake_delete_file", "delete_file_id")
)
_MAPPINGS = "SELECT s.snapshot_id, count(*)" + _OWN.replace(
    "{join}",
    "JOIN ducklake_column_mapping m"
    " ON m.mapping_id >= p.next_file_id AND m.mapping_id < s.next_file_id",
)
_ENDED = (
    "SELECT end_snapshot, count(*) FROM ducklake_data_file"
    " WHERE end_snapshot {which} GROUP BY end_snapshot"
)


def _made(reader: Reader, asked: Sequence[Snapshot]) -> dict[int, MadeFiles]:
    """The files that these snapshots made, as far as they are left. Which files ended is asked only
    where rows were deleted: all files must be looked at to know."""
    if not asked:
        return {}
    wanted = [each.snapshot_id for each in asked]
    which = f"BETWEEN {min(wanted)} AND {max(wanted)}"
    if len(wanted) <= _FEW:
        which = f"IN ({', '.join(map(str, wanted))})"
    deletes_rows = any(kinds_of(each.changes) & WENT for each in asked)
    taken = {row[0]: (int(row[1]), int(row[2])) for row in reader.rows(_TAKEN.format(which=which))}
    least = min((before for before, _ in taken.values()), default=0)
    end = max((after for _, after in taken.values()), default=0)
    asks = (_FILES, _DELETES, _MAPPINGS, *((_ENDED,) if deletes_rows else ()))
    queries: list[tuple[str, dict[str, object]]] = [
        (sql.format(which=which, least=least, end=end), {}) for sql in asks
    ]
    files, deletes, mappings, *over = (
        {row[0]: [int(value or 0) for value in row[1:]] for row in rows}
        for rows in reader.rows_of(queries)
    )
    ended = over[0] if over else {}
    found = {}
    for snapshot_id in wanted:
        made, rows, size = files.get(snapshot_id, (0, 0, 0))
        deleting, gone = deletes.get(snapshot_id, (0, 0))
        (mapped,) = mappings.get(snapshot_id, (0,))
        before, after = taken.get(snapshot_id, (0, -1))
        complete = after - before == made + deleting + mapped
        (gone_files,) = ended.get(snapshot_id, (0,))
        found[snapshot_id] = MadeFiles(complete, made, rows, size, gone, gone_files)
    return found
