"""Which table is read, and at which moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots, tables
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.model.event_time import Knowledge, as_moment, known_by, moment_text
from tidelake.model.moment import from_now
from tidelake.model.names import TableName
from tidelake.model.predicate import Compare
from tidelake.model.schema import Column
from tidelake.model.settings import PREFIX
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import TableInfo
from tidelake.model.tag import parse_moment
from tidelake.session.known_time import KnownTime
from tidelake.session.session import Session


@dataclass(frozen=True, slots=True)
class Record:
    """Since when commits tell what was known of a table, and the column that tells of the time
    before. `first` is the snapshot that brought the first rows, if that is still there."""

    column: Column
    since: int
    first: Snapshot | None

    @staticmethod
    def maybe(reader: Reader, table: TableInfo) -> Record | None:
        """None if no column of the table tells when rows became known."""
        knowledge = Knowledge.maybe(table)
        if knowledge is None:
            return None
        first = snapshots.first_with_rows(reader, table.id)
        since = knowledge.since if first is None else as_moment(first.time)
        return Record(knowledge.column, max(since, knowledge.since), first)

    def by(self, moment: int) -> Compare:
        """A row was known by then. One without a time was not: it is known since its commit."""
        return known_by(self.column, moment)

    @property
    def before(self) -> Compare:
        """A row was known before the record began."""
        return known_by(self.column, self.since - 1)


def seen_at(session: Session, reader: Reader) -> int:
    """The snapshot that is read, or the one that tells of a time before all of them."""
    return session.witness(reader) if session.is_lost else session.at(reader)


def known_time(session: Session, reader: Reader, moment: int | str | date) -> KnownTime | None:
    """A moment as a time at which somebody asks what was known; None if it is an id or a tag. In a
    lake that is pinned to a time nothing is known that was not known by then."""
    wanted = parse_moment(moment)
    if not isinstance(wanted, datetime):
        return None
    by, pinned = as_moment(wanted, "known_at"), session.time
    if pinned is not None and by > pinned.by:
        if pinned.lost is not None:
            raise Denied(
                f"{moment_text(by)} is after {moment_text(pinned.by)}, to which the lake is pinned",
                hint="ask the unpinned lake",
            )
        by = pinned.by
    return KnownTime(by, session.witness(reader))


def find_then(
    session: Session, reader: Reader, moment: int | str | date
) -> tuple[int, KnownTime | None]:
    """The snapshot that a moment names, and the time if it is one. A time before all snapshots has
    none; what some tables tell of it, the rows of the snapshot given here tell."""
    time = known_time(session, reader, moment)
    try:
        return session.resolve(reader, moment).snapshot_id, time
    except NotFound as error:
        if time is None:
            raise
        return time.at, replace(time, lost=error)


def pinned_to(session: Session, moment: int | str | date) -> Session:
    """The whole lake as it was known at a moment. NotFound if there was no snapshot then, and no
    table tells of the time."""
    session, asked, moment = session.committed, session, from_now(moment)
    with asked.reading() as reader:
        at, time = find_then(asked, reader, moment)
        if time is not None and not known_then(session, reader, time):
            time.check_there()
            time = None
    if time is not None:
        asked.reads.everything()
    return session.known_at(at, time)


def known_then(session: Session, reader: Reader, time: KnownTime) -> list[TableName]:
    """The tables that tell of a time before their first commit."""
    telling = tables.tag_values(reader, time.at, f"{PREFIX}knowledge_time")
    listed = session.view.names(reader, time.at, "table") if telling else []
    listed += session.view.shared(reader, time.at) if telling else []
    return [
        name
        for table_id, name in listed
        if table_id in telling and Source(session, name).then(reader, time) is not None
    ]


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    """A table of a session by name, at its newest state or at a snapshot, and as of a moment of
    event time if one is given. `required` is how much of what is expected must be there for rows
    to be read, and `now` what time it is (in nanoseconds since 1970), if that is neither the
    clock's time nor the snapshot's. `known_by` is a moment from before the lake's own record of it:
    of the rows of the snapshot those are meant that were known by then, as a column says."""

    session: Session
    name: TableName
    snapshot_id: int | None = None
    as_of: int | None = None
    required: float | None = None
    now: int | None = None
    known_by: int | None = None

    def __repr__(self) -> str:
        pinned = "" if self.snapshot_id is None else f" known at {self.snapshot_id}"
        if self.known_by is not None:
            pinned = f" known at {moment_text(self.known_by)}"
        moment = "" if self.as_of is None else f" as of {moment_text(self.as_of)}"
        return f"<Table {self.name}{moment}{pinned}>"

    def at(self, reader: Reader) -> int:
        """The snapshot that is read now."""
        if self.snapshot_id is None:
            return self.session.at(reader)
        snapshots.check_there(reader, self.snapshot_id)
        return self.snapshot_id

    def info(self, reader: Reader, at: int) -> TableInfo:
        return self.session.table_info(reader, at, self.name)

    def declared(self) -> TableInfo:
        """All that is declared of the table, which counts as read."""
        with self.session.reading() as reader:
            found = self.info(reader, self.at(reader))
        if self.snapshot_id is None:
            self.session.note_declared(found)
        return found

    def end(self) -> int | None:
        """The snapshot up to which the table's past is told, all of which counts as read."""
        self.check_recorded("history")
        self.session.note_rows(self.name, self.snapshot_id)
        return self.session.last if self.snapshot_id is None else self.snapshot_id

    def check_not_as_of(self, what: str) -> None:
        if self.as_of is not None:
            raise Invalid(
                f"{what} are of a table's rows, not of its state as of {moment_text(self.as_of)}",
                hint="ask the table itself, or t.as_of(…).changes_of_belief(since=…)",
            )

    def check_unpinned(self) -> None:
        self.session.namespace.check_own(self.name)
        if self.snapshot_id is not None:
            raise Denied(
                f"{self.name} is pinned to snapshot {self.snapshot_id}, and the past does not"
                " change",
                hint="write to the unpinned table",
            )
        if self.as_of is not None:
            raise Denied(
                f"{self.name} as of {moment_text(self.as_of)} is an answer, which does not change",
                hint="write to the table itself; a row about the past simply has that event time",
            )

    def known_at(self, moment: int | str | date) -> Source:
        """The table as the lake knew it at a moment: nothing is in it that is not committed."""
        session, moment = self.session.committed, from_now(moment)
        with self.session.reading() as reader:
            if (before := self.before_record(reader, moment)) is not None:
                return before
            snapshot_id = self.session.resolve(reader, moment).snapshot_id
            session.table_info(reader, snapshot_id, self.name)
        return replace(self, session=session, snapshot_id=snapshot_id, now=None, known_by=None)

    def before_record(self, reader: Reader, moment: int | str | date) -> Source | None:
        """The table at a time before the lake knew of it, if a column of it tells."""
        time = known_time(self.session, reader, moment)
        return None if time is None else self.then(reader, time)

    def then(self, reader: Reader, time: KnownTime) -> Source | None:
        """The same of a time that is understood already."""
        session = self.session.committed
        if session.view.find(reader, time.at, "table", self.name) is None:
            return None
        record = Record.maybe(reader, session.table_info(reader, time.at, self.name))
        if record is None or time.by >= record.since:
            return None
        self.session.reads.everything()
        return replace(self, session=session, snapshot_id=time.at, now=None, known_by=time.by)

    def check_recorded(self, what: str) -> None:
        """Invalid for a time of which no commits tell."""
        if self.known_by is not None:
            raise Invalid(
                f"{self.name} at {moment_text(self.known_by)}: of the time before the lake there"
                f" are rows, but no {what}",
                hint="ask the table as it is now, or at a snapshot",
            )
