"""How far the import of a Delta table has come, so that it can go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import inlined_data, snapshots
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.file_history import next_file
from tidelake.delta.values.reports import Copy, ImportState
from tidelake.model.changes_made import named_tables
from tidelake.model.names import TableName

TABLE = "tidelake_import"
FILES = "tidelake_import_file"
own_tables.know(
    {
        TABLE: OwnTable(
            "table_id int!, root text, delta_id text, version int, snapshot_id int,"
            " next_file_id int, committed_at int, columns text",
            needed="table_id root delta_id version snapshot_id next_file_id committed_at columns",
        ),
        FILES: OwnTable(
            "table_id int!, data_file_id int!, source text, vector text",
            needed="table_id data_file_id source",
        ),
    }
)
_COLUMNS = (
    "table_id",
    "root",
    "delta_id",
    "version",
    "snapshot_id",
    "next_file_id",
    "committed_at",
    "columns",
)


def ensure(writer: Writer) -> None:
    for name in (TABLE, FILES):
        own_tables.ensure(writer, name)


def of_table(reader: Reader, table_id: int) -> ImportState | None:
    if not reader.has_table(TABLE):
        return None
    row = reader.row(f"SELECT {', '.join(_COLUMNS)} FROM {TABLE} WHERE table_id = {table_id}")
    return ImportState(*row) if row else None


def every(reader: Reader) -> list[ImportState]:
    """How far every import has come."""
    if not reader.has_table(TABLE):
        return []
    rows = reader.rows(f"SELECT {', '.join(_COLUMNS)} FROM {TABLE} ORDER BY snapshot_id DESC")
    return [ImportState(*row) for row in rows]


def copies(reader: Reader, table_id: int) -> dict[int, Copy]:
    """Files of the lake that were written for files of the Delta table, and for which."""
    if not reader.has_table(FILES):
        return {}
    rows = reader.rows(
        f"SELECT data_file_id, source, vector FROM {FILES} WHERE table_id = {table_id}"
    )
    return {file_id: Copy(source, vector) for file_id, source, vector in rows}


def put(writer: Writer, name: TableName, come: ImportState, made: Mapping[str, Copy]) -> None:
    """Keep how far the import of a table has come with the newest snapshot. `made` are the
    names of files that were written with it, and what for. Requires: the tables are there."""
    at = snapshots.head_id(writer)
    table_id = read.find(writer, at, "table", name)
    assert table_id is not None
    writer.execute(f"DELETE FROM {TABLE} WHERE table_id = {table_id}")
    kept = replace(come, table_id=table_id, snapshot_id=at, next_file_id=next_file(writer, at))
    writer.insert_values(TABLE, _COLUMNS, [astuple(kept)])
    if made:
        _put_copies(writer, table_id, at, made)


def _put_copies(writer: Writer, table_id: int, at: int, made: Mapping[str, Copy]) -> None:
    rows = writer.rows(
        "SELECT data_file_id, path FROM ducklake_data_file"
        " WHERE table_id = :id AND begin_snapshot = :at",
        id=table_id,
        at=at,
    )
    named = [(file_id, path.rpartition("/")[2]) for file_id, path in rows]
    kept = [
        (table_id, file_id, made[name].source, made[name].vector)
        for file_id, name in named
        if name in made
    ]
    writer.insert_values(FILES, ("table_id", "data_file_id", "source", "vector"), kept)


def paths(reader: Reader, table_id: int) -> set[str]:
    """Files outside of the lake that the table has, or has had."""
    rows = reader.rows(
        "SELECT path, path_is_relative FROM ducklake_data_file WHERE table_id = :id", id=table_id
    )
    return {row[0] for row in rows if not row[1]}


def is_untouched(reader: Reader, known: ImportState) -> bool:
    """Whether nobody has changed the table since its import came so far. Snapshots may have been
    expired since, but not what they have left."""
    later = snapshots.after(reader, known.snapshot_id)
    if any(known.table_id in named_tables(each.changes) for each in later):
        return False
    for kind in ("data", "delete"):
        count = reader.row(
            f"SELECT count(*) FROM ducklake_{kind}_file WHERE table_id = :id"
            f" AND ({kind}_file_id >= :next OR end_snapshot > :at)",
            id=known.table_id,
            next=known.next_file_id,
            at=known.snapshot_id,
        )
        if count is None or count[0]:
            return False
    at = snapshots.head_id(reader)
    return not any(
        each.rows for each in inlined_data.inlined_rows(reader, at, known.table_id, set())
    )
