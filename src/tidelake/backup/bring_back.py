"""A lake again, from a backup: its files first, then the catalog, in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from tidelake.backup.make import digest_of, open_file
from tidelake.backup.manifest import CATALOG, FILES, read_manifest
from tidelake.backup.rewind import rewind
from tidelake.backup.values import Manifest
from tidelake.catalog import create, identity, relocation, transfer
from tidelake.catalog.annex import Annexes
from tidelake.catalog.database.database import Database
from tidelake.catalog.read import tables as read
from tidelake.errors import Corrupt, Invalid, NotFound
from tidelake.session.neighbours import check_free
from tidelake.session.progress import progress
from tidelake.session.session import Session
from tidelake.store.copies import copy_object, copy_objects, folder_of
from tidelake.store.files import Store, is_local

_SHOWN = 5


class Backup:
    """A finished backup at a place."""

    def __init__(self, store: Store, path: object) -> None:
        self.store = store
        self.folder = folder_of(path)
        self.manifest: Manifest = read_manifest(store, self.folder)

    def bring_files(self, data_path: str, *, force: bool) -> None:
        """Have all files below a data path: those of the backup if it has them, else those that
        are there. NotFound names what is missing, unless `force` says that it does not matter."""
        if self.manifest.with_files:
            self._check_free(data_path)
            self._copy(data_path)
        there = self._sizes(data_path)
        wrong = [path for path, size in self.manifest.files.items() if there.get(path) != size]
        if wrong and not force:
            listed = ", ".join(wrong[:_SHOWN]) + (", …" if len(wrong) > _SHOWN else "")
            raise NotFound(
                f"{len(wrong):,} of {len(self.manifest.files):,} files are not at {data_path}, or"
                f" not as they were: {listed}",
                hint="copy them there first, or name the place that has them with data_path; with"
                " force=True the lake comes back without them",
            )

    def _check_free(self, data_path: str) -> None:
        try:
            check_free(self.store, data_path)
        except Invalid as error:
            raise Invalid(
                error.message,
                hint="name another data path; if a restore broke off there, empty it: all files"
                " come from the backup",
            ) from None

    def _copy(self, data_path: str) -> None:
        sizes = {f"{self.folder}{FILES}{path}": n for path, n in self.manifest.files.items()}
        with progress("copying files", files=len(sizes), bytes=sum(sizes.values())) as tell:
            copy_objects(
                self.store,
                self._pairs(data_path),
                told=lambda path: tell(files=1, bytes=sizes[path]),
            )

    def _pairs(self, data_path: str) -> Iterator[tuple[str, str]]:
        """Whatever says where a file goes stays below the data path."""
        for path in self.manifest.files:
            if path.startswith("/") or ".." in path.split("/"):
                raise Corrupt(
                    f"the backup names a file outside of the lake: {path}",
                    hint="restore from another backup",
                )
            yield f"{self.folder}{FILES}{path}", data_path + path

    def _sizes(self, data_path: str) -> dict[str, int]:
        start = len(data_path)
        if is_local(data_path):
            found = self.store.sizes([data_path + path for path in self.manifest.files])
            return {uri[start:]: size for uri, size in found.items()}
        return {each.uri[start:]: each.bytes for each in self.store.walk(data_path)}

    def bring_catalog(self, database: Database, data_path: str, annexes: Annexes) -> None:
        """Into an empty database. Until the last row is there it is no lake."""
        with self._catalog() as source:
            with source.reading() as reader, database.writing() as writer:
                transfer.check_free(writer)
                rows = transfer.transfer(reader, writer)
                if rows != dict(self.manifest.rows):
                    raise Corrupt(
                        f"{self.folder}{CATALOG} has not the rows that it should have",
                        hint="restore from another backup",
                    )
                stored = read.lake_info(writer).data_path
                old = self.manifest.data_path
                if data_path != old:
                    relocation.relocate(writer, stored, old, data_path, annexes)
                    identity.renew(writer, str(uuid.uuid4()))
            create.equip(database)

    def bring_rewound(
        self, aside: Session, database: Database, to: int | str | date, *, force: bool
    ) -> None:
        """The files, and the catalog as it is when all tables have been brought back to a moment,
        into an empty database. `aside` has the catalog already, in a place that nobody knows."""
        with aside.reading() as reader:
            aside.resolve(reader, to)
        self.bring_files(aside.data_path, force=force)
        rewind(aside, to)
        with aside.reading() as reader, database.writing() as writer:
            transfer.check_free(writer)
            transfer.transfer(reader, writer)
        create.equip(database)

    @contextmanager
    def _catalog(self) -> Iterator[Database]:
        with TemporaryDirectory(prefix="tidelake-restore-") as local:
            copy = Path(local, CATALOG)
            if not self.store.exists(self.folder + CATALOG):
                raise Corrupt(
                    f"{self.folder}{CATALOG} is missing", hint="restore from another backup"
                )
            copy_object(self.store, self.folder + CATALOG, str(copy))
            if digest_of(copy) != self.manifest.digest:
                raise Corrupt(
                    f"{self.folder}{CATALOG} is not what was backed up: its digest differs",
                    hint="restore from another backup",
                )
            with open_file(copy) as database:
                yield database


def check_empty(database: Database) -> None:
    """Raise Invalid if the database of a lake to be is not empty. To look into a file that is not
    there would be to make it."""
    if database.url.path is not None and not database.url.path.exists():
        return
    try:
        with database.reading() as reader:
            transfer.check_free(reader)
    except Invalid as error:
        raise Invalid(f"{database.url}: {error.message}", hint=error.hint) from None
