"""How large tables are at a snapshot, in files, rows and bytes; and their files, page by page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read.files import FILE, build_files, deletes_from
from tidelake.catalog.read.tables import visible
from tidelake.model.file import DataFile


@dataclass(frozen=True, slots=True)
class TableSize:
    """`rows` are those in files, also the `deleted` ones; `small` counts files that have less than
    half of the bytes that the table's files should have."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    small: int = 0
    deleted: int = 0

    @property
    def delete_ratio(self) -> float:
        return self.deleted / self.rows if self.rows else 0.0


def file_ids_given(reader: Reader) -> int:
    """How many file ids the lake has given out: no fewer than it has files."""
    row = reader.row("SELECT next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1")
    return int(row[0] or 0) if row else 0


def table_sizes(
    reader: Reader, at: int, table_ids: Collection[int], small_bytes: int
) -> dict[int, TableSize]:
    """Of these tables; it costs as much as they have files."""
    if not table_ids:
        return {}
    chosen = f"table_id IN ({', '.join(map(str, table_ids))}) AND {visible()}"
    files, deletes = reader.rows_of(
        [
            (
                "SELECT table_id, count(*), sum(record_count), sum(file_size_bytes),"
                f" sum(CASE WHEN file_size_bytes < {int(small_bytes)} THEN 1 ELSE 0 END)"
                f" FROM ducklake_data_file WHERE {chosen} GROUP BY table_id",
                {"at": at},
            ),
            (
                "SELECT table_id, sum(delete_count) FROM ducklake_delete_file"
                f" WHERE {chosen} GROUP BY table_id",
                {"at": at},
            ),
        ]
    )
    gone = {row[0]: int(row[1] or 0) for row in deletes}
    found = {}
    for table_id, *numbers in files:
        count, rows, size, small = (int(number or 0) for number in numbers)
        found[table_id] = TableSize(count, rows, size, small, gone.get(table_id, 0))
    return found


def rough_sizes(reader: Reader, table_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Rows and bytes that have come to these tables, from the few numbers that DuckLake keeps of
    each: what was deleted since may still count."""
    if not table_ids:
        return {}
    rows = reader.rows(
        "SELECT table_id, record_count, file_size_bytes FROM ducklake_table_stats"
        f" WHERE table_id IN ({', '.join(map(str, table_ids))})"
    )
    return {row[0]: (int(row[1] or 0), int(row[2] or 0)) for row in rows}


def scheduled_files(reader: Reader) -> int:
    """How many files no snapshot needs any more, and wait for cleanup."""
    row = reader.row("SELECT count(*) FROM ducklake_files_scheduled_for_deletion")
    return int(row[0]) if row else 0


Place = tuple[int, int]
"""The snapshot at which a file begins, and its id."""


def newest_files(
    reader: Reader, at: int, table_id: int, table_path: str, before: Place | None, limit: int
) -> Sequence[DataFile]:
    """The files of a table that a snapshot sees, the newest first, from a place on backwards."""
    older = ""
    values: dict[str, object] = {"id": table_id, "at": at}
    if before is not None:
        older = (
            " AND begin_snapshot <= :begin AND (begin_snapshot < :begin OR data_file_id < :before)"
        )
        values |= {"begin": before[0], "before": before[1]}
    rows = reader.rows(
        f"{FILE} WHERE table_id = :id AND {visible()}{older}"
        f" ORDER BY begin_snapshot DESC, data_file_id DESC LIMIT {int(limit)}",
        **values,
    )
    gone = deletes_from(reader, at, table_id, table_path, [row[0] for row in rows])
    return build_files(reader, table_id, table_path, [tuple(row) for row in rows], *gone)
