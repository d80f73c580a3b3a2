"""Checks of what the catalog says of files and of the rows that it keeps itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import INLINED_DELETES, Inventory
from tidelake.model.names import quote
from tidelake.verify.values import Problem


def delete_overlap(inventory: Inventory) -> Iterator[Problem]:
    """No snapshot sees two delete files of one data file: DuckDB reads one of them."""
    rows = inventory.of_tables("delete_file")
    for one, other, at in inventory.clashes(rows, lambda row: row.data_file_id):
        yield Problem(
            "delete-overlap",
            f"data file {other.data_file_id} has two delete files at once: {one.path} and"
            f" {other.path}",
            "t.compact() for files that are still in use, lake.expire() for those of the past."
            " Tidelake unites them; DuckDB gives wrong rows",
            table=inventory.name(other.table_id),
            file=other.path,
            snapshot_id=at,
        )


def file_facts(inventory: Inventory) -> Iterator[Problem]:
    """Counts and sizes make sense, and formats are known."""
    for row in inventory.of_tables("data_file"):
        wrong = row.record_count < 0 or row.file_size_bytes < 0
        if wrong or (row.file_format or "parquet").lower() != "parquet":
            yield _odd(inventory, row, f"a file of {row.record_count} rows, {row.file_format}")
    files = {row.data_file_id: row for row in inventory.of("data_file")}
    for row in inventory.of_tables("delete_file"):
        file = files.get(row.data_file_id)
        if row.format.lower() not in ("parquet", "puffin"):
            yield _odd(inventory, row, f"a delete file of the format {row.format!r}")
        elif file and not 0 <= row.delete_count <= file.record_count:
            said = f"{row.delete_count} deletes from a file of {file.record_count} rows"
            yield _odd(inventory, row, said)
        elif file and file.table_id != row.table_id:
            yield _odd(inventory, row, "a delete file of another table's data file")


def _odd(inventory: Inventory, row: Any, said: str) -> Problem:
    return Problem(
        "file-facts",
        f"the catalog has {said}",
        "correct its row from the file's footer",
        table=inventory.name(row.table_id),
        file=row.path,
    )


def scheduled_files(inventory: Inventory) -> Iterator[Problem]:
    """No file that is still named is waiting to be deleted."""
    named = {
        path: row
        for kind in ("data_file", "delete_file")
        for row in inventory.of(kind)
        if (path := inventory.path(row)) is not None
    }
    for row in inventory.of("files_scheduled_for_deletion"):
        path = f"{inventory.data_path}{row.path}" if row.path_is_relative else row.path
        if path in named:
            yield Problem(
                "scheduled",
                "the next cleanup will delete a file that snapshots still need",
                "delete its row of ducklake_files_scheduled_for_deletion before anything else",
                table=inventory.name(named[path].table_id),
                file=path,
            )


def inlined_rows(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Rows in the catalog have a span and an id like all others."""
    next_ids = {row.table_id: row.next_row_id for row in inventory.of("table_stats")}
    for row in inventory.of_tables("inlined_data_tables"):
        columns = inventory.physical.get(row.table_name, [])
        if not {"row_id", "begin_snapshot", "end_snapshot"} <= set(columns):
            continue
        (number, highest, backward, begun, ended) = reader.rows(
            "SELECT count(*), max(row_id),"
            " sum(CASE WHEN end_snapshot <= begin_snapshot THEN 1 ELSE 0 END),"
            f" max(begin_snapshot), max(end_snapshot) FROM {quote(row.table_name)}"
        )[0]
        if not number:
            continue
        table = inventory.name(row.table_id)
        if backward:
            yield Problem(
                "spans",
                f"{backward} rows of {row.table_name} end no later than they begin",
                "correct their end_snapshot, or delete them: no snapshot sees them",
                table=table,
            )
        if max(begun or 0, ended or 0) > inventory.head:
            yield Problem(
                "head",
                f"{row.table_name} has rows of snapshot {max(begun or 0, ended or 0)}, but the"
                f" newest is {inventory.head}",
                "restore the catalog from a backup: the newest snapshot was lost",
                table=table,
            )
        if highest is not None and highest >= next_ids.get(row.table_id, 0):
            yield row_id_problem(table, highest, next_ids.get(row.table_id, 0), row.table_name)


def row_id_problem(table: str | None, highest: int, following: int, where: str) -> Problem:
    return Problem(
        "row-ids",
        f"{where} has the row id {highest}, but the next one to be given is {following}",
        f"set ducklake_table_stats.next_row_id to at least {highest + 1}",
        table=table,
        file=where,
    )


def deleted_positions(
    inventory: Inventory, reader: Reader, table_id: int
) -> tuple[dict[int, Counter[int]], int]:
    """How often the catalog itself deletes which positions of which file, and when it last did."""
    name = f"{INLINED_DELETES}{table_id}"
    found: dict[int, Counter[int]] = defaultdict(Counter)
    last = 0
    if name in inventory.physical:
        for file_id, position, at in reader.rows(
            f"SELECT file_id, row_id, begin_snapshot FROM {quote(name)}"
        ):
            found[file_id][position] += 1
            last = max(last, at or 0)
    return found, last


def inlined_deletes(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Deletes in the catalog are of rows that the files have, each once."""
    files = {row.data_file_id: row for row in inventory.of("data_file")}
    for table_id in inventory.wanted_tables:
        name = f"{INLINED_DELETES}{table_id}"
        found, late = deleted_positions(inventory, reader, table_id)
        if late > inventory.head:
            yield Problem(
                "head",
                f"{name} has deletes of snapshot {late}, but the newest is {inventory.head}",
                "restore the catalog from a backup: the newest snapshot was lost",
                table=inventory.name(table_id),
            )
        for file_id, positions in found.items():
            file = files.get(file_id)
            said = _wrong_positions(file, table_id, positions)
            if said:
                yield Problem(
                    "inlined-deletes",
                    f"{name} has deletes {said}",
                    f"delete these rows of {name}; if a compaction lost them, delete the rows"
                    " of the table again",
                    table=inventory.name(table_id),
                    file=file.path if file else None,
                )


def _wrong_positions(file: Any, table_id: int | None, positions: Counter[int]) -> str | None:
    if file is None or file.table_id != table_id:
        return "of a file that the table does not have"
    if min(positions) < 0 or max(positions) >= file.record_count:
        return f"at positions beyond the file's {file.record_count} rows"
    if max(positions.values()) > 1:
        return "of the same row twice"
    return None


CHECKS = (delete_overlap, file_facts, scheduled_files)
READING_CHECKS = (inlined_rows, inlined_deletes)
