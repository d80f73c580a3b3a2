"""Following the lake's changes, durably: a named place in its history, held by one at a time."""

from __future__ import annotations

import math
import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic, sleep
from typing import Any, Protocol

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.history import consumer_records as consumers
from tidelake.history.changes import Changes
from tidelake.history.values import checked_limit
from tidelake.model.changes_made import touched_tables
from tidelake.model.closable import Closable
from tidelake.model.names import TableName
from tidelake.model.snapshot import Snapshot
from tidelake.model.tag import checked_name
from tidelake.session.drafting import DraftSession
from tidelake.session.session import Session

_LISTED = 8
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _PATIENCE = 0.01, 1.0, 1.5
"""How long to wait before looking again: a little at first, and longer each time."""


class OpenTransaction(Protocol):
    """A transaction, as `lake.transaction()` gives it."""

    @property
    def session(self) -> DraftSession: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """What happened after snapshot `since` (None: from nothing) up to `until`.

    `tables` are those whose rows or columns may have changed, by their names at `until`.
    """

    since: int | None
    until: int
    snapshots: tuple[Snapshot, ...]
    tables: tuple[str, ...]
    _session: Session = field(repr=False, compare=False)

    def changes(self, table: str) -> Any:
        """The row changes of one table in this batch, as `Table.changes` gives them."""
        name, session = TableName.parse(table), self._session.known_at(self.until)
        session.newest_info(name)  # which raises NotFound if there is none
        return Changes(session, name, self.since, self.until)


class Consumer(Closable):
    """A named reader of the lake's changes that is held here, made by `lake.consumer(name)`.

    `poll` what is new, do something with it, then `commit`: whoever holds the consumer next goes
    on from there. Nobody else can hold it until it is closed or its lease is over; every call
    renews the lease. With `tables`, what happens to others is passed over. Use it in a `with`.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        since: int | str | datetime | None,
        lease_seconds: float,
        tables: Sequence[str] | None = None,
    ) -> None:
        if not (isinstance(lease_seconds, int | float) and 0 < lease_seconds < math.inf):
            raise Invalid(
                f"a lease of {lease_seconds!r} seconds is none", hint="give a number above 0"
            )
        self.name = checked_name(name, "consumer")
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._pid = os.getpid()
        self._session = session
        self._tables = None if tables is None else _ids(session, tables)
        self._lease = timedelta(seconds=lease_seconds)
        self._polled: Batch | None = None
        self._closed = False
        with session.database.writing() as writer:
            start = None if since is None else session.resolve(writer, since).snapshot_id
            consumers.take(writer, self.name, self.owner, self._lease, start)

    @property
    def position(self) -> int | None:
        """The snapshot up to which everything has been taken; None: nothing yet."""
        with self._reading() as reader:
            return consumers.held_consumer(reader, self.name, self.owner).snapshot_id

    def poll(self, limit: int | None = None, *, timeout: float | None = None) -> Batch | None:
        """What is new since the last commit, all of it or the next `limit` snapshots; None when
        there is nothing, also after `timeout` seconds if one is given. The same comes again until
        it is committed."""
        most = checked_limit(limit)
        if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
            raise Invalid(f"timeout={timeout!r} is no time to wait", hint="give seconds")
        deadline, pause = monotonic() + (timeout or 0), _FIRST_PAUSE_S
        while (batch := self._next(most)) is None and (left := deadline - monotonic()) > 0:
            sleep(min(pause, left))
            pause = min(pause * _PATIENCE, _LONGEST_PAUSE_S)
        return batch

    def _next(self, most: int | None) -> Batch | None:
        """The next batch in which something has happened that is asked for."""
        while (batch := self._look(most)) is not None and self._tables and not batch.tables:
            with self._session.database.writing() as writer:
                self._move(writer, batch)
        self._polled = batch
        return batch

    def _look(self, most: int | None) -> Batch | None:
        with self._reading() as reader:
            state = consumers.held_consumer(reader, self.name, self.owner)
            found = snapshots.after(reader, state.snapshot_id, most)
            if state.snapshot_id is not None:
                self._check_whole(reader, state.snapshot_id, found)
            due = state.lease_until is None or (
                state.lease_until - own_tables.clock(reader) < self._lease / 2
            )
            batch = self._batch(reader, state.snapshot_id, found) if found else None
        if found or due:
            self.renew()
        return batch

    def commit(self, batch: Batch | None = None, *, within: OpenTransaction | None = None) -> None:
        """Everything up to the end of the batch (the last one polled) has been taken, for good.
        Refused when somebody else holds the consumer by now.

        `within` a transaction of the same lake, it is committed with that, or not at all: what the
        transaction writes is then made of every batch exactly once."""
        done = batch or self._polled
        self._check_open()
        if done is None:
            raise Invalid("there is nothing to commit", hint="poll() first")
        if within is not None:
            self._join(within, done)
        else:
            with self._session.database.writing() as writer:
                self._move(writer, done)
        self._polled = None

    def _join(self, within: OpenTransaction, batch: Batch) -> None:
        """Let a transaction move the consumer."""
        tx = getattr(within, "session", None)
        if not isinstance(tx, DraftSession) or tx.database.url != self._session.database.url:
            raise Invalid(
                f"{within!r} is no transaction of the lake that {self.name!r} follows",
                hint="with lake.transaction() as tx: …; consumer.commit(within=tx)",
            )
        tx.check_open()
        before = tx.in_commit

        def keep(writer: Writer) -> None:
            if before is not None:
                before(writer)
            self._move(writer, batch)

        tx.in_commit, tx.keeps_anyway = keep, True

    def _move(self, writer: Writer, batch: Batch) -> None:
        state = consumers.renew(writer, self.name, self.owner, self._lease)
        if state.snapshot_id == batch.until:
            return
        if state.snapshot_id != batch.since:
            raise Conflict(
                f"the consumer {self.name!r} is at {state.snapshot_id}, and the batch begins"
                f" after {batch.since}",
                hint="poll() again; commit batches in the order in which they came",
            )
        consumers.move(writer, self.name, batch.until)

    def seek(self, to: int | str | datetime | None) -> None:
        """Go on from another snapshot, time or tag; None: from the beginning."""
        self._check_open()
        with self._session.database.writing() as writer:
            at = None if to is None else self._session.resolve(writer, to).snapshot_id
            consumers.renew(writer, self.name, self.owner, self._lease)
            consumers.move(writer, self.name, at)
        self._polled = None

    def renew(self) -> None:
        """Keep it for another lease, in the midst of long work."""
        self._check_open()
        with self._session.database.writing() as writer:
            consumers.renew(writer, self.name, self.owner, self._lease)

    def __reduce__(self) -> tuple[Any, ...]:
        raise Invalid(
            f"the consumer {self.name!r} is held by one at a time",
            hint="send the lake, and take hold of it there with lake.consumer(…)",
        )

    def close(self) -> None:
        """Let others have it. What was not committed comes again. A process that was forked has
        nothing to give back: its parent holds it."""
        if not self._closed:
            self._closed = True
            if self._pid != os.getpid():
                return
            with self._session.database.writing() as writer:
                consumers.release(writer, self.name, self.owner)

    def drop(self) -> None:
        """Forget the consumer and how far it has come."""
        self._check_open()
        with self._session.database.writing() as writer:
            consumers.held_consumer(writer, self.name, self.owner)
            consumers.forget(writer, self.name)
        self._closed = True

    def __repr__(self) -> str:
        return f"<Consumer {self.name!r} of {self._session.database.url}>"

    def _reading(self) -> Any:
        self._check_open()
        return self._session.reading()

    def _check_open(self) -> None:
        self._session.check_not_closed()
        if self._closed:
            raise Invalid(
                f"the consumer {self.name!r} has been closed", hint="take it with lake.consumer(…)"
            )

    def _check_whole(self, reader: Reader, position: int, found: Sequence[Snapshot]) -> None:
        """Snapshots are numbered without gaps: what is missing has been expired."""
        there = {snapshot.snapshot_id for snapshot in found}
        if snapshots.exists(reader, position):
            there.add(position)
        last = max(there, default=position)
        if len(there) == last - position + 1:
            return
        gone = [str(each) for each in range(position, last + 1) if each not in there]
        listed = ", ".join(gone[:_LISTED]) + (", …" if len(gone) > _LISTED else "")
        oldest = snapshots.oldest_id(reader)
        raise NotFound(
            f"the consumer {self.name!r} has come to snapshot {position}, and snapshots that it"
            f" needs to go on have been expired: {listed}",
            hint=f"seek(None) begins anew with the rows of the oldest snapshot, {oldest};"
            f" seek({snapshots.head_id(reader)}) goes on with what is to come",
        )

    def _batch(self, reader: Reader, since: int | None, found: Sequence[Snapshot]) -> Batch:
        until = found[-1].snapshot_id
        touched = snapshots.tables_begun(reader, since, until)
        for snapshot in found:
            touched |= touched_tables(snapshot.changes)
        names = self._session.view.names(reader, until, "table")
        tables = sorted(
            str(name)
            for table_id, name in names
            if table_id in touched and (self._tables is None or table_id in self._tables)
        )
        return Batch(since, until, tuple(found), tuple(tables), self._session)


def _ids(session: Session, tables: Sequence[str]) -> frozenset[int]:
    """The tables to follow, all of which must be there."""
    if isinstance(tables, str) or not tables:
        raise Invalid(f"tables={tables!r} is no list of tables", hint='tables=["orders"]')
    return frozenset(session.newest_info(TableName.parse(name)).id for name in tables)
