"""Rollups: which there are of a table, and the files that they are in.

A file whose rollup has gone keeps its row, with the moment since when, until `cleanup` has removed
it: somebody may still be reading it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidelake.catalog import erasures, own_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import paths, snapshots
from tidelake.catalog.read.tables import join_path
from tidelake.errors import Conflict
from tidelake.event_time.values.rollup import Rollup, RollupFile, lacks_text, parse_lacks

TABLE = "tidelake_rollup"
FILES = "tidelake_rollup_file"
_IDS_OF_TABLE = 1 << 20
own_tables.know(
    {
        TABLE: OwnTable(
            "rollup_id int!, table_id int, as_of int, snapshot_id int, valid_through int,"
            " next_row_id int, next_file_id int, settings text, lacks text, record_count int,"
            " file_size_bytes int, made_at time",
            needed="rollup_id table_id as_of snapshot_id next_row_id next_file_id settings"
            " record_count file_size_bytes made_at",
        ),
        FILES: OwnTable(
            "rollup_id int!, file_index int!, table_id int, path text, path_is_relative bool,"
            " record_count int, file_size_bytes int, footer_size int, ended_at time",
            needed="rollup_id file_index table_id path record_count file_size_bytes",
            wall="lake path",
        ),
    }
)
_COLUMNS = (
    "rollup_id",
    "table_id",
    "as_of",
    "snapshot_id",
    "valid_through",
    "next_row_id",
    "next_file_id",
    "settings",
    "lacks",
    "record_count",
    "file_size_bytes",
    "made_at",
)
_FILE_COLUMNS = (
    "rollup_id",
    "file_index",
    "table_id",
    "path",
    "path_is_relative",
    "record_count",
    "file_size_bytes",
    "footer_size",
    "ended_at",
)
_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class Facts:
    """What the catalog knows of a table at its newest snapshot, and only then: the first row and
    file ids that are free."""

    snapshot_id: int
    next_row_id: int
    next_file_id: int


def facts(reader: Reader, table_id: int) -> Facts:
    at, following = reader.rows(
        "SELECT snapshot_id, next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
    )[0]
    row = reader.row(
        "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = :id", id=table_id
    )
    return Facts(int(at), int(row[0]) if row else 0, int(following))


def bounds(reader: Reader, table_id: int, column_id: int) -> tuple[str, str] | None:
    """The least and the greatest value of a column, as its table's statistics have them."""
    row = reader.row(
        "SELECT min_value, max_value FROM ducklake_table_column_stats"
        " WHERE table_id = :id AND column_id = :column",
        id=table_id,
        column=column_id,
    )
    return None if row is None or None in tuple(row) else (row[0], row[1])


def every(reader: Reader, table_id: int | None = None) -> list[Rollup]:
    """All rollups, of one table or of all, the earliest moment first. Their files are not told."""
    if not reader.has_table(TABLE):
        return []
    if table_id is None:
        return _where(reader, "1 = 1")
    return _where(reader, "table_id = :id", id=table_id)


def candidates(reader: Reader, table_id: int, moment: int, at: int) -> list[Rollup]:
    """Rollups from which a read as of a moment, known at a snapshot, may begin; best first."""
    if not reader.has_table(TABLE):
        return []
    found = _where(
        reader,
        "table_id = :id AND as_of <= :moment AND valid_through <= :at",
        id=table_id,
        moment=moment // _MICROSECOND,
        at=at,
    )
    return found[::-1]


def with_files(reader: Reader, found: Sequence[Rollup], data_path: str) -> list[Rollup]:
    """The rollups, and where their files are."""
    if not found:
        return []
    listed = ", ".join(str(rollup.id) for rollup in found)
    rows = reader.rows(
        "SELECT rollup_id, path, path_is_relative, record_count, file_size_bytes, footer_size"
        f" FROM {FILES} WHERE ended_at IS NULL AND rollup_id IN ({listed})"
        " ORDER BY rollup_id, file_index"
    )
    files: dict[int, list[RollupFile]] = defaultdict(list)
    for rollup_id, path, relative, *facts in rows:
        files[rollup_id].append(RollupFile(join_path(data_path, path, relative), *facts))
    return [replace(rollup, files=tuple(files[rollup.id])) for rollup in found]


def mixed_rows(reader: Reader, rollup: Rollup) -> int:
    """How many rows are now in files that compaction has put together from rows of before the
    rollup and of after it: all of these a read has to look at."""
    row = reader.row(
        "SELECT sum(record_count) FROM ducklake_data_file WHERE data_file_id >= :next"
        " AND +table_id = :id AND end_snapshot IS NULL AND begin_snapshot <= :made"
        " AND partial_max > :made",
        next=rollup.next_file_id,
        id=rollup.table_id,
        made=rollup.snapshot_id,
    )
    return int(row[0] or 0) if row else 0


def put(writer: Writer, rollup: Rollup, data_path: str) -> Rollup:
    """Register a rollup in place of an older one of the same moment and settings. Conflict if its
    snapshot has gone, or if somebody has made one of a newer snapshot meanwhile."""
    for name in (TABLE, FILES):
        own_tables.ensure(writer, name)
    if not snapshots.exists(writer, rollup.snapshot_id):
        raise Conflict(
            f"snapshot {rollup.snapshot_id} was expired while the rollup of it was made",
            hint="make it again",
        )
    if erasures.last_of(writer, rollup.table_id) > rollup.snapshot_id:
        raise Conflict(
            "rows of the table were erased while the rollup was made", hint="make it again"
        )
    same = [
        other
        for other in every(writer, rollup.table_id)
        if (other.as_of, other.settings) == (rollup.as_of, rollup.settings)
    ]
    if any(other.snapshot_id > rollup.snapshot_id for other in same):
        raise Conflict(
            "somebody has made the same rollup of a newer snapshot meanwhile",
            hint="use theirs: t.rollups() shows it",
        )
    remove(writer, [other.id for other in same])
    made = replace(rollup, id=_next_id(writer, rollup.table_id), made_at=own_tables.clock(writer))
    writer.insert_values(TABLE, _COLUMNS, [_row(writer, made)])
    writer.insert_values(FILES, _FILE_COLUMNS, _file_rows(made, data_path))
    return made


def _next_id(writer: Writer, table_id: int) -> int:
    """An id that neither a rollup has, nor a file that is left of one. Those of a table are above
    a number of its own: who sees no other tables finds a free one all the same."""
    last = (
        writer.rows(
            f"SELECT coalesce(max(rollup_id), 0) FROM {name} WHERE table_id = :id", id=table_id
        )
        for name in (TABLE, FILES)
    )
    return 1 + max(table_id * _IDS_OF_TABLE, *(int(rows[0][0]) for rows in last))


def _file_rows(rollup: Rollup, data_path: str) -> list[tuple[object, ...]]:
    return [
        (
            rollup.id,
            place,
            rollup.table_id,
            *paths.from_data_path(file.path, data_path),
            file.rows,
            file.bytes,
            file.footer_size,
            None,
        )
        for place, file in enumerate(rollup.files)
    ]


def _row(writer: Writer, rollup: Rollup) -> tuple[object, ...]:
    return (
        rollup.id,
        rollup.table_id,
        rollup.as_of // _MICROSECOND,
        rollup.snapshot_id,
        rollup.valid_through,
        rollup.next_row_id,
        rollup.next_file_id,
        rollup.settings,
        lacks_text(rollup.lacks),
        rollup.rows,
        rollup.bytes,
        writer.dialect.moment(rollup.made_at),
    )


def remove(writer: Writer, ids: Collection[int]) -> None:
    """Forget rollups. Their files are no longer used from now on."""
    if ids:
        _end(writer, f"rollup_id IN ({', '.join(map(str, ids))})")


def remove_of_tables(writer: Writer, ids: Collection[int]) -> None:
    """Forget all rollups of tables that go."""
    if ids and writer.has_table(TABLE):
        _end(writer, f"table_id IN ({', '.join(map(str, ids))})")


def erase(writer: Writer, table_id: int, data_path: str) -> list[str]:
    """Forget all rollups of a table, and all files that were ever theirs; where these are."""
    if not writer.has_table(TABLE):
        return []
    rows = writer.rows(
        f"SELECT path, path_is_relative FROM {FILES} WHERE table_id = :id", id=table_id
    )
    for name in (TABLE, FILES):
        writer.execute(f"DELETE FROM {name} WHERE table_id = :id", id=table_id)
    return [join_path(data_path, path, relative) for path, relative in rows]


def tables_gone(reader: Reader) -> list[int]:
    """Tables of which there are rollups, though they have gone."""
    if not reader.has_table(TABLE):
        return []
    held = {row[0] for row in reader.rows(f"SELECT DISTINCT table_id FROM {TABLE}")}
    if held:
        held -= {row[0] for row in reader.rows("SELECT table_id FROM ducklake_table")}
    return sorted(held)


def _end(writer: Writer, which: str) -> None:
    now = writer.dialect.moment(own_tables.clock(writer))
    ended = f"UPDATE {FILES} SET ended_at = :now WHERE ended_at IS NULL AND {which}"
    writer.execute(ended, now=now)
    writer.execute(f"DELETE FROM {TABLE} WHERE {which}")


def move(writer: Writer, ids: Collection[int], valid_through: int) -> None:
    """Up to this snapshot, no row that the rollups rest on has gone."""
    listed = ", ".join(map(str, ids)) or "NULL"
    writer.execute(
        f"UPDATE {TABLE} SET valid_through = :at WHERE rollup_id IN ({listed})", at=valid_through
    )


def known_files(reader: Reader, data_path: str) -> dict[str, datetime | None]:
    """All files of rollups, by complete path, and since when those that no rollup has any more."""
    if not reader.has_table(FILES):
        return {}
    moment = reader.dialect.instant.format("ended_at")
    rows = reader.rows(f"SELECT path, path_is_relative, {moment} FROM {FILES}")
    return {
        join_path(data_path, path, relative): None if ended is None else snapshots.as_instant(ended)
        for path, relative, ended in rows
    }


def files_without(reader: Reader) -> list[str]:
    """Files in use of which there is no rollup, as they are spelled in the catalog."""
    if not (reader.has_table(FILES) and reader.has_table(TABLE)):
        return []
    rows = reader.rows(
        f"SELECT path FROM {FILES} f WHERE ended_at IS NULL AND NOT EXISTS"
        f" (SELECT 1 FROM {TABLE} r WHERE r.rollup_id = f.rollup_id)"
    )
    return [row[0] for row in rows]


def forget_files(writer: Writer, gone: Collection[str], data_path: str) -> None:
    """Strike off files that have been removed."""
    for path in gone:
        stored, _ = paths.from_data_path(path, data_path)
        struck = f"DELETE FROM {FILES} WHERE path = :path AND ended_at IS NOT NULL"
        writer.execute(struck, path=stored)


def _where(reader: Reader, condition: str, **parameters: object) -> list[Rollup]:
    moment = reader.dialect.instant.format("made_at")
    listed = ", ".join(moment if name == "made_at" else name for name in _COLUMNS)
    rows = reader.rows(
        f"SELECT {listed} FROM {TABLE} WHERE {condition} ORDER BY as_of, snapshot_id, rollup_id",
        **parameters,
    )
    return [_rollup(row) for row in rows]


def _rollup(row: Row) -> Rollup:
    id_, table_id, as_of, at, through, row_id, file_id, settings, lacks, count, size, made = row
    return Rollup(
        id=id_,
        table_id=table_id,
        as_of=as_of * _MICROSECOND,
        snapshot_id=at,
        valid_through=through,
        next_row_id=row_id,
        next_file_id=file_id,
        settings=settings,
        lacks=parse_lacks(lacks),
        rows=count,
        bytes=size,
        made_at=snapshots.as_instant(made),
    )
