"""What comes after the commit of an erasure: mirrors are published anew, files go, and the catalog
is rid of what its own file still has of rows that are no more. Each step may be done again, and
whoever comes next does what somebody left."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tidelake.catalog import erasures
from tidelake.catalog.database.database import Reader
from tidelake.catalog.erasures import Chores, ErasureRecord
from tidelake.catalog.read.tables import join_path
from tidelake.errors import TidelakeError
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store.files import is_local, local_path

_HOLDERS = (
    "ducklake_data_file",
    "ducklake_delete_file",
    "ducklake_file_column_stats",
    "ducklake_file_variant_stats",
    "ducklake_file_partition_value",
    "ducklake_table_column_stats",
    "ducklake_files_scheduled_for_deletion",
)
"""Tables of DuckLake in which values of rows, or paths with them, may have been."""
_INLINED = ("ducklake_inlined_data_", "ducklake_inlined_delete_")


def finish_all(session: Session) -> list[str]:
    """Finish all erasures; what could not be done, and why."""
    with session.reading() as reader:
        waiting = erasures.open_erasures(reader)
    return [said for record in waiting for said in finish(session, record)]


def finish(session: Session, record: ErasureRecord) -> list[str]:
    """Finish one erasure; what could not be done, and why. What follows then waits as well: an old
    log still names the files."""
    chores = record.remaining
    if chores is None:
        return []

    def forget_paths() -> None:
        run_locked(session, erasures.set_chores, record.erasure_id, Chores())

    steps: list[tuple[str, Callable[[], None]]] = [
        (f"publish its {name} mirror anew", partial(_renew, session, name, record.table_id))
        for name in chores.mirrors
    ]
    steps += [
        ("delete files", partial(_delete, session, chores.files)),
        ("forget their paths", forget_paths),
        ("shrink the catalog", partial(_shrink, session)),
        ("say so", partial(run_locked, session, erasures.finish, record.erasure_id)),
    ]
    for what, do in steps:
        try:
            do()
        except TidelakeError as error:
            return [f"{what}: {error.message}"]
    return []


def _renew(session: Session, name: str, table_id: int) -> None:
    known = {each.name: each for each in session.formats}
    if name in known:
        known[name].renew(session, table_id)


def _delete(session: Session, files: tuple[str, ...]) -> None:
    places = [join_path(session.data_path, path, not _is_complete(path)) for path in files]
    session.store.delete(places)
    for path in places:
        if is_local(path):
            _remove_empty(local_path(path).parent)


def _is_complete(path: str) -> bool:
    return path.startswith("/") or "://" in path


def _remove_empty(folder: Path) -> None:
    """A folder of a partition, whose name is a value, goes with its last file."""
    while "=" in folder.name:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _shrink(session: Session) -> None:
    with session.reading() as reader:
        names = _tables(reader)
    session.database.shrink(names)


def _tables(reader: Reader) -> list[str]:
    known = {row[0] for row in reader.rows(reader.dialect.every_column)}
    return sorted(
        name for name in known if name in _HOLDERS or name.startswith((*_INLINED, "tidelake_"))
    )
