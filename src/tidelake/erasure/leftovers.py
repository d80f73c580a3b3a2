"""Files in a table's folder that no snapshot has: those that wait for `cleanup`, and what writers
left that never came to their end. They may hold the rows too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tidelake.catalog import identity
from tidelake.catalog.annex import HeldFiles
from tidelake.catalog.database.database import Reader
from tidelake.catalog.expire import leftovers
from tidelake.catalog.expire.leftovers import CatalogFiles
from tidelake.catalog.read import options, paths
from tidelake.erasure.survey import Survey
from tidelake.erasure.task import PurgeTask, purge
from tidelake.erasure.values import LeftFiles
from tidelake.errors import TidelakeError
from tidelake.model.age import moment_before
from tidelake.model.file import DataFile
from tidelake.model.names import text_literal
from tidelake.model.ownership import is_derived, is_written
from tidelake.session import leases
from tidelake.session.clocks import clocks
from tidelake.session.leases import Announcements
from tidelake.session.neighbours import Neighbours, neighbours
from tidelake.session.session import Session
from tidelake.store.files import StoredObject, same_place
from tidelake.store.markers import FOLDER

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_OURS = re.compile(r"ducklake-[0-9a-f-]{36}-[0-9a-f]{8}\.[a-z]+")
"""How Tidelake calls data files; DuckDB gives them no last eight digits, and no sign that it is
still at work."""
_AT_WORK = "a writer is at work that may be about to commit them: erase again when it is done"
_YOUNG = (
    "DuckDB may be about to commit them: when it is done, lake.cleanup('0 seconds') removes those"
    " that it did not, and erase() finds the others"
)
_SHARED = "another lake has this data path too: they may be its own"
_DELETES = "-delete.parquet"


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Files to be deleted, by complete path, and those that may hold such rows and stay. `known`
    are all in the table's folder that waited for `cleanup`; those from `next_id` on came later."""

    going: tuple[str, ...] = ()
    left: tuple[LeftFiles, ...] = ()
    known: frozenset[str] = frozenset()
    next_id: int = 0


@dataclass(frozen=True, slots=True)
class FolderView:
    """What lies in the folder of a table, and who is at work; taken before the catalog is asked."""

    files: tuple[StoredObject, ...]
    marks: tuple[StoredObject, ...]
    writers: Announcements
    now: datetime


def look_around(session: Session, folder: str, *, probe: bool) -> FolderView:
    """Requires: nobody has begun to write for this erasure."""
    now = clocks(session, probe=probe).store
    leases.settle(session.data_path)
    files = tuple(session.store.walk(folder))
    marks = tuple(session.store.walk(f"{session.data_path}{FOLDER}"))
    return FolderView(files, marks, leases.look(session.store, session.data_path, now), now)


@dataclass(frozen=True, slots=True)
class _Look:
    session: Session
    known: Survey
    seen: FolderView
    catalog: CatalogFiles
    neighbours: Neighbours
    before: datetime
    held: tuple[HeldFiles, ...]
    names: frozenset[str]
    scheduled: frozenset[str]

    def is_unknown(self, file: StoredObject) -> bool:
        """Whether nothing in the catalog speaks of it."""
        if any(each.is_orphan(file.uri) for each in self.held):
            return True
        named = is_written(file.uri) or any(each.is_made(file.uri) for each in self.held)
        return named and paths.base(file.uri) not in self.names

    def why_left(self, file: StoredObject) -> str | None:
        """Why an unknown file may not be deleted, if it may not."""
        if self.neighbours.around or self.neighbours.have(file.uri):
            return _SHARED
        since = self.seen.writers.since
        if since is not None and file.modified >= since:
            return _AT_WORK
        young = file.modified >= self.before
        return _YOUNG if young and not _OURS.fullmatch(paths.base(file.uri)) else None


def find_leftovers(session: Session, known: Survey, seen: FolderView) -> Leftovers:
    look = _look(session, known, seen)
    scheduled = _there(session, look.scheduled, seen.now)
    unknown = [file for file in seen.files if look.is_unknown(file)]
    found = [*scheduled, *unknown]
    holding = [file for file in found if _may_hold(look, file)]
    names = {paths.base(file.uri) for file in holding}
    names |= {paths.base(file.path) for file in known.files}
    holding += [file for file in found if _is_of(look, file, names)]
    going: list[str] = []
    left: dict[str, list[str]] = defaultdict(list)
    for file in holding:
        reason = None if file.uri in look.scheduled else look.why_left(file)
        (going if reason is None else left[reason]).append(file.uri)
    reasons = tuple(LeftFiles(reason, tuple(some)) for reason, some in left.items())
    return Leftovers(tuple(going), reasons, look.scheduled, look.catalog.next_id)


def _there(session: Session, wanted: Collection[str], now: datetime) -> list[StoredObject]:
    sizes = session.store.sizes(sorted(wanted)) if wanted else {}
    return [StoredObject(path, size, now) for path, size in sizes.items()]


def scheduled_files(reader: Reader, data_path: str, folder: str) -> frozenset[str]:
    """The lake's own files in a folder that wait for `cleanup`."""
    return _scheduled(leftovers.look(reader, data_path), folder)


def _scheduled(catalog: CatalogFiles, folder: str) -> frozenset[str]:
    used = set(map(same_place, catalog.used))
    return frozenset(
        each.path
        for each in catalog.scheduled
        if each.path.startswith(folder)
        and same_place(each.path) not in used
        and _is_ours(catalog, each.file_id, each.path)
    )


def _look(session: Session, known: Survey, seen: FolderView) -> _Look:
    with session.reading() as reader:
        catalog = leftovers.look(reader, session.data_path)
        grace = options.of_lake(reader, "delete_older_than")
        held = tuple(annex.held(reader, session.data_path) for annex in session.annexes)
        lake_id = identity.lake_id(reader)
    return _Look(
        session,
        known,
        seen,
        catalog,
        neighbours(session, lake_id, seen.marks),
        moment_before(seen.now, grace),
        held,
        catalog.names.union(*(each.names for each in held)),
        _scheduled(catalog, known.found.info.path),
    )


def _is_ours(catalog: CatalogFiles, file_id: int, path: str) -> bool:
    told = catalog.registered.get(file_id)
    return is_written(path) if told is None else told.taken_over


def _may_hold(look: _Look, file: StoredObject) -> bool:
    """What cannot be read may."""
    if is_derived(file.uri):
        return file.uri.endswith((".rollup", ".delta"))
    if file.uri.endswith(_DELETES) or not file.uri.endswith(".parquet"):
        return False
    data = DataFile(-1, file.uri, 0, file.bytes, begin_snapshot=0)
    match = look.known.match_file(data)
    try:
        with look.session.local.job(f"cannot erase from {match.table}") as job:
            return any(answer.rows for answer in job.run([PurgeTask(data, match)], purge))
    except TidelakeError:
        return True


def _is_of(look: _Look, file: StoredObject, names: Collection[str]) -> bool:
    """Whether a delete file speaks of one of these: the path that it names may tell a value."""
    if not file.uri.endswith(_DELETES):
        return False
    try:
        with look.session.local.job("cannot look at a delete file") as job:
            return any(job.run([(file.uri, frozenset(names))], _names_any))
    except TidelakeError:
        return True


def _names_any(work: Workbench, task: tuple[str, frozenset[str]]) -> bool:
    path, names = task
    work.reach([path])
    rows = work.connection.execute(
        f"SELECT DISTINCT file_path FROM read_parquet({text_literal(path)})"
    ).fetchall()
    return any(paths.base(str(row[0])) in names for row in rows)
