"""Keeping mirrors up: what a table has become since is decided upon in the catalog, then published
to its log, in order. Whoever comes next finishes what somebody has left.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import options, snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.agenda import (
    Agenda,
    DeclarationCache,
    DueSnapshot,
    agenda,
    agenda_of_appends,
    agenda_of_dropped,
    table_at,
    words_of,
)
from tidelake.delta.mirror.compose import DROPPED as DROP_TABLE
from tidelake.delta.mirror.compose import Moment, PublishedShape, compose
from tidelake.delta.mirror.declaration import declaration_text
from tidelake.delta.mirror.files import Obstacle, files_to_show, needs_look, positions_gone
from tidelake.delta.mirror.metrics import PublishedVersions
from tidelake.delta.mirror.publish import publish, publish_now
from tidelake.delta.mirror.records import MirrorStep
from tidelake.delta.mirror.tables import DELTA
from tidelake.delta.values.mirror import NEWEST, OLDEST, Mirror, MirroredFile, RatifiedVersion
from tidelake.errors import NotFound, TidelakeError, TidelakeWarning
from tidelake.model.change import Change
from tidelake.model.changes_made import UPKEEP, named_tables
from tidelake.model.file import DataFile
from tidelake.model.mirror import Status
from tidelake.model.settings import MIRROR_TAG, mirror_formats
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.upkeep.compact import flush_rows
from tidelake.write.mirror_tag import set_mirror_tag
from tidelake.write.options import set_option

DROPPED = "the table was dropped"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_DELETES = {"deleted_from_table", "inlined_delete"}
_SHAPES = {"altered_table"}


class DeltaMirroring:
    """What mirrors have to do when others commit to a lake, or tidy it up."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def commit(self, change: Change) -> CommitPublisher:
        return CommitPublisher(self._session, change)

    def before_expiry(self) -> None:
        """Mirrors that show the newest snapshot let those before it go."""
        settle_all(self._session)

    def before_cleanup(self) -> None:
        """Logs are no longer to show what is to go."""
        sync_all(self._session)


class CommitPublisher:
    """What one commit does for the mirrors of the tables that it changes. Nothing that goes wrong
    with a log makes the commit fail: it is told as a warning, and done by whoever comes next."""

    def __init__(self, session: Session, change: Change) -> None:
        self._session = session
        self._tables = [
            table.before.id
            for table in change.tables
            if table.before is not None and DELTA in mirror_formats(table.before.tags)
        ]
        self._created = [
            table.after.name
            for table in change.tables
            if table.before is None
            and table.after is not None
            and DELTA in mirror_formats(table.after.tags)
        ]
        self._steps: list[MirrorStep] = []
        self._declarations: DeclarationCache | None = None

    def beside(self, writer: Writer) -> None:
        """What is found out here holds only if the commit lands."""
        self._declarations = DeclarationCache(self._session.memory(DeclarationCache))
        self._steps = ratify_beside(self._session, writer, self._tables, self._declarations)

    def landed(self) -> None:
        self._session.memory(DeclarationCache).take(self._declarations)
        ratified = {step.before.table_id: step for step in self._steps}
        for table_id in self._tables:
            step = ratified.get(table_id)
            with errors_as_warnings("a commit has landed, but could not be published to Delta yet"):
                if step is None or not publish_now(self._session, step):
                    sync(self._session, table_id)
        for name in self._created:
            with errors_as_warnings("a table has been created, but could not be mirrored yet"):
                sync(self._session, self._session.newest_info(name).id)


@contextmanager
def errors_as_warnings(what: str) -> Iterator[None]:
    """What goes wrong inside is no more than a warning."""
    try:
        yield
    except TidelakeError as error:
        warnings.warn(f"{what}: {error}", TidelakeWarning, stacklevel=4)


def sync(session: Session, table_id: int) -> Mirror | None:
    """Bring a mirror up to the newest snapshot, as far as that can be done. A table that is to be
    mirrored, and is not yet, is from now on."""
    with session.reading() as reader:
        known = mirrors.of_table(reader, table_id)
    if known is None:
        begin(session, table_id)
    while (found := _next_step(session, table_id)) is not None:
        run_locked(session, _ratified, *found)
    return publish(session, table_id)


def sync_all(session: Session) -> list[Mirror]:
    """Bring all mirrors up to date, and begin those that are missing. What goes wrong with one is
    told as a warning."""
    for table_id in _wanted(session):
        with errors_as_warnings("a mirror could not be brought up to date"):
            sync(session, table_id)
    with session.reading() as reader:
        return mirrors.every(reader)


def settle_all(session: Session) -> None:
    """Bring all mirrors up to date, and have them show the newest snapshot where that changes
    nothing: snapshots before it may go then."""
    if sync_all(session):
        run_locked(session, _settled)


def _settled(writer: Writer) -> None:
    head = snapshots.head_id(writer)
    for mirror in mirrors.every(writer):
        later = snapshots.after(writer, mirror.snapshot_id)
        if mirror.snapshot_id >= 0 and not any(
            mirror.table_id in named_tables(each.changes) for each in later
        ):
            mirrors.advance(writer, mirror.table_id, head)


def _wanted(session: Session) -> list[int]:
    """Tables that are mirrored, bear the tag, or are to be mirrored by an option of the lake or
    of their schema, and were not: DuckDB does not know of it."""
    with session.reading() as reader:
        head = snapshots.head_id(reader)
        known = {each.table_id for each in mirrors.every(reader)}
        tags = read.tag_values(reader, head, MIRROR_TAG)
        tagged = {id_ for id_, text in tags.items() if DELTA in mirror_formats({MIRROR_TAG: text})}
        others = {}
        if defaults := options.of_scopes(reader, MIRROR_TAG):
            schemas = {each.name: each.id for each in read.schemas(reader, head, "")}
            for table_id, name in read.names(reader, head, "table"):
                kind = defaults.get(schemas[name.schema], defaults.get(None)) or ""
                if DELTA in mirror_formats({MIRROR_TAG: kind}) and table_id not in known | tagged:
                    others[table_id] = name
    for name in others.values():
        write(session, partial(set_mirror_tag, name=name, kind=DELTA, mirrored=True))
    return sorted(known | tagged | others.keys())


def begin(session: Session, table_id: int, *, history: bool = False) -> None:
    """Have a mirror of a table that bears the tag, from the newest snapshot on, or with all that
    are left."""
    with session.reading() as reader:
        try:
            info = read.table(reader, snapshots.head_id(reader), table_id, session.data_path)
        except NotFound:
            return
    if DELTA in mirror_formats(info.tags):
        set_option(session, "data_inlining_row_limit", 0, table=info.name)
        first = OLDEST if history else NEWEST
        run_locked(
            session, mirrors.put_new, Mirror(table_id, str(uuid4()), info.path, snapshot_id=first)
        )


def flush(session: Session, table_id: int) -> bool:
    """Put rows that the catalog keeps into files: a log knows no others. False if there is no such
    table any more."""
    with session.reading() as reader:
        name = dict(read.names(reader, snapshots.head_id(reader), "table")).get(table_id)
    if name is not None:
        with suppress(NotFound):
            flush_rows(session, name)
    return name is not None


def ratify_beside(
    session: Session, writer: Writer, table_ids: Iterable[int], declarations: DeclarationCache
) -> list[MirrorStep]:
    """Decide upon what a commit does to mirrored tables in its own transaction, where it only adds
    rows and that takes no look at files; what is left is for `sync`."""
    found = []
    for table_id in table_ids:
        mirror = mirrors.of_table(writer, table_id)
        if mirror is None or mirror.status != "active" or mirror.snapshot_id < 0:
            continue
        known = session.memory(PublishedVersions).versions.get(mirror.delta_id, -1)
        mirror = replace(mirror, published=max(mirror.published, known))
        due = agenda_of_appends(session, writer, mirror, declarations)
        if due and not any(each.then and needs_look(mirror, each.then) for each in due.dues):
            step = _step(session, mirror, due)
            mirrors.decide(writer, step)
            found.append(step)
    return found


def _ratified(writer: Writer, step: MirrorStep, head: int) -> bool:
    """Decide upon a step, unless somebody has moved rows between files since it was looked at."""
    later = snapshots.after(writer, head)
    if any(words_of(each, step.before.table_id) & UPKEEP.keys() for each in later):
        return False
    return mirrors.ratify(writer, step)


def _next_step(session: Session, table_id: int) -> tuple[MirrorStep, int] | None:
    """What is to be decided upon next, and the newest snapshot when it was looked at."""
    with session.reading() as reader:
        mirror = mirrors.of_table(reader, table_id)
        if mirror is None or mirror.status not in ("active", "blocked"):
            return None
        due = agenda(session, reader, mirror)
        other = _other(reader, mirror)
    if other is not None:
        step = _after_other(session, mirror, other)
    else:
        if any(each.then is not None and each.then.kept for each in due.dues):
            if flush(session, mirror.table_id):
                return _next_step(session, table_id)
            due = agenda_of_dropped(due)
        step = _step(session, mirror, due)
    return None if step == MirrorStep(mirror, mirror) else (step, due.head)


def whole_step(
    session: Session, mirror: Mirror, before: Mapping[int, MirroredFile], last: int
) -> MirrorStep:
    """One more version, from files that a log shows to what the newest snapshot has. `last` is the
    last snapshot that it tells of."""
    with session.reading() as reader:
        found = agenda(session, reader, replace(mirror, snapshot_id=NEWEST))
        later = snapshots.after(reader, last)
        passed = any(mirror.table_id in named_tables(each.changes) for each in later)
        passed = passed or len(later) < found.head - last
    if any(due.then is not None and due.then.kept for due in found.dues):
        flush(session, mirror.table_id)
        return whole_step(session, mirror, before, last)
    counted = replace(mirror, file_count=len(before))
    dues = tuple(replace(due, after_others=True) for due in found.dues)
    found = replace(found, dues=dues, before=dict(before))
    return _step(session, counted, found, quiet=not passed)


def files_at(
    session: Session, mirror: Mirror, snapshot_id: int
) -> Iterator[tuple[DataFile, Sequence[int]]]:
    """The files of which a snapshot sees rows, and the positions in them that it does not see."""
    with session.reading() as reader:
        then = table_at(session, reader, mirror, snapshot_id)
    visible = [] if then is None else then.visible
    gone = {} if then is None else positions_gone(session, then, visible)
    for file in visible:
        if len(gone.get(file.id, ())) < file.rows:
            yield file, gone.get(file.id, ())


def _other(reader: Reader, mirror: Mirror) -> Mirror | None:
    """The mirror of another table that has its log where a new one is to have its own."""
    if mirror.version >= 0:
        return None
    found = [each for each in mirrors.every(reader) if each.root == mirror.root]
    others = [each for each in found if each.table_id != mirror.table_id and each.version >= 0]
    return max(others, key=lambda each: each.version, default=None)


def _after_other(session: Session, mirror: Mirror, other: Mirror) -> MirrorStep:
    """The log of a table that was dropped goes on as that of the one in its place."""
    last = sync(session, other.table_id) or other
    if last.reason == DROPPED and last.published == last.version:
        taken = replace(last, table_id=mirror.table_id, snapshot_id=mirror.snapshot_id)
        return MirrorStep(mirror, replace(taken, status="active", reason=None))
    reason = f"the folder {mirror.root} has the log of another table"
    return MirrorStep(mirror, replace(mirror, status="blocked", reason=reason))


def _step(session: Session, mirror: Mirror, found: Agenda, *, quiet: bool = False) -> MirrorStep:
    """Versions for the snapshots, one after the other, up to one that cannot be shown. `quiet`:
    without those that would change nothing."""
    current, following = dict(found.before), mirror
    commits: list[RatifiedVersion] = []
    went: list[tuple[MirroredFile, int]] = []
    reason = found.reason
    for due in found.dues:
        try:
            after = {} if due.then is None else files_to_show(session, mirror, due.then, current)
        except Obstacle as obstacle:
            reason = str(obstacle)
            break
        known = current if due.whole or due.then is None else _of(current, due.then.files)
        made = compose(following, _moment(due), known, after, quiet=quiet)
        following = made.mirror
        if made.commit is not None:
            commits.append(made.commit)
            went += [(file, following.committed_at) for file in made.went]
        renewed = {file.file_id: file for file in made.came}
        current = {id_: f for id_, f in current.items() if id_ not in known} | after | renewed
        if due.then is None:
            following = replace(following, status="stopped", reason=DROPPED)
    if following.status != "stopped":
        status: Status = "blocked" if reason else "active"
        following = replace(following, status=status, reason=reason)
    come = tuple(file for id_, file in current.items() if found.before.get(id_) != file)
    return MirrorStep(mirror, following, tuple(commits), tuple(went), come)


def _of(current: Mapping[int, MirroredFile], found: Sequence[DataFile]) -> dict[int, MirroredFile]:
    return {file.id: current[file.id] for file in found if file.id in current}


def _moment(due: DueSnapshot) -> Moment:
    at, time = due.snapshot.snapshot_id, (due.snapshot.time - _EPOCH) // _MICROSECOND
    if due.then is None:
        return Moment(at, time, DROP_TABLE, None)
    info, history = due.then.facts.info, due.then.facts.history
    declaration = declaration_text(info, history.physical, history.parents)
    columns = info.schema.columns
    shape = PublishedShape(str(info.name), info.comment, columns, history.physical, declaration)
    rewrites = "rewrite_delete" in due.words
    same = bool(due.words) and (rewrites or due.words <= UPKEEP.keys() | _SHAPES)
    return Moment(at, time, _operation(due.words), shape, same, due.after_others)


def _operation(words: frozenset[str]) -> str:
    if words & UPKEEP.keys():
        return "OPTIMIZE"
    if words and words <= _SHAPES:
        return "ALTER TABLE"
    return "DELETE" if words and words <= _DELETES else "WRITE"
