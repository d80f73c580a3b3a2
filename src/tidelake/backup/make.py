"""A backup of a lake, of one moment."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tidelake.backup.manifest import CATALOG, FILES, write_manifest
from tidelake.backup.values import BackupResult, Manifest
from tidelake.catalog import create, identity, relocation, transfer
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database, Reader
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.errors import Conflict, Invalid
from tidelake.model.ownership import lies_within
from tidelake.model.snapshot import Snapshot
from tidelake.session.progress import progress
from tidelake.session.session import Session
from tidelake.store.copies import copy_object, copy_objects, folder_of
from tidelake.store.files import Store, is_local, local_path

_CHUNK = 1 << 20


def backup(session: Session, path: object, *, files: bool) -> BackupResult:
    """Write the catalog, and with `files` all files that it names below the data path. One
    transaction reads all of the catalog, so it is of one moment, whoever writes meanwhile."""
    session.check_not_closed()
    folder = folder_of(path)
    _check_place(session, folder)
    with TemporaryDirectory(prefix="tidelake-backup-") as local:
        copy = Path(local, CATALOG)
        found = _read(session, copy)
        sizes = _sizes(session.store, session.data_path, found.paths)
        missing = tuple(path for path in found.paths if path not in sizes)
        if files:
            _copy_files(session, folder, sizes)
        manifest = Manifest(
            datetime.now(UTC),
            found.lake_id,
            session.data_path,
            found.head.snapshot_id,
            found.head.time,
            found.tables,
            digest_of(copy),
            files,
            {path[len(session.data_path) :]: size for path, size in sizes.items()},
            found.rows,
        )
        copy_object(session.store, str(copy), folder + CATALOG)
    write_manifest(session.store, folder, manifest)
    return BackupResult(
        folder,
        manifest.snapshot_id,
        manifest.snapshot_time,
        manifest.tables,
        len(sizes),
        sum(sizes.values()),
        files,
        missing,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    lake_id: str | None
    head: Snapshot
    tables: int
    paths: tuple[str, ...]
    rows: Mapping[str, int]


def _check_place(session: Session, folder: str) -> None:
    if lies_within(f"{folder}x", session.data_path) or lies_within(f"{session.data_path}x", folder):
        raise Invalid(
            f"{folder} and the lake's data path lie in each other",
            hint="a backup belongs somewhere else, best of all on another machine",
        )
    if is_local(folder) and os.path.isfile(local_path(folder.rstrip("/"))):  # noqa: PTH113 - any name
        raise Invalid(
            f"{folder.rstrip('/')} is a file", hint="a backup is a folder: name one that is new"
        )
    if next(iter(session.store.walk(folder)), None) is not None:
        raise Invalid(
            f"{folder} is not empty", hint="give every backup a folder of its own, by its date"
        )


def _read(session: Session, copy: Path) -> _Found:
    """Everything of the catalog that there is, into a file."""
    with open_file(copy) as target:
        with session.reading() as reader, target.writing() as writer:
            rows = transfer.transfer(reader, writer)
            found = _found(session, reader, rows)
        create.equip(target)
    return found


def _found(session: Session, reader: Reader, rows: Mapping[str, int]) -> _Found:
    at = snapshots.head_id(reader)
    place = session.data_path
    paths = dict.fromkeys(relocation.files_at(reader, place, place, session.annexes))
    (head,) = snapshots.newest(reader, at, 1)
    tables = len(read.names(reader, at, "table"))
    return _Found(identity.lake_id(reader), head, tables, tuple(paths), rows)


@contextmanager
def open_file(path: Path) -> Iterator[Database]:
    """The catalog of a backup: a lake by itself."""
    database = Database(parse_url(f"sqlite:///{path}"))
    try:
        yield database
    finally:
        database.close()


def _sizes(store: Store, data_path: str, paths: tuple[str, ...]) -> dict[str, int]:
    """Of those that are there. In an object store one list tells of all."""
    if is_local(data_path):
        return store.sizes(paths)
    listed = {each.uri: each.bytes for each in store.walk(data_path)}
    return {path: listed[path] for path in paths if path in listed}


def _copy_files(session: Session, folder: str, sizes: Mapping[str, int]) -> None:
    start = len(session.data_path)
    pairs = [(path, f"{folder}{FILES}{path[start:]}") for path in sizes]
    with progress("copying files", files=len(pairs), bytes=sum(sizes.values())) as tell:
        try:
            copy_objects(session.store, pairs, told=lambda path: tell(files=1, bytes=sizes[path]))
        except FileNotFoundError as error:
            raise Conflict(
                f"a file went while the backup was made: {error}",
                hint="somebody cleaned up meanwhile; make the backup again, into another folder",
            ) from error


def digest_of(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while some := file.read(_CHUNK):
            found.update(some)
    return found.hexdigest()
