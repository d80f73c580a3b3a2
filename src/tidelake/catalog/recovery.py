"""A catalog that is filled with snapshots of a lost lake, each under the id that it had.

It is nobody's yet while that goes on, so its rows may be put right where a commit would have said
something else; `transfer.fill` then makes all of it the lake's at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.catalog.read.files import chunks
from tidelake.errors import Conflict
from tidelake.model.changes_made import split_changes

BEFORE = 0
"""The snapshot that comes before all others."""
_ROWS = ("inserted_into_table", "deleted_from_table", "inlined_delete")
_MOVED = ("rewrite_delete", "inline_flush")
_COUNTERS = "schema_version, next_catalog_id, next_file_id"


def check_new(reader: Reader) -> None:
    """Raise Conflict if a lake has more than its first snapshot."""
    if snapshots.ids(reader) != [BEFORE]:
        raise Conflict(
            "this lake has a history of its own already",
            hint="recover into a new catalog, with the data path of the lake that was lost",
        )


def fold(writer: Writer, time: datetime) -> None:
    """Have what the only commit has declared before any snapshot, which is of this time."""
    writer.execute("DELETE FROM ducklake_snapshot WHERE snapshot_id = 0")
    writer.execute("DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 0")
    for name in ("ducklake_snapshot", "ducklake_snapshot_changes"):
        writer.execute(f"UPDATE {name} SET snapshot_id = 0")
    for name in ("ducklake_table", "ducklake_column", "ducklake_column_tag"):
        writer.execute(f"UPDATE {name} SET begin_snapshot = 0")
    writer.execute("DELETE FROM ducklake_schema_versions")
    set_time(writer, BEFORE, time)


def skip_to(writer: Writer, snapshot_id: int) -> bool:
    """Have a snapshot of that id in which nothing has changed; False if it is there already."""
    head = snapshots.head_id(writer)
    if head >= snapshot_id:
        return False
    writer.execute(
        f"INSERT INTO ducklake_snapshot (snapshot_id, snapshot_time, {_COUNTERS})"
        f" SELECT {int(snapshot_id)}, snapshot_time, {_COUNTERS} FROM ducklake_snapshot"
        " WHERE snapshot_id = :head",
        head=head,
    )
    writer.insert("ducklake_snapshot_changes", [{"snapshot_id": snapshot_id}])
    return True


def set_time(writer: Writer, snapshot_id: int, time: datetime) -> None:
    writer.execute(
        "UPDATE ducklake_snapshot SET snapshot_time = :time WHERE snapshot_id = :id",
        time=writer.dialect.moment(time),
        id=snapshot_id,
    )


def files_since(reader: Reader, table_id: int, root: str, snapshot_id: int) -> dict[str, int]:
    """Ids of the files that a table got with a snapshot, by where they are."""
    rows = reader.rows(
        "SELECT path, path_is_relative, data_file_id FROM ducklake_data_file"
        " WHERE table_id = :id AND begin_snapshot = :at",
        id=table_id,
        at=snapshot_id,
    )
    return {f"{root}{path}" if relative else path: file_id for path, relative, file_id in rows}


def date_rows(writer: Writer, last: Mapping[int, int]) -> None:
    """Rows of these files are there since the snapshot that each names; `last` is the last one."""
    for file_id, snapshot_id in last.items():
        writer.execute(
            "UPDATE ducklake_data_file SET partial_max = :last WHERE data_file_id = :id",
            last=snapshot_id,
            id=file_id,
        )


def say_moved(writer: Writer, snapshot_id: int, table_id: int) -> None:
    """A snapshot has put rows of a table into other files, and changed none."""
    said = _said(writer, snapshot_id)
    others = [each for each in said if each not in {f"{word}:{table_id}" for word in _ROWS}]
    if len(others) < len(said):
        _say(writer, snapshot_id, [*others, *(f"{word}:{table_id}" for word in _MOVED)])


def say_inserted(writer: Writer, snapshot_id: int, table_id: int) -> None:
    """Rows of a table are there since a snapshot that may have done nothing else."""
    said = [*_said(writer, snapshot_id), f"inserted_into_table:{table_id}"]
    _say(writer, snapshot_id, dict.fromkeys(said))


def say_altered(writer: Writer, snapshot_id: int, table_id: int) -> None:
    """A snapshot has changed of a table what is not kept."""
    _say(writer, snapshot_id, [*_said(writer, snapshot_id), f"altered_table:{table_id}"])


def _said(reader: Reader, snapshot_id: int) -> tuple[str, ...]:
    row = reader.row(
        "SELECT changes_made FROM ducklake_snapshot_changes WHERE snapshot_id = :id", id=snapshot_id
    )
    return split_changes(str(row[0] or "")) if row else ()


def _say(writer: Writer, snapshot_id: int, changes: Collection[str]) -> None:
    writer.execute(
        "UPDATE ducklake_snapshot_changes SET changes_made = :said WHERE snapshot_id = :id",
        said=",".join(changes),
        id=snapshot_id,
    )


def tidy(writer: Writer, fillers: Collection[int], first: Mapping[int, int]) -> None:
    """Take out what only helped: snapshots that never were, and tables before their `first`
    snapshots. Of columns that have other names since, or have gone, the past stays."""
    for table_id, snapshot_id in first.items():
        for name in ("ducklake_column", "ducklake_column_tag"):
            writer.execute(
                f"UPDATE {name} SET begin_snapshot = :first WHERE table_id = :id"
                " AND begin_snapshot = 0 AND (end_snapshot IS NULL OR end_snapshot > :first)",
                first=snapshot_id,
                id=table_id,
            )
    for some in chunks(fillers):
        listed = ", ".join(map(str, some))
        for name in ("ducklake_snapshot", "ducklake_snapshot_changes"):
            writer.execute(f"DELETE FROM {name} WHERE snapshot_id IN ({listed})")
    writer.execute("DELETE FROM ducklake_table WHERE begin_snapshot = 0")
