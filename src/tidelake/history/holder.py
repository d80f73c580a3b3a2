"""Whoever takes part in following the lake's changes: for a while, and under a name of its own."""

from __future__ import annotations

import os
import socket
import uuid
from abc import abstractmethod
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Protocol

from tidelake.catalog.database.database import Writer
from tidelake.errors import Conflict, Invalid
from tidelake.history.batch import Batch, Start, checked_start, table_ids
from tidelake.history.values import checked_limit
from tidelake.history.waiting import wait_for
from tidelake.model.closable import Closable
from tidelake.model.tag import checked_name
from tidelake.session.drafting import DraftSession
from tidelake.session.session import Session

_LONGEST_LEASE_S = 366 * 24 * 3600


class OpenTransaction(Protocol):
    """A transaction, as `lake.transaction()` gives it."""

    @property
    def session(self) -> DraftSession: ...


class Holder(Closable):
    """Polls what is new, and commits it. Every call renews the lease."""

    def __init__(
        self,
        session: Session,
        name: str,
        since: int | str | date | None = None,
        lease_seconds: float = 60,
        *,
        tables: Sequence[str] | None = None,
        start: Start = "beginning",
    ) -> None:
        if not (isinstance(lease_seconds, int | float) and 0 < lease_seconds <= _LONGEST_LEASE_S):
            raise Invalid(
                f"a lease of {lease_seconds!r} seconds is none",
                hint="give a number above 0; a year at most",
            )
        self.name = checked_name(name, "consumer")
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._start = checked_start(start, since)
        self._pid = os.getpid()
        self._session = session
        self._tables = table_ids(session, tables)
        self._lease = timedelta(seconds=lease_seconds)
        self._polled: Batch | None = None
        self._closed = False

    def poll(self, limit: int | None = None, *, timeout: float | None = None) -> Batch | None:
        """What is new since the last commit, all of it or the next `limit` snapshots; None when
        there is nothing, also after `timeout` seconds if one is given. The same comes again until
        it is committed."""
        most = checked_limit(limit)
        longest_s = self._lease.total_seconds() / 4
        return wait_for(lambda: self._next(most), self._session.database, timeout, longest_s)

    @abstractmethod
    def _next(self, most: int | None) -> Batch | None:
        """What there is now."""

    def commit(self, batch: Batch | None = None, *, within: OpenTransaction | None = None) -> None:
        """Everything up to the end of the batch (the last one polled) has been taken, for good.
        Refused when somebody else holds it by now.

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
        """Let a transaction commit it."""
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
            if not self._move(writer, batch):
                raise Conflict(
                    f"the batch up to snapshot {batch.until} has been committed before",
                    hint="poll() again: what a transaction writes is made of each batch once",
                )

        tx.in_commit, tx.keeps_anyway = keep, True

    @abstractmethod
    def _move(self, writer: Writer, batch: Batch) -> bool:
        """Go to the end of a batch, as the one who holds it; False if it is there already."""

    def _follows(self, batch: Batch, place: int | None) -> bool:
        """Whether a batch is the next one at a place; False if it has been taken already."""
        if place == batch.until:
            return False
        if place != batch.since:
            raise Conflict(
                f"the consumer {self.name!r} is at {place}, and the batch begins"
                f" after {batch.since}",
                hint="poll() again; commit batches in the order in which they came",
            )
        return True

    def renew(self) -> None:
        """Keep it for another lease, in the midst of long work."""
        self._check_open()
        with self._session.database.writing() as writer:
            self._renew(writer)

    @abstractmethod
    def _renew(self, writer: Writer) -> None: ...

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
                self._release(writer)

    @abstractmethod
    def _release(self, writer: Writer) -> None: ...

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self._session.database.url}>"

    def _reading(self) -> Any:
        self._check_open()
        return self._session.reading()

    def _check_open(self) -> None:
        self._session.check_not_closed()
        if self._closed:
            raise Invalid(
                f"the consumer {self.name!r} has been closed", hint="take it with lake.consumer(…)"
            )
