"""What a consumer is given, and how it may begin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, get_args

from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.errors import Invalid, NotFound
from tidelake.history.changes import Changes
from tidelake.model.names import TableName
from tidelake.model.snapshot import Snapshot
from tidelake.session.session import Session

_LISTED = 8

Start = Literal["beginning", "rows", "now"]
"""With all that has happened, with the rows that are there, or with what comes after this."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What happened after snapshot `since` (None: from nothing) up to `until`.

    `tables` are those whose rows or columns may have changed, by their names at `until`. With
    `is_bootstrap` it is no changes but the tables as they are at `until`: all rows come as inserts.
    A member of a group gets batches of one table, `table_id`.
    """

    since: int | None
    until: int
    snapshots: tuple[Snapshot, ...]
    tables: tuple[str, ...]
    _session: Session = field(repr=False, compare=False)
    is_bootstrap: bool = False
    table_id: int | None = None

    def changes(self, table: str) -> Any:
        """The row changes of one table in this batch, as `Table.changes` gives them."""
        name, session = TableName.parse(table), self._session.known_at(self.until)
        info = session.newest_info(name)  # which raises NotFound if there is none
        with session.reading() as reader:
            began = min(snapshots.of_table(reader, info.id), default=0)
        is_new = self.since is not None and began > self.since
        since = None if is_new else self.since  # another may have had its name then
        return Changes(session, name, since, self.until, rows_first=self.is_bootstrap)


def first_place(
    session: Session, writer: Writer, since: int | str | date | None, start: Start
) -> int | None:
    """Where a new consumer begins; None: it has taken nothing yet."""
    if since is not None:
        return session.resolve(writer, since).snapshot_id
    return snapshots.head_id(writer) if start == "now" else None


def checked_start(start: Start, since: object) -> Start:
    if not isinstance(start, str) or start not in get_args(Start):
        named = ", ".join(map(repr, get_args(Start)))
        raise Invalid(f"start={start!r} is no way to begin", hint=f"there are: {named}")
    if since is not None and start != "beginning":
        raise Invalid(
            f"a consumer that begins after {since!r} does not start with {start!r}",
            hint="leave out one of since and start",
        )
    return start


def table_ids(session: Session, tables: Sequence[str] | None) -> frozenset[int] | None:
    """The tables to follow, all of which must be there; None: whatever there is."""
    if tables is None:
        return None
    if isinstance(tables, str) or not tables:
        raise Invalid(f"tables={tables!r} is no list of tables", hint='tables=["orders"]')
    return frozenset(session.newest_info(TableName.parse(name)).id for name in tables)


def table_names(
    session: Session, reader: Reader, at: int, wanted: Collection[int] | None
) -> tuple[str, ...]:
    """What tables are called at a snapshot, those that are there."""
    names = session.view.names(reader, at, "table")
    return tuple(
        sorted(str(name) for table_id, name in names if wanted is None or table_id in wanted)
    )


def check_there(reader: Reader, who: str, position: int, there: Collection[int]) -> None:
    """Snapshots are numbered without gaps: what is missing from a position on has been expired."""
    last = max(there, default=position)
    if len(there) == last - position + 1:
        return
    gone = [str(each) for each in range(position, last + 1) if each not in there]
    listed = ", ".join(gone[:_LISTED]) + (", …" if len(gone) > _LISTED else "")
    oldest = snapshots.oldest_id(reader)
    raise NotFound(
        f"the consumer {who!r} has come to snapshot {position}, and snapshots that it"
        f" needs to go on have been expired: {listed}",
        hint=f"seek(None) begins anew with the rows of the oldest snapshot, {oldest};"
        f" seek({snapshots.head_id(reader)}) goes on with what is to come",
    )
