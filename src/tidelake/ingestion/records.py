"""Files that have been taken into tables, with the size and time that they had then."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from tidelake.catalog import own_tables
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.errors import Conflict
from tidelake.ingestion.values import SourceFile
from tidelake.model.names import TableName

TABLE = "tidelake_ingest_file"
own_tables.know(
    {
        TABLE: OwnTable(
            "table_id int!, path_hash name!, path text, size int, modified text, snapshot_id int,"
            " row_count int, bad_count int, taken_at time",
            needed="table_id path_hash path size modified",
        )
    }
)
_COLUMNS = (
    "table_id",
    "path_hash",
    "path",
    "size",
    "modified",
    "snapshot_id",
    "row_count",
    "bad_count",
    "taken_at",
)
_AT_ONCE = 500
OPERATION = "ingest"
"""What commits of ingestion say that they are."""

Known = Mapping[str, tuple[int, str]]
"""Size and time of files that have been taken, by path."""


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file, and how many records of it were good and bad."""

    file: SourceFile
    rows: int
    bad: int


def stamp_of(file: SourceFile) -> tuple[int, str]:
    return file.bytes, file.modified.astimezone(UTC).isoformat(timespec="microseconds")


def ensure(writer: Writer) -> None:
    """Requires: nothing has been written yet."""
    own_tables.ensure(writer, TABLE)


def known_files(reader: Reader, name: TableName, files: Collection[SourceFile]) -> Known:
    """Which of these a table has taken, and what they were like. Nothing is known of a table that
    is not there."""
    if not files or not reader.has_table(TABLE):
        return {}
    table_id = read.find(reader, snapshots.head_id(reader), "table", name)
    if table_id is None:
        return {}
    return {path: (size, modified) for path, size, modified in _found(reader, table_id, files)}


def _found(
    reader: Reader, table_id: int, files: Collection[SourceFile]
) -> Iterator[tuple[str, int, str]]:
    for some in batches([_hash(file.path) for file in files], _AT_ONCE):
        listed = ", ".join(f"'{each}'" for each in some)
        rows = reader.rows(
            f"SELECT path, size, modified FROM {TABLE} WHERE table_id = :id"
            f" AND path_hash IN ({listed})",
            id=table_id,
        )
        yield from ((row[0], row[1], row[2]) for row in rows)


def put(
    writer: Writer,
    name: TableName,
    taken: Sequence[TakenFile],
    known: Known,
    *,
    alone: bool = False,
) -> None:
    """Remember files, in the transaction of the commit that has their rows; `alone` if there are
    none. Conflict if somebody else has taken one of them since it was `known` what is."""
    if alone:
        ensure(writer)
    at = snapshots.head_id(writer)
    table_id = read.find(writer, at, "table", name)
    if table_id is None:
        raise Conflict(f"{name} is not there any more", hint="ingest again")
    files = [each.file for each in taken]
    for path, size, modified in list(_found(writer, table_id, files)):
        if known.get(path) != (size, modified):
            raise Conflict(f"somebody else has taken {path} into {name}", hint="ingest again")
    for some in batches([_hash(path) for path in known], _AT_ONCE):
        listed = ", ".join(f"'{each}'" for each in some)
        writer.execute(
            f"DELETE FROM {TABLE} WHERE table_id = {table_id} AND path_hash IN ({listed})"
        )
    now = writer.dialect.moment(datetime.now(UTC))
    rows = [
        (table_id, _hash(f.path), f.path, *stamp_of(f), at, each.rows, each.bad, now)
        for each in taken
        for f in (each.file,)
    ]
    writer.insert_values(TABLE, _COLUMNS, rows)


@dataclass(frozen=True, slots=True)
class IngestRun:
    """What one commit took into a table."""

    table_id: int
    snapshot_id: int | None
    files: int
    rows: int
    bad: int
    at: datetime | None


def newest_runs(reader: Reader, limit: int) -> list[IngestRun]:
    """The last commits that took files, newest first."""
    if not reader.has_table(TABLE):
        return []
    taken = reader.dialect.instant.format("max(taken_at)")
    rows = reader.rows(
        "SELECT table_id, snapshot_id, count(*), sum(row_count), sum(bad_count),"
        f" {taken} FROM {TABLE} GROUP BY table_id, snapshot_id"
        f" ORDER BY snapshot_id DESC LIMIT {int(limit)}"
    )
    return [
        IngestRun(
            row[0],
            row[1],
            int(row[2]),
            int(row[3] or 0),
            int(row[4] or 0),
            None if row[5] is None else snapshots.as_instant(row[5]),
        )
        for row in rows
    ]


def forget_tables(writer: Writer, table_ids: Collection[int]) -> None:
    if table_ids and writer.has_table(TABLE):
        listed = ", ".join(map(str, table_ids))
        writer.execute(f"DELETE FROM {TABLE} WHERE table_id IN ({listed})")


def tables_gone(reader: Reader) -> list[int]:
    """Tables that files were taken into, and of which nothing is left."""
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(
        f"SELECT DISTINCT table_id FROM {TABLE} f WHERE NOT EXISTS"
        " (SELECT 1 FROM ducklake_table t WHERE t.table_id = f.table_id)"
    )
    return [row[0] for row in rows]


def _hash(path: str) -> str:
    """Paths are longer than what the narrowest catalog has room for in a key."""
    return sha256(path.encode()).hexdigest()
