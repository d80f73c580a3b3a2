"""Which table is read, and at which moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.errors import Denied, Invalid
from tidelake.model.event_time import Knowledge, as_moment, known_by, moment_text
from tidelake.model.moment import from_now
from tidelake.model.names import TableName
from tidelake.model.predicate import Compare
from tidelake.model.schema import Column
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import TableInfo
from tidelake.model.tag import parse_moment
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
        wanted, session = parse_moment(moment), self.session.committed
        if not isinstance(wanted, datetime):
            return None
        at = session.at(reader)
        if session.view.find(reader, at, "table", self.name) is None:
            return None
        record = Record.maybe(reader, session.table_info(reader, at, self.name))
        by = as_moment(wanted, "known_at")
        if record is None or by >= record.since:
            return None
        return replace(self, session=session, snapshot_id=at, now=None, known_by=by)

    def check_recorded(self, what: str) -> None:
        """Invalid for a time of which no commits tell."""
        if self.known_by is not None:
            raise Invalid(
                f"{self.name} at {moment_text(self.known_by)}: of the time before the lake there"
                f" are rows, but no {what}",
                hint="ask the table as it is now, or at a snapshot",
            )
