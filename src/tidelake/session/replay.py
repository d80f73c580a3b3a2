"""Writes that commit by themselves, and are done again when somebody else came first."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from tidelake.catalog.commit import commit
from tidelake.catalog.commit.commit import CommitRequest, CommitResult
from tidelake.catalog.read import snapshots
from tidelake.errors import Conflict, Invalid, NotFound, TidelakeError, Unavailable
from tidelake.model.change import Change, WriteResult
from tidelake.model.terms import NO_TERMS, Purpose, Terms
from tidelake.session.drafting import DraftSession
from tidelake.session.expectation import ChangedSince
from tidelake.session.guard import Guard
from tidelake.session.hooks import CommitHooks
from tidelake.session.landing import finish, guard_of, keep_beside, land, prepare
from tidelake.session.once_records import TokenFound
from tidelake.session.session import Session

Operation = Callable[[DraftSession], WriteResult]

NO_PURPOSE = Purpose("write")

_OPTIMISM = 4
"""How often a write is tried before it is done inside the lock."""
_SHORT_S = 2.0
"""How long it may take to be done there, where everybody else waits."""


def write(
    session: Session,
    operation: Operation,
    *,
    blind: bool = False,
    terms: Terms = NO_TERMS,
    purpose: Purpose = NO_PURPOSE,
    token: str | None = None,
) -> WriteResult:
    """One write: part of the transaction if the session is one, else committed by itself, on the
    `terms` that its caller gives.

    `blind`: it does not look at rows, so it may start from what the lake last knew. `token` is
    the commit token that it bears, for those who want to find it again.
    """
    if isinstance(session, DraftSession):
        terms.refuse_in_transaction()
        return session.do(operation)
    session.check_writable()
    guard = Guard.of(session, terms, purpose)
    done = guard.done_before(session)
    return done or _Replay(session, operation, terms, guard, blind, token).run()


@dataclass(frozen=True, slots=True)
class _Replay:
    session: Session
    operation: Operation
    terms: Terms
    guard: Guard
    blind: bool
    token: str | None

    def run(self) -> WriteResult:
        """When somebody else's commit makes a write wrong it is simply done again on top of that:
        it is a function of the lake, so the answer is that of doing it later."""
        session, started = self.session, time.monotonic()
        attempts = 0
        short = False
        while True:
            attempts += 1
            began = time.monotonic()
            tx: DraftSession | None = None
            base = session.caches.newest if self.blind and attempts == 1 else None
            try:
                if attempts > _OPTIMISM and short:
                    return self._run_alone(attempts - 1)
                tx = self._draft(base)
                tx.do(self.operation)
                result = land(tx)
                return replace(result, attempts=result.attempts + attempts - 1)
            except BaseException as error:
                if tx is not None:
                    tx.close()
                if (done := self._done_meanwhile(error)) is not None:
                    return done
                if _is_outdated(error, session, base):
                    continue
                if not _may_repeat(error, tx, started, session.tuning.patience_s):
                    raise
                short = time.monotonic() - began < _SHORT_S
                if isinstance(error, Unavailable):
                    commit.wait(attempts)

    def _draft(self, base: tuple[int, int] | None) -> DraftSession:
        return DraftSession(
            self.session, terms=self.terms, guard=self.guard, base=base, token=self.token
        )

    def _done_meanwhile(self, error: BaseException) -> WriteResult | None:
        """What somebody else has done in the meantime under the same token: that alone may be why
        it failed here."""
        if self.guard.once is None or not isinstance(error, TidelakeError):
            return None
        return self.guard.done_before(self.session)

    def _run_alone(self, attempts: int) -> WriteResult:
        """A short write that others keep overtaking is done inside the lake's lock: only somebody
        who does not take it, as DuckDB, can still come first, and then it is a Conflict again."""
        session, token = self.session, self.token or uuid.uuid4().hex
        tries: list[tuple[DraftSession, Change]] = []

        def change(_: int) -> Change:
            tx = DraftSession(session, terms=self.terms, guard=self.guard, token=token)
            tx.remembers = False
            try:
                tx.do(self.operation)
                tries.append((tx, prepare(tx)))
            except BaseException:
                tx.close()
                raise
            return tries[-1][1]

        with session.reading() as reader:
            since, _ = snapshots.head(reader)
        try:
            wanted = CommitRequest(
                change,
                token,
                since,
                session.annexes,
                beside=lambda writer: keep_beside(tries[-1][0], writer),
                guard=guard_of(self.guard, lambda: tries[-1][0] if tries else None),
            )
            landed = commit.commit(session.database, wanted, session.data_path)
        except (Conflict, Invalid, TokenFound) as error:
            for tx, _ in tries:
                tx.forget()
            if isinstance(error, TokenFound):
                return error.result
            raise
        return self._told(tries, landed, attempts)

    def _told(
        self, tries: list[tuple[DraftSession, Change]], landed: CommitResult, attempts: int
    ) -> WriteResult:
        if not landed.duplicate:
            for tx, _ in tries[:-1]:
                tx.forget()
        tx, made = tries[-1]
        result = finish(tx, landed, made)
        CommitHooks(self.session.hooks, made).landed()
        return replace(result, attempts=result.attempts + attempts)


def _is_outdated(error: BaseException, session: Session, base: tuple[int, int] | None) -> bool:
    """Whether a blind write was refused because of what has changed in the meantime."""
    if base is None or not isinstance(error, NotFound | Invalid):
        return False
    with session.reading() as reader:
        return snapshots.head(reader) != base


def _may_repeat(
    error: BaseException, tx: DraftSession | None, started: float, patience_s: float
) -> bool:
    """Whether a write that failed may be done once more. A commit that lost a race has had all
    the patience there is; one that is lost earlier was a read, and nothing had been tried."""
    lost = isinstance(error, Unavailable) and error.passing
    outdated = isinstance(error, Conflict) and not isinstance(error, ChangedSince)
    if not lost and not outdated:
        return False
    late = time.monotonic() - started > patience_s
    return not late and (tx is None or tx.replayable)
