"""How many rows a table has, where the catalog alone can tell."""

from __future__ import annotations

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read.snapshots import head_id
from tidelake.catalog.read.tables import visible


def row_count(reader: Reader, at: int, table_id: int) -> int | None:
    """The number of rows at a snapshot, or None if data must be read to know.

    It must be where a file holds rows or deletes of several snapshots and not all of them
    count yet, and where two sources of deletes may name the same row.
    """
    rows, partial = reader.rows(
        "SELECT COALESCE(sum(record_count), 0),"
        " COALESCE(sum(CASE WHEN partial_max > :at THEN 1 ELSE 0 END), 0)"
        f" FROM ducklake_data_file WHERE table_id = :id AND {visible()}",
        id=table_id,
        at=at,
    )[0]
    delete_files, owners, deleted = reader.rows(
        "SELECT count(*), count(DISTINCT data_file_id), COALESCE(sum(delete_count), 0)"
        " FROM ducklake_delete_file"
        f" WHERE table_id = :id AND {visible()} AND data_file_id IN ({_files()})",
        id=table_id,
        at=at,
    )[0]
    inlined_deleted = _inlined_deletes(reader, at, table_id)
    if partial or delete_files > owners:
        return None
    if delete_files and (inlined_deleted or at != head_id(reader)):
        return None
    return int(rows) - int(deleted) - inlined_deleted + _inlined_rows(reader, at, table_id)


def _files() -> str:
    return f"SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id AND {visible()}"


def _inlined_deletes(reader: Reader, at: int, table_id: int) -> int:
    name = f"ducklake_inlined_delete_{table_id}"
    if not reader.has_table(name):
        return 0
    found = reader.rows(
        f'SELECT count(*) FROM (SELECT DISTINCT file_id, row_id FROM "{name}"'
        f" WHERE begin_snapshot <= :at AND file_id IN ({_files()})) AS gone",
        id=table_id,
        at=at,
    )
    return int(found[0][0])


def _inlined_rows(reader: Reader, at: int, table_id: int) -> int:
    tables = reader.rows(
        "SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = :id", id=table_id
    )
    return sum(
        int(reader.rows(f'SELECT count(*) FROM "{name}" WHERE {visible()}', at=at)[0][0])
        for (name,) in tables
        if reader.has_table(name)
    )
