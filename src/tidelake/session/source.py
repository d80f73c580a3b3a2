"""Which table is read, and at which moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.errors import Denied, Invalid
from tidelake.model.event_time import moment_text
from tidelake.model.names import TableName
from tidelake.model.table import TableInfo
from tidelake.session.session import Session


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    """A table of a session by name, at its newest state or at a snapshot, and as of a moment of
    event time if one is given. `required` is how much of what is expected must be there for rows
    to be read, and `now` what time it is (in nanoseconds since 1970), if that is neither the
    clock's time nor the snapshot's."""

    session: Session
    name: TableName
    snapshot_id: int | None = None
    as_of: int | None = None
    required: float | None = None
    now: int | None = None

    def __repr__(self) -> str:
        pinned = "" if self.snapshot_id is None else f" known at {self.snapshot_id}"
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

    def known_at(self, moment: int | str | datetime) -> Source:
        """The table as the lake knew it at a moment: nothing is in it that is not committed."""
        with self.session.reading() as reader:
            snapshot_id = self.session.resolve(reader, moment).snapshot_id
            self.session.committed.table_info(reader, snapshot_id, self.name)
        return replace(self, session=self.session.committed, snapshot_id=snapshot_id, now=None)
