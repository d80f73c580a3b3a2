"""Removing files that nothing needs: those that were scheduled, and orphans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidelake.catalog import audit, identity
from tidelake.catalog.annex import HeldFiles
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.batches import batches
from tidelake.catalog.expire import leftovers
from tidelake.catalog.expire.leftovers import CatalogFiles, ScheduledFile
from tidelake.catalog.read import options, paths
from tidelake.errors import Invalid
from tidelake.model.age import moment_before
from tidelake.model.namespace import FOLDER as TENANTS
from tidelake.model.ownership import is_derived, is_written
from tidelake.session import leases
from tidelake.session.clocks import Clocks, clocks
from tidelake.session.leases import Announcements
from tidelake.session.neighbours import Neighbours, mark_late, neighbours, neighbours_of
from tidelake.session.progress import progress
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store.files import Store, StoredObject, is_within, same_place
from tidelake.upkeep.values import CleanupResult, KeptFiles

_IN_USE = "scheduled, but a snapshot reads them under another name"
_RECENT = "scheduled only recently: somebody may still be reading them"
_YOUNG = "in no snapshot, but young: somebody may be about to commit them"
_AGAIN = "came into use meanwhile"
_FOREIGN = "were scheduled, and are not the lake's own: nobody will delete them"
_ELSEWHERE = "in no snapshot, but where this lake has no tables"
_AT_WORK = "in no snapshot, but a writer is at work that may be about to commit them"
_SHARED = "in no snapshot, but another lake has this data path too: they may be its own"


@dataclass(frozen=True, slots=True)
class _File:
    """`file_id` is that of a scheduled file; an orphan has none. `of`: whose it is, who needs
    it no longer. A file without bytes is missing."""

    path: str
    bytes: int | None
    file_id: int | None = None
    of: HeldFiles | None = None

    @property
    def is_orphan(self) -> bool:
        return self.file_id is None and self.of is None


@dataclass(frozen=True, slots=True)
class _Sorted:
    """`foreign` are no longer to be scheduled."""

    going: tuple[_File, ...]
    kept: Mapping[str, tuple[_File, ...]]

    @property
    def foreign(self) -> list[int]:
        return [each.file_id for each in self.kept.get(_FOREIGN, ()) if each.file_id is not None]


@dataclass(frozen=True, slots=True)
class _Look:
    """All that decides which files go: what the catalog knows, what annexes hold, other lakes
    nearby, scheduled files that are `used` all the same, the `writers` at work, and the moments
    before which files must have been scheduled, and orphans written."""

    data_path: str
    known: CatalogFiles
    held: tuple[HeldFiles, ...]
    neighbours: Neighbours
    used: frozenset[str]
    writers: Announcements
    scheduled_before: datetime
    written_before: datetime

    def is_own(self, path: str) -> bool:
        """Whether a writer of the lake wrote this file, below the lake's own data path."""
        named = is_written(path) or is_derived(path)
        return named and is_within(path, self.data_path) and not self.neighbours.have(path)

    def why_needed(self, path: str) -> str | None:
        """Why one of the annexes still needs a file."""
        return next(filter(None, (each.why_needed(path) for each in self.held)), None)

    def knows(self, path: str) -> bool:
        """Whether somebody speaks of a file by its name, or needs it."""
        name = paths.base(path)
        named = name in self.known.names or any(name in each.names for each in self.held)
        return named or self.why_needed(path) is not None

    @property
    def ended(self) -> list[str]:
        return [path for each in self.held for path in each.ended]

    def is_deletable(self, each: ScheduledFile) -> bool:
        """A registered file is, if it was handed over, and by this very name."""
        told = self.known.registered.get(each.file_id)
        if told is not None:
            return told.taken_over and told.path == each.path
        return self.is_own(each.path)


def cleanup(
    session: Session,
    *,
    older_than: object,
    orphans: bool,
    dry_run: bool,
    author: str | None = None,
) -> CleanupResult:
    """The listing comes before the look at the catalog: whatever is committed in between is then
    known by name. The other way round it would look like an orphan. Hooks come first of all, so
    that Delta logs no longer show what is to go."""
    if session.committed is not session:
        raise Invalid("cleanup() cannot be in a transaction", hint="call it on the lake itself")
    store = session.local.store
    if not dry_run:
        mark_late(session)
        for hook in session.hooks:
            hook.before_cleanup()
    with progress("cleaning up") as tell:
        tell(phase="listing files")
        listed = list(store.walk(session.data_path)) if orphans else []
    look = _look(
        session, older_than, listed if orphans else None, clocks(session, probe=not dry_run)
    )
    scheduled = [each.path for each in look.known.scheduled]
    sizes = _sizes(store, [*scheduled, *look.ended], listed)
    found = _sort(look, listed, sizes)
    if dry_run:
        return _result(found.going, found.kept, dry_run=True)
    removed, again = _remove(session, found, look.known)
    store.delete(look.writers.stale)
    for held in look.held:
        gone = [file.path for file in removed if file.of is held]
        for work in held.forget(gone, look.scheduled_before) if held.ended else ():
            run_locked(session, work)
    done = _result(removed, {**found.kept, _AGAIN: again})
    if removed:
        told = f"{done.files:,} files ({done.bytes:,} bytes), {done.orphans:,} of them orphans"
        run_locked(session, audit.put_alone, AuditRecord("cleanup", detail=told, actor=author))
    return done


def _homes(data_path: str, listed: Iterable[StoredObject]) -> list[str]:
    """Where writers say that they are at work: the lake's own, and its tenants'."""
    tenants = f"{data_path}{TENANTS}"
    below = (each.uri[len(tenants) :] for each in listed if each.uri.startswith(tenants))
    names = {path.partition("/")[0] for path in below if "/" in path}
    return [data_path, *(f"{tenants}{name}/" for name in sorted(names))]


def _look(
    session: Session, older_than: object, listed: Sequence[StoredObject] | None, now: Clocks
) -> _Look:
    """Writers at work are asked for before the catalog: who is done by then is known there."""
    homes = _homes(session.data_path, listed or ())
    for home in homes:
        leases.settle(home)
    writers = leases.look(session.local.store, homes, now.store)
    with session.reading() as reader:
        grace = options.of_lake(reader, "delete_older_than") if older_than is None else older_than
        known = leftovers.look(reader, session.data_path)
        held = tuple(annex.held(reader, session.data_path) for annex in session.annexes)
        lake_id = identity.lake_id(reader)
    ended = [path for each in held for path in each.ended]
    places = [*(each.path for each in known.scheduled), *ended]
    return _Look(
        session.data_path,
        known,
        held,
        neighbours_of(session, lake_id, places)
        if listed is None
        else neighbours(session, lake_id, listed),
        frozenset(map(same_place, known.used)),
        writers,
        moment_before(now.catalog, grace),
        moment_before(now.store, grace),
    )


def _sizes(store: Store, wanted: Iterable[str], listed: Iterable[StoredObject]) -> dict[str, int]:
    """Of files that are there; most are in the listing, if there is one."""
    sizes = {file.uri: file.bytes for file in listed}
    unknown = [path for path in wanted if path not in sizes]
    return {**sizes, **store.sizes(unknown)}


def _sort(look: _Look, listed: Iterable[StoredObject], sizes: Mapping[str, int]) -> _Sorted:
    going: list[_File] = []
    kept: dict[str, list[_File]] = defaultdict(list)
    for each in look.known.scheduled:
        reason = _why_scheduled_stays(look, each)
        file = _File(each.path, sizes.get(each.path), each.file_id)
        (kept[reason] if reason else going).append(file)
    for held in look.held:
        for path, since in held.ended.items():
            if (path in sizes or held.strikes_off_missing) and look.is_own(path):
                file = _File(path, sizes.get(path), of=held)
                (going if since < look.scheduled_before else kept[_RECENT]).append(file)
    for found in listed:
        if _is_orphan(look, found):
            reason = _why_orphan_stays(look, found)
            (kept[reason] if reason else going).append(_File(found.uri, found.bytes))
    return _Sorted(tuple(going), {reason: tuple(files) for reason, files in kept.items()})


def _why_scheduled_stays(look: _Look, each: ScheduledFile) -> str | None:
    if look.used and same_place(each.path) in look.used:
        return _IN_USE
    if not look.is_deletable(each):
        return _FOREIGN
    if each.since >= look.scheduled_before:
        return _RECENT
    return look.why_needed(each.path)


def _is_orphan(look: _Look, found: StoredObject) -> bool:
    """An orphan's name is nowhere in the catalog, whatever the folder: names are never given
    twice, and one folder may be spelled in several ways."""
    path = found.uri
    if any(each.is_orphan(path) for each in look.held):
        return look.is_own(path)
    named = is_written(path) or any(each.is_made(path) for each in look.held)
    return named and not look.knows(path) and look.is_own(path)


def _why_orphan_stays(look: _Look, found: StoredObject) -> str | None:
    if look.neighbours.around:
        return _SHARED
    if not look.known.is_home(found.uri):
        return _ELSEWHERE
    if found.modified >= look.written_before:
        return _YOUNG
    since = look.writers.since
    return _AT_WORK if since is not None and found.modified >= since else None


def _remove(
    session: Session, found: _Sorted, known: CatalogFiles
) -> tuple[list[_File], list[_File]]:
    """What was removed, and what came into use. From the store first, then from the schedule: what
    a run that broke off has deleted is still scheduled, and the next one strikes it off."""
    removed: list[_File] = []
    again: list[_File] = []
    total = sum(file.bytes or 0 for file in found.going)
    for ids in batches(found.foreign, session.tuning.batch):
        run_locked(session, leftovers.forget, ids)
    with progress("cleaning up", files=len(found.going), bytes=total) as tell:
        for some in batches(found.going, session.tuning.batch):
            with session.reading() as reader:
                late = leftovers.names_since(reader, known.next_id, session.annexes)
            free = [file for file in some if paths.base(file.path) not in late]
            again += [file for file in some if paths.base(file.path) in late]
            session.local.store.delete([file.path for file in free])
            struck = [file.file_id for file in free if file.file_id is not None]
            if struck:
                run_locked(session, leftovers.forget_files, struck)
            removed += free
            tell(files=len(free), bytes=sum(file.bytes or 0 for file in free), phase="files")
    return removed, again


def _result(
    going: Sequence[_File], kept: Mapping[str, Sequence[_File]], *, dry_run: bool = False
) -> CleanupResult:
    there = [file for file in going if file.bytes is not None]
    return CleanupResult(
        files=len(there),
        bytes=_total(there),
        scheduled=sum(not file.is_orphan for file in there),
        orphans=sum(file.is_orphan for file in there),
        missing=len(going) - len(there),
        kept=tuple(
            KeptFiles(reason, len(files), _total(files)) for reason, files in kept.items() if files
        ),
        paths=tuple(sorted(file.path for file in there)),
        dry_run=dry_run,
    )


def _total(files: Iterable[_File]) -> int:
    return sum(file.bytes or 0 for file in files)
