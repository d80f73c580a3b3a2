"""Following the lake's changes, durably: a named place in its history, held by one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.history import consumer_records as consumers
from tidelake.history import group_records as groups
from tidelake.history.batch import Batch, check_there, first_place, table_names
from tidelake.history.holder import Holder
from tidelake.model.changes_made import touched_tables
from tidelake.model.snapshot import Snapshot
from tidelake.session.session import Session


class Consumer(Holder):
    """A named reader of the lake's changes that is held here, made by `lake.consumer(name)`.

    `poll` what is new, do something with it, then `commit`: whoever holds the consumer next goes
    on from there. Nobody else can hold it until it is closed or its lease is over; every call
    renews the lease. With `tables`, what happens to others is passed over. Use it in a `with`.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        since: int | str | date | None = None,
        lease_seconds: float = 60,
        **wishes: Any,
    ) -> None:
        super().__init__(session, name, since, lease_seconds, **wishes)
        self._whole_at: int | None = None
        with session.database.writing() as writer:
            place = first_place(session, writer, since, self._start)
            groups.check_single(writer, self.name)
            consumers.take(writer, self.name, self.owner, self._lease, place)

    @property
    def position(self) -> int | None:
        """The snapshot up to which everything has been taken; None: nothing yet."""
        with self._reading() as reader:
            return consumers.held_consumer(reader, self.name, self.owner).snapshot_id

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
            due = state.lease_until is None or (
                state.lease_until - own_tables.clock(reader) < self._lease / 2
            )
            if state.snapshot_id is None and self._start == "rows":
                batch: Batch | None = self._first_batch(reader)
            else:
                batch = self._later_batch(reader, state.snapshot_id, most)
        if batch is not None or due:
            self.renew()
        return batch

    def _first_batch(self, reader: Reader) -> Batch:
        """All rows, as of the newest snapshot when this was asked for first."""
        if self._whole_at is None or not snapshots.exists(reader, self._whole_at):
            self._whole_at = snapshots.head_id(reader)
        at = self._whole_at
        names = table_names(self._session, reader, at, self._tables)
        known = (snapshots.by_id(reader, at),)
        return Batch(None, at, known, names, self._session, is_bootstrap=True)

    def _later_batch(self, reader: Reader, place: int | None, most: int | None) -> Batch | None:
        found = snapshots.after(reader, place, most)
        if place is not None:
            there = {each.snapshot_id for each in found}
            if snapshots.exists(reader, place):
                there.add(place)
            check_there(reader, self.name, place, there)
        return self._batch(reader, place, found) if found else None

    def _batch(self, reader: Reader, since: int | None, found: Sequence[Snapshot]) -> Batch:
        until = found[-1].snapshot_id
        touched = snapshots.tables_begun(reader, since, until)
        for snapshot in found:
            touched |= touched_tables(snapshot.changes)
        if self._tables is not None:
            touched &= self._tables
        names = table_names(self._session, reader, until, touched)
        return Batch(since, until, tuple(found), names, self._session)

    def _move(self, writer: Writer, batch: Batch) -> bool:
        state = consumers.renew(writer, self.name, self.owner, self._lease)
        if not self._follows(batch, state.snapshot_id):
            return False
        consumers.move(writer, self.name, batch.until)
        return True

    def seek(self, to: int | str | date | None) -> None:
        """Go on from another snapshot, time or tag; None: from the beginning."""
        self._check_open()
        with self._session.database.writing() as writer:
            at = None if to is None else self._session.resolve(writer, to).snapshot_id
            self._renew(writer)
            consumers.move(writer, self.name, at)
        self._polled = self._whole_at = None

    def drop(self) -> None:
        """Forget the consumer and how far it has come."""
        self._check_open()
        with self._session.database.writing() as writer:
            consumers.held_consumer(writer, self.name, self.owner)
            consumers.forget(writer, self.name)
        self._closed = True

    def _renew(self, writer: Writer) -> None:
        consumers.renew(writer, self.name, self.owner, self._lease)

    def _release(self, writer: Writer) -> None:
        consumers.release(writer, self.name, self.owner)
