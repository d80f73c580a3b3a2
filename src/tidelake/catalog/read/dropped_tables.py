"""Dropped tables and views: which there were, and how a table comes back.

A drop ends the row of a table and the rows of all that it has. To bring it back, a new row of the
table begins, and its files, columns and tags go on as if they had never ended: while there is no
table nobody looks at them. Only for partitionings and sort orders DuckDB does: of these new rows
begin, with their old ids. So every snapshot, those in between too, reads as before.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.errors import Conflict, NotFound
from tidelake.model.change import Revival
from tidelake.model.names import TableName, fold

_ENDED = (
    "ducklake_column",
    "ducklake_column_tag",
    "ducklake_data_file",
    "ducklake_delete_file",
)
_BEGUN_AGAIN = {"ducklake_partition_info": "partition_id", "ducklake_sort_info": "sort_id"}
_SPAN = "end_snapshot = :dropped AND begin_snapshot < :dropped"


@dataclass(frozen=True, slots=True)
class DroppedObject:
    """A table or view that is not there any more, since a snapshot, under its last name."""

    kind: str
    id: int
    name: TableName
    at: int


def dropped_objects(reader: Reader, kind: str) -> list[DroppedObject]:
    """All that are known of, the one that was dropped last first."""
    rows = reader.rows(
        f"SELECT t.{kind}_id, s.schema_name, t.{kind}_name, t.end_snapshot FROM ducklake_{kind} t"
        f" JOIN ducklake_schema s ON s.schema_id = t.schema_id WHERE t.end_snapshot IS NOT NULL"
        f" AND NOT EXISTS (SELECT 1 FROM ducklake_{kind} u WHERE u.{kind}_id = t.{kind}_id"
        " AND (u.end_snapshot IS NULL OR u.end_snapshot > t.end_snapshot))"
        " AND t.begin_snapshot < t.end_snapshot"
        f" ORDER BY t.end_snapshot DESC, t.{kind}_id DESC"
    )
    found = (DroppedObject(kind, row[0], TableName(row[1], row[2]), row[3]) for row in rows)
    return list(dict.fromkeys(found))


def dropped_by_name(reader: Reader, kind: str, name: TableName) -> list[DroppedObject]:
    """Those that had the name when they were dropped."""
    wanted = (fold(name.schema), fold(name.name))
    return [
        each
        for each in dropped_objects(reader, kind)
        if (fold(each.name.schema), fold(each.name.name)) == wanted
    ]


def check_kept(reader: Reader, found: DroppedObject) -> None:
    """What it had can be told only by the last snapshot that saw it."""
    if snapshots.exists(reader, found.at - 1):
        return
    raise NotFound(
        f"{found.name}, which was dropped by snapshot {found.at}, cannot come back as it was:"
        f" snapshot {found.at - 1}, the last that had it, has been expired",
        hint="a tagged or kept snapshot before that can still be read with known_at",
    )


def revive(reader: Reader, entries: Entries, revival: Revival) -> None:
    """All that the table had when it was dropped, but for the tags that it is to come without."""
    table = revival.table
    _check(reader, entries, revival)
    for kind in _ENDED:
        entries.change(
            f'UPDATE "{kind}" SET end_snapshot = NULL WHERE table_id = :id AND {_SPAN}',
            id=table.id,
            dropped=revival.dropped,
        )
    for kind, id_ in _BEGUN_AGAIN.items():
        sql = f"SELECT {id_} FROM {kind} WHERE table_id = :id AND {_SPAN}"
        for row in reader.rows(sql, id=table.id, dropped=revival.dropped):
            entries.begin(kind, **{id_: row[0]}, table_id=table.id)
    for key in table.tags:
        entries.change(
            f"UPDATE ducklake_tag SET end_snapshot = NULL WHERE object_id = :id"
            f' AND "key" = :key AND {_SPAN}',
            id=table.id,
            dropped=revival.dropped,
            key=key,
        )
    entries.numbers.file_id()  # DuckDB keeps statistics until this counter moves


def _check(reader: Reader, entries: Entries, revival: Revival) -> None:
    """It must still be dropped, by the same snapshot, with nothing of it expired."""
    table, head = revival.table, entries.snapshot_id - 1
    found = [each for each in dropped_objects(reader, "table") if each.id == table.id]
    if [each.at for each in found] != [revival.dropped]:
        raise Conflict(f"somebody else has brought {table.name} back", hint="use it")
    check_kept(reader, found[0])
    for kind in ("table", "view"):
        if read.find(reader, head, kind, table.name) is not None:
            raise Conflict(f"somebody else created {kind} {table.name}", hint="use another name")
