"""What a mirror is to show next: snapshots that changed its table, with the files that they may
have changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import file_history, files, inlined_data, snapshots
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.column_history import type_spans
from tidelake.delta.log.types import obstacles
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.files import TableAt
from tidelake.delta.values.mirror import NEWEST, OLDEST, Mirror, MirroredFile, begins_with
from tidelake.errors import NotFound
from tidelake.model.changes_made import UPKEEP, created_names, named_tables
from tidelake.model.file import DataFile
from tidelake.model.snapshot import Snapshot
from tidelake.session.caches import Memory
from tidelake.session.planning import TableMeta, mappings_of
from tidelake.session.session import Session

_SHAPES = {"altered_table"}
_OTHERS = {*_SHAPES, "dropped_table"}
_APPENDS = {"inserted_into_table"}
_KEEPS = "inlined_insert"
_AT_ONCE = 64
"""Snapshots that are decided upon in one transaction."""


@dataclass(frozen=True, slots=True)
class DueSnapshot:
    """A snapshot that is to be shown. `whole`: all files that there are may have changed with it;
    else those of `then`. Without `then` the table has been dropped. `words` say what was done to
    it since the snapshot before. `after_others`: between what was shown before and this one the
    table may have been what is not shown."""

    snapshot: Snapshot
    whole: bool
    words: frozenset[str]
    then: TableAt | None = None
    after_others: bool = False


@dataclass(frozen=True, slots=True)
class Agenda:
    """What is to be shown next, and what the mirror has of all files that may change. `reason`:
    why the newest snapshot cannot be shown, if it cannot. `head` is the newest that there is."""

    dues: tuple[DueSnapshot, ...]
    before: dict[int, MirroredFile]
    reason: str | None
    head: int


def agenda(session: Session, reader: Reader, mirror: Mirror) -> Agenda:
    """Snapshots that cannot be shown are passed over. Where rows have been moved between files
    meanwhile, for the past too, or snapshots are missing, all files are looked at."""
    return _agenda(
        session, reader, mirror, session.memory(DeclarationCache), _later(reader, mirror)
    )


def agenda_of_appends(
    session: Session, reader: Reader, mirror: Mirror, known: DeclarationCache
) -> Agenda | None:
    """The same, with few questions, if rows have been added since what the mirror shows and
    nothing else was done."""
    later = _later(reader, mirror)
    words = {word for each in later.snapshots for word in words_of(each, mirror.table_id)}
    if not later.gapless or words != _APPENDS:
        return None
    return _agenda(session, reader, mirror, known, later)


def _agenda(
    session: Session, reader: Reader, mirror: Mirror, known: DeclarationCache, later: _Later
) -> Agenda:
    some = any(created_names(each.changes) for each in later.snapshots)
    named = snapshots.of_table(reader, mirror.table_id) if some else frozenset()
    touching = _touching(mirror, later.snapshots, named)
    declared = [known.at(session, reader, mirror.table_id, each) for each in touching]
    reasons = [None if each is None else each.reason for each in declared]
    fit = [each for each, reason in zip(touching, reasons, strict=True) if reason is None]
    moved = any(words_of(each, mirror.table_id) & UPKEEP.keys() for each in touching)
    shown = _Dues(session, reader, mirror, known, touching, named)
    dues = shown.of(fit[:_AT_ONCE], whole=moved or not later.gapless)
    if dues and mirror.version >= 0 and not later.gapless:
        dues[0] = replace(dues[0], after_others=True)
    last = reasons[-1] if touching else mirror.reason
    head = later.snapshots[-1].snapshot_id if later.snapshots else mirror.snapshot_id
    return Agenda(tuple(dues), shown.before, last if len(fit) <= _AT_ONCE else None, head)


def words_of(snapshot: Snapshot, table_id: int) -> set[str]:
    """What a snapshot says that it did to a table."""
    parts = (change.partition(":") for change in snapshot.changes)
    return {word.lower() for word, _, subject in parts if subject == str(table_id)}


def agenda_of_dropped(found: Agenda) -> Agenda:
    """The agenda of a table of which only the end can be shown: the rest cannot be flushed any
    more."""
    last = found.dues[-1]
    end = DueSnapshot(last.snapshot, True, last.words)
    return Agenda((end,), found.before, None, found.head)


@dataclass(frozen=True, slots=True)
class _Later:
    """Snapshots after what a mirror shows. `gapless`: none of them is missing, nor that itself."""

    snapshots: list[Snapshot]
    gapless: bool


def _later(reader: Reader, mirror: Mirror) -> _Later:
    if mirror.snapshot_id == NEWEST:
        return _Later([snapshots.by_id(reader, snapshots.head_id(reader))], False)
    if mirror.snapshot_id <= OLDEST:
        first = read.first_snapshot(reader, mirror.table_id)
        first = max(first, begins_with(mirror.snapshot_id))
        return _Later(snapshots.after(reader, first - 1), False)
    found = snapshots.after(reader, mirror.snapshot_id - 1)
    ids = [each.snapshot_id for each in found]
    gapless = ids == list(range(mirror.snapshot_id, mirror.snapshot_id + len(ids)))
    return _Later([each for each in found if each.snapshot_id > mirror.snapshot_id], gapless)


def _touching(mirror: Mirror, later: Sequence[Snapshot], named: Collection[int]) -> list[Snapshot]:
    """Those that changed the table, also those that `named` it; of a mirror that shows nothing yet,
    the first at any rate."""
    begins = mirror.snapshot_id < 0
    return [
        each
        for place, each in enumerate(later)
        if (begins and place == 0)
        or mirror.table_id in named_tables(each.changes)
        or each.snapshot_id in named
    ]


def table_at(session: Session, reader: Reader, mirror: Mirror, snapshot_id: int) -> TableAt | None:
    """The table at a snapshot, with all its files; None if it was not there."""
    snapshot = snapshots.by_id(reader, snapshot_id)
    (due,) = _Dues(session, reader, mirror, session.memory(DeclarationCache)).of(
        [snapshot], whole=True
    )
    return due.then


class DeclarationCache(Memory):
    """How tables are declared, as mirrors need it: that is the same for all snapshots of one
    version of the lake's schema. Of each table the last that was asked for is remembered."""

    def __init__(self, known: DeclarationCache | None = None) -> None:
        self._known: dict[int, tuple[int, DeclaredTable | None]] = {}
        self.take(known)

    def take(self, other: DeclarationCache | None) -> None:
        """Know what another knows."""
        if other is not None:
            self._known |= other._known

    def at(
        self, session: Session, reader: Reader, table_id: int, snapshot: Snapshot
    ) -> DeclaredTable | None:
        """None if there is no such table then."""
        version, found = self._known.get(table_id, (-1, None))
        if version != snapshot.schema_version or words_of(snapshot, table_id) & _OTHERS:
            found = _declared(session, reader, table_id, snapshot.snapshot_id)
            self._known[table_id] = snapshot.schema_version, found
        return found


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """`reason`: why Delta cannot express it, if it cannot."""

    facts: TableMeta
    spans: Mapping[int, Sequence[tuple[int, int | None, str]]]
    reason: str | None


def _declared(session: Session, reader: Reader, table_id: int, at: int) -> DeclaredTable | None:
    try:
        info = read.table(reader, at, table_id, session.data_path)
    except NotFound:
        return None
    reasons = ["its files are encrypted"] if session.encrypted else obstacles(info.schema)
    spans = type_spans(reader, table_id)
    return DeclaredTable(TableMeta.gather(reader, info), spans, "; ".join(reasons) or None)


class _Dues:
    """Snapshots with their files, one after the other."""

    def __init__(
        self,
        session: Session,
        reader: Reader,
        mirror: Mirror,
        known: DeclarationCache,
        touching: Sequence[Snapshot] = (),
        named: Collection[int] = (),
    ) -> None:
        self._session = session
        self._known = known
        self._reader = reader
        self._mirror = mirror
        self._touching = touching
        self._named = named
        self.before: dict[int, MirroredFile] = {}

    def of(self, fit: Sequence[Snapshot], *, whole: bool) -> list[DueSnapshot]:
        found = []
        since = self._mirror.snapshot_id
        for snapshot in fit:
            words = self._words(since, snapshot.snapshot_id)
            due = self._due(snapshot, words, None if whole or words & _SHAPES else since)
            passed = any(since < each.snapshot_id < snapshot.snapshot_id for each in self._touching)
            found.append(replace(due, after_others=passed and self._mirror.version >= 0))
            since = snapshot.snapshot_id
        return found

    def _words(self, since: int, at: int) -> frozenset[str]:
        between = [each for each in self._touching if since < each.snapshot_id <= at]
        renamed = any(each.snapshot_id in self._named for each in between) and since >= 0
        words = (words_of(each, self._mirror.table_id) for each in between)
        return frozenset(_SHAPES if renamed else ()).union(*words)

    def _due(self, snapshot: Snapshot, words: frozenset[str], since: int | None) -> DueSnapshot:
        at, id_, reader = snapshot.snapshot_id, self._mirror.table_id, self._reader
        declared = self._known.at(self._session, reader, id_, snapshot)
        if declared is None:
            self.before = mirrors.files(reader, id_)
            return DueSnapshot(snapshot, True, words)
        info = declared.facts.info
        found = self._files(info.path, words, since, at)
        new = {file.id for file in found} - self.before.keys()
        leaves = {leaf.id for column in info.schema for leaf in column.leaves()}
        then = TableAt(
            at,
            declared.facts,
            tuple(found),
            files.statistics(reader, id_, leaves, new),
            declared.spans,
            mappings_of(reader, found),
            kept=(since is None or _KEEPS in words) and inlined_data.has_rows(reader, at, id_),
        )
        return DueSnapshot(snapshot, since is None, words, then)

    def _files(
        self, path: str, words: frozenset[str], since: int | None, at: int
    ) -> list[DataFile]:
        """Files that may have changed since a snapshot, or all; what the mirror has of them goes
        into `before`."""
        id_, reader = self._mirror.table_id, self._reader
        if since is None:
            ids = {file.id for file in files.data_files(reader, at, id_, path)}
            self.before = mirrors.files(reader, id_)
            return files.whole_life(reader, id_, path, ids)
        if words == _APPENDS:
            added = file_history.added_files(reader, id_, path, since, at)
            if added is not None:
                return added
        free = file_history.next_file(reader, since)
        found = file_history.touched_files(reader, id_, path, since, at, free)
        self.before |= mirrors.files(reader, id_, {file.id for file in found})
        return found
