"""Files that were registered or imported, as far as their place and name do not tell: those that
were handed over to the lake, and those that are called as a lake's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tidelake.catalog import own_tables
from tidelake.catalog.commit.entries import Entries
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read import paths
from tidelake.catalog.read.files import chunks
from tidelake.catalog.read.tables import join_path
from tidelake.model.change import Change, NewFile
from tidelake.model.file import DataFile
from tidelake.model.ownership import Registration, is_own, is_written

TABLE = "tidelake_registered_file"
own_tables.know(
    {
        TABLE: OwnTable(
            "data_file_id int!, table_id int, path text, path_is_relative bool, taken_over bool",
            needed="",
            wall="lake path",
        )
    }
)
_COLUMNS = ("data_file_id", "table_id", "path", "path_is_relative", "taken_over")


def ensure(writer: Writer, change: Change) -> None:
    """Make the table if the change may write to it."""
    if any(map(_is_told, _new(change))) or any(map(_is_doubtful, _merged(change))):
        own_tables.ensure(writer, TABLE)


def add(entries: Entries, file: NewFile, table_id: int, file_id: int, data_path: str) -> None:
    if _is_told(file):
        row = _row(file_id, table_id, file.path, data_path, taken_over=file.taken_over)
        entries.rows[TABLE, _COLUMNS].append(row)


def _is_told(file: NewFile) -> bool:
    return file.was_there and (file.taken_over or is_written(file.path))


def _is_doubtful(file: DataFile) -> bool:
    """DuckDB gives a mapping to what it registers, and to nothing else."""
    return file.mapping_id is not None and is_written(file.path)


def _new(change: Change) -> Iterable[NewFile]:
    return (file for table in change.tables for file in table.write.files)


def _merged(change: Change) -> Iterable[DataFile]:
    return (file for table in change.tables if table.upkeep for file in table.upkeep.merged)


def _row(
    file_id: int, table_id: int, path: str, data_path: str, *, taken_over: bool
) -> tuple[object, ...]:
    return (file_id, table_id, *paths.from_data_path(path, data_path), taken_over)


def every(reader: Reader, data_path: str) -> dict[int, Registration]:
    """By the ids of files, also of those that the catalog no longer has."""
    return _found(reader, data_path, "1 = 1")


def of_files(reader: Reader, ids: Collection[int], data_path: str) -> dict[int, Registration]:
    found: dict[int, Registration] = {}
    for some in chunks(ids):
        found |= _found(reader, data_path, f"data_file_id IN ({', '.join(map(str, some))})")
    return found


def _found(reader: Reader, data_path: str, condition: str) -> dict[int, Registration]:
    if not reader.has_table(TABLE):
        return {}
    rows = reader.rows(
        f"SELECT data_file_id, path, path_is_relative, taken_over FROM {TABLE} WHERE {condition}"
    )
    return {
        file_id: Registration(file_id, join_path(data_path, path, relative), bool(taken))
        for file_id, path, relative, taken in rows
    }


def deletable(
    reader: Reader,
    files: Mapping[int, str],
    data_path: str,
    mapped: Collection[int] = (),
) -> set[int]:
    """Which of these files, complete paths by id, are the lake's to delete. `mapped` have a name
    mapping, which only files have that were registered."""
    known = of_files(reader, files, data_path)
    return {
        file_id
        for file_id, path in files.items()
        if (known[file_id].taken_over if file_id in known else file_id not in mapped)
        and (file_id in known or is_own(path, data_path))
    }


def release(
    reader: Reader, files: Mapping[int, tuple[int, str]], data_path: str
) -> list[tuple[object, ...]]:
    """Rows for files, tables and complete paths by id, that leave the catalog and are not the
    lake's, though they are called so: they must not be taken for orphans."""
    known = of_files(reader, files, data_path)
    return [
        _row(file_id, table_id, path, data_path, taken_over=False)
        for file_id, (table_id, path) in files.items()
        if file_id not in known and is_written(path)
    ]


def put(writer: Writer, rows: Sequence[tuple[object, ...]]) -> None:
    writer.insert_values(TABLE, _COLUMNS, rows)


def put_later(entries: Entries, rows: Sequence[tuple[object, ...]]) -> None:
    if rows:
        entries.rows[TABLE, _COLUMNS] += rows


def forget(writer: Writer, ids: Collection[int]) -> None:
    """Strike off files that have been deleted."""
    if writer.has_table(TABLE):
        for some in chunks(ids):
            listed = ", ".join(map(str, some))
            writer.execute(f"DELETE FROM {TABLE} WHERE data_file_id IN ({listed})")
