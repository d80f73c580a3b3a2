"""A writer of a table: rows come one by one, and are committed many at once."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from threading import Condition, RLock, Thread
from types import TracebackType
from typing import Self

from tidelake.catalog.commit.commit import landed_since
from tidelake.catalog.read import snapshots
from tidelake.coverage.values.series import Series
from tidelake.errors import (
    Conflict,
    Denied,
    Invalid,
    NotFound,
    TidelakeError,
    Unsupported,
)
from tidelake.event_time.row_batch import RowBatch, RowCheck
from tidelake.model.change import WriteResult
from tidelake.model.forms import Row
from tidelake.model.terms import Purpose, Terms
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.session.source import Source

_CERTAIN = (Invalid, NotFound, Denied, Conflict)
"""Errors after which nothing has been committed."""
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """How much waits at most for a commit: rows, bytes of them, seconds."""

    rows: int
    bytes: int
    seconds: float

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise Invalid(
                    f"writer({each.name}={value!r}): that is no number above 0",
                    hint=f"leave {each.name} out, or t.append(…) commits at once",
                )


class TableWriter:
    """What is committed is what separate commits would have left: the same rows, in the order in
    which they came. Several threads may use one writer. Made by `table.writer()`, for a `with`."""

    def __init__(self, source: Source, limits: Limits, terms: Terms) -> None:
        source.check_unpinned()
        if isinstance(source.session, DraftSession):
            raise Invalid(
                "a transaction commits all its writes at once already",
                hint="tx.table(…).append([…]) takes many rows; or use the writer outside of it",
            )
        source.session.check_writable()
        self._source, self._limits, self._terms = source, limits, terms
        self._check: RowCheck | None = None
        self._waiting: deque[RowBatch] = deque()
        self._oldest = 0.0
        self._committed = 0
        self._failure: BaseException | None = None
        self._pid: int | None = None
        self._changed = Condition(RLock())
        self._clock = Thread(target=self._watch_clock, name="tidelake writer", daemon=True)

    def __repr__(self) -> str:
        return f"<TableWriter of {self._source.name}: {self.pending:,} rows wait>"

    @property
    def pending(self) -> int:
        """How many rows wait to be committed."""
        with self._changed:
            return sum(len(batch.rows) for batch in self._waiting)

    @property
    def committed(self) -> int:
        """How many rows of those that came have been committed: the first ones."""
        return self._committed

    def put(self, facts: Row | Sequence[Row]) -> None:
        """A fact, or several, as `table.put` takes them."""
        self._add(facts, "put")

    def append(self, rows: Row | Sequence[Row]) -> None:
        """A row as a dict, or a list of them."""
        self._add(rows, "append")

    def flush(self) -> WriteResult:
        """Commit what waits, and say what that did. If nothing does, that is nothing."""
        self._check_open()
        with self._changed:
            self._raise_failure()
            return self._flush()

    def __enter__(self) -> Self:
        if self._pid is not None:
            raise Invalid("a writer is used once", hint="make another with t.writer()")
        self._declared()
        self._pid = os.getpid()
        self._clock.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._check_open()
        with self._changed:
            try:
                if error is None:
                    self._raise_failure()
                    self._flush()
            except BaseException as failed:
                error = failed
                raise
            finally:
                self._pid = 0
                self._changed.notify_all()
                if error is not None:
                    self._say_what_is_lost(error)
        self._clock.join()

    # How rows come.

    def _add(self, given: Row | Sequence[Row], doing: str) -> None:
        self._check_open()
        with self._changed:
            self._raise_failure()
            came = self._declared().take(given, doing)
            if came and not self._waiting:
                self._oldest = time.monotonic()
                self._changed.notify_all()
            for row, identity in came:
                if not self._waiting or not self._waiting[-1].add(row, identity, doing):
                    self._waiting.append(RowBatch())
                    self._waiting[-1].add(row, identity, doing)
            if self._is_full:
                self._flush()

    @property
    def _is_full(self) -> bool:
        size = sum(batch.size for batch in self._waiting)
        return self.pending >= self._limits.rows or size >= self._limits.bytes

    def _declared(self) -> RowCheck:
        """What is declared of the table, looked up once for every flush."""
        if self._check is None:
            session, name = self._source.session, self._source.name
            with session.reading() as reader:
                at = session.at(reader)
                self._check = RowCheck(session.table_info(reader, at, name), at)
            series = Series.maybe(self._check.table)
            if series is not None and series.overlap != "allow":
                raise Unsupported(
                    f"{name} has overlap={series.overlap!r}: which rows it takes depends on what"
                    " they are committed with, so a writer cannot say",
                    hint="t.append(…) with all rows of a delivery",
                )
        return self._check

    def _check_open(self) -> None:
        if self._pid is None:
            raise Invalid("a writer is used in a `with`", hint="with t.writer() as w: w.append(…)")
        if self._pid == 0:
            raise Invalid("this writer is closed", hint="make another with t.writer()")
        if self._pid != os.getpid():
            raise Invalid(
                "a writer stays in the process that made it, and this one was forked",
                hint="make another here with t.writer()",
            )

    # How they are committed.

    def _flush(self) -> WriteResult:
        done: list[WriteResult] = []
        refused: list[Invalid] = []
        self._check = None
        while self._waiting:
            batch = self._waiting[0]
            try:
                done.append(self._commit(batch))
            except Invalid as error:
                refused.append(self._leave_out(batch, error))
                continue
            self._committed += len(batch.rows)
            self._waiting.popleft()
        if refused:
            if len(refused) > 1:
                refused[0].add_note(f"{len(refused) - 1} more rows were left out for such reasons")
            raise refused[0]
        return _together(done)

    def _commit(self, batch: RowBatch) -> WriteResult:
        """Should an attempt have ended without an answer, the next looks whether it landed."""
        if batch.unknown and (found := self._landed(batch)) is not None:
            return found
        session, name = self._source.session, self._source.name
        if not batch.since:
            with session.reading() as reader:
                batch.since = snapshots.head_id(reader)
        batch.unknown = True
        try:
            done = write(
                session,
                partial(batch.write, name=name),
                terms=self._terms,
                purpose=Purpose(batch.doing, (str(name),)),
                token=batch.token,
            )
        except _CERTAIN:
            batch.unknown = False
            raise
        return done

    def _landed(self, batch: RowBatch) -> WriteResult | None:
        # Inside the lock, for the attempt may still be on its way.
        with self._source.session.database.writing() as writer:
            found = landed_since(writer, batch.token, batch.since)
        if found is None:
            batch.unknown = False
            return None
        count = len(batch.rows)
        return WriteResult(
            found.snapshot_id, count, inserted=count, duplicate=True, operation=batch.doing
        )

    def _leave_out(self, batch: RowBatch, error: Invalid) -> Invalid:
        """Take the row out that a batch was refused for, and say which it is: to commit rows one by
        one would have left the others. The error itself is raised if it is not about a row."""
        rows = batch.rows
        if self._refusal(batch) is None:
            raise error
        low, high = 0, len(rows) - 1  # the first row that does not fit is among these
        while low < high:
            middle = (low + high) // 2
            if self._refusal(batch.part(rows[: middle + 1])) is None:
                low = middle + 1
            else:
                high = middle
        refusal = self._refusal(batch.part([rows[low]]))
        if refusal is None:
            raise error
        self._waiting.popleft()
        rest = [batch.part(part) for part in (rows[:low], rows[low + 1 :]) if part]
        self._waiting.extendleft(reversed(rest))
        shown = repr(dict(rows[low]))
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        return Invalid(
            f"{refusal.message}: row {low + 1} of {len(rows):,} that waited, {shown}, was left out,"
            " and the others were not",
            hint=refusal.hint,
        )

    def _refusal(self, batch: RowBatch) -> Invalid | None:
        """What a commit of these rows would say; nothing is committed."""
        tx = DraftSession(self._source.session, terms=self._terms)
        try:
            tx.do(partial(batch.write, name=self._source.name))
        except Invalid as error:
            return error
        finally:
            tx.forget()
        return None

    # Time that passes, and what goes wrong.

    def _watch_clock(self) -> None:
        """Commits what has waited for long enough. What goes wrong then is told by the next call,
        and nothing more is tried before it."""
        with self._changed:
            while self._pid:
                if not self._waiting or self._failure is not None:
                    self._changed.wait()
                    continue
                left = self._oldest + self._limits.seconds - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                try:
                    self._flush()
                except BaseException as error:
                    self._failure = error
                    self._oldest = time.monotonic()

    def _raise_failure(self) -> None:
        if (failure := self._failure) is not None:
            self._failure = None
            self._oldest = time.monotonic()
            self._changed.notify_all()
            raise failure

    def _say_what_is_lost(self, error: BaseException) -> None:
        for batch in [batch for batch in self._waiting if batch.unknown]:
            with suppress(TidelakeError):
                if self._landed(batch) is not None:
                    self._waiting.remove(batch)
                    self._committed += len(batch.rows)
        unknown = any(batch.unknown for batch in self._waiting)
        told = "nobody can tell now whether all of them were not" if unknown else "they were not"
        rows = sum(len(batch.rows) for batch in self._waiting)
        if self._failure is not None:
            error.add_note(f"before that, a commit of the writer failed: {self._failure}")
        if rows:
            error.add_note(
                f"{rows:,} rows waited in the writer of {self._source.name} to be committed, and"
                f" {told}. {self._committed:,} that came before them were."
            )


def _together(done: Sequence[WriteResult]) -> WriteResult:
    """What several commits did, as of the last."""
    if len(done) < 2:
        return done[0] if done else WriteResult(None)
    return replace(
        done[-1],
        rows=sum(each.rows for each in done),
        files=sum(each.files for each in done),
        bytes=sum(each.bytes for each in done),
        inserted=sum(each.inserted for each in done),
        commit_ms=sum(each.commit_ms for each in done),
    )
