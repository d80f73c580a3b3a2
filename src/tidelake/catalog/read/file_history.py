"""Which files of a table were touched between two snapshots."""

from __future__ import annotations

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read.files import FILE, build_files, whole_life
from tidelake.model.file import DataFile


def touched_files(
    reader: Reader, table_id: int, table_path: str, after: int, until: int, next_id: int
) -> list[DataFile]:
    """Files that got rows, lost rows or ended after one snapshot and up to another, with their
    whole life. Some that only compaction touched may be among them, but none that nobody did.
    `next_id` is the first file id that was free at the former."""
    span = {"id": table_id, "after": after, "until": until}
    rows = reader.rows(
        "SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id"
        " AND begin_snapshot <= :until AND (begin_snapshot > :after OR partial_max > :after"
        " OR (end_snapshot > :after AND end_snapshot <= :until))",
        **span,
    )
    rows += reader.rows(
        "SELECT data_file_id FROM ducklake_delete_file WHERE table_id = :id"
        " AND begin_snapshot <= :until AND (begin_snapshot > :after"
        " OR (delete_file_id >= :next AND (partial_max IS NULL OR partial_max > :after)))",
        next=next_id,
        **span,
    )
    deletes = inline_tables.deletes_name(table_id)
    if reader.has_table(deletes):
        rows += reader.rows(
            f'SELECT DISTINCT file_id FROM "{deletes}"'
            " WHERE begin_snapshot > :after AND begin_snapshot <= :until",
            after=after,
            until=until,
        )
    return whole_life(reader, table_id, table_path, {row[0] for row in rows})


def added_files(
    reader: Reader, table_id: int, table_path: str, after: int, until: int
) -> list[DataFile] | None:
    """Files that came after one snapshot and up to another, by their ids, which takes no longer for
    large tables. None if there may be more to say of them: something was deleted, too."""
    newer = "(SELECT next_file_id FROM ducklake_snapshot WHERE snapshot_id = :after)"
    span = {"id": table_id, "after": after}
    deletes, rows = reader.rows_of(
        [
            (
                "SELECT 1 FROM ducklake_delete_file WHERE table_id = :id"
                f" AND delete_file_id >= {newer} LIMIT 1",
                span,
            ),
            (
                f"{FILE} WHERE table_id = :id AND data_file_id >= {newer}"
                " AND begin_snapshot <= :until ORDER BY data_file_id",
                {**span, "until": until},
            ),
        ]
    )
    return None if deletes else build_files(reader, table_id, table_path, rows, {}, {})


def next_file(reader: Reader, snapshot_id: int) -> int:
    """The first file id that was free at a snapshot."""
    row = reader.row(
        "SELECT next_file_id FROM ducklake_snapshot WHERE snapshot_id = :id", id=snapshot_id
    )
    return int(row[0]) if row else 0


def sizes_of_snapshots(
    reader: Reader, table_id: int, first: int, last: int
) -> dict[int, tuple[int, int]]:
    """How many files, and rows in files, a table got with each snapshot from one to another. What
    has been compacted since counts with the first of its snapshots."""
    rows = reader.rows(
        "SELECT begin_snapshot, count(*), sum(record_count) FROM ducklake_data_file"
        " WHERE table_id = :id AND begin_snapshot >= :first AND begin_snapshot <= :last"
        " GROUP BY begin_snapshot",
        id=table_id,
        first=first,
        last=last,
    )
    return {int(row[0]): (int(row[1]), int(row[2] or 0)) for row in rows}
