"""Which files the catalog still speaks of, and which it has done with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog.annex import Annexes
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.expire.remove import KEPT, SCHEDULE
from tidelake.catalog.read import paths, registrations
from tidelake.catalog.read.snapshots import as_instant
from tidelake.catalog.read.tables import join_path
from tidelake.model.ownership import Registration


@dataclass(frozen=True, slots=True)
class ScheduledFile:
    """A file, by its complete path, that is to be deleted."""

    file_id: int
    path: str
    since: datetime


@dataclass(frozen=True, slots=True)
class CatalogFiles:
    """What the catalog said at one moment. `names` are of all files that it speaks of, without
    their folders; `used` are scheduled files that are named by a data or delete file too.
    Files from `next_id` on came later. `registered` are files that the lake has not written, though
    their names do not tell, by id. Tables have their files in `folders`, or have had them in
    `homes`."""

    scheduled: tuple[ScheduledFile, ...]
    names: frozenset[str]
    used: frozenset[str]
    next_id: int
    registered: Mapping[int, Registration]
    homes: tuple[str, ...]
    folders: tuple[str, ...]

    def is_home(self, path: str) -> bool:
        """Whether a file lies where one of the lake's tables can have its files: in the folder of
        a table, or of a partition inside it."""
        inside = [path[len(home) :].split("/")[1:] for home in self.homes if path.startswith(home)]
        inside += [path[len(each) :].split("/") for each in self.folders if path.startswith(each)]
        return any(rest and all("=" in part for part in rest[:-1]) for rest in inside)


def look(reader: Reader, data_path: str) -> CatalogFiles:
    scheduled = _scheduled(reader, data_path)
    going = {paths.base(each.path) for each in scheduled}
    registered = registrations.every(reader, data_path)
    names, again = going | {paths.base(each.path) for each in registered.values()}, []
    for kind in paths.KINDS:
        for row in paths.every(reader, kind):
            name = paths.base(row[2])
            names.add(name)
            if name in going:
                again.append(row)
    used = paths.complete(reader, again, data_path).values()
    return CatalogFiles(
        tuple(scheduled),
        frozenset(names),
        frozenset(used),
        _next_id(reader),
        registered,
        *_folders(reader, data_path),
    )


def _folders(reader: Reader, data_path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of schemas, and of tables."""
    schemas = reader.rows("SELECT path, path_is_relative FROM ducklake_schema")
    homes = {join_path(data_path, path, relative) for path, relative in schemas}
    ids = [row[0] for row in reader.rows("SELECT DISTINCT table_id FROM ducklake_table")]
    tables = set(paths.folders(reader, ids, data_path).values())
    return tuple(sorted(homes)), tuple(sorted(tables))


def _scheduled(reader: Reader, data_path: str) -> list[ScheduledFile]:
    since = reader.dialect.instant.format("schedule_start")
    rows = reader.rows(f"SELECT data_file_id, path, path_is_relative, {since} FROM {SCHEDULE}")
    found = [
        ScheduledFile(row[0], join_path(data_path, row[1], row[2]), as_instant(row[3]))
        for row in rows
    ]
    return [each for each in found if each.since < KEPT]


def _next_id(reader: Reader) -> int:
    row = reader.row("SELECT max(next_file_id) FROM ducklake_snapshot")
    return int(row[0]) if row and row[0] is not None else 0


def names_since(reader: Reader, first_id: int, annexes: Annexes) -> set[str]:
    """Names of files that have come to the catalog since, and of all that annexes need, without
    folders."""
    found = {
        paths.base(row[2]) for kind in paths.KINDS for row in paths.every(reader, kind, first_id)
    }
    needed = (path for annex in annexes for path in annex.files(reader, ""))
    return found | set(map(paths.base, needed))


def forget(writer: Writer, file_ids: Collection[int]) -> None:
    """Strike files off the schedule."""
    listed = ", ".join(map(str, file_ids)) or "NULL"
    writer.execute(f"DELETE FROM {SCHEDULE} WHERE data_file_id IN ({listed})")


def forget_files(writer: Writer, file_ids: Collection[int]) -> None:
    """Forget files that are no more."""
    forget(writer, file_ids)
    registrations.forget(writer, file_ids)
