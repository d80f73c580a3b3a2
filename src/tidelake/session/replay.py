"""Writes that commit by themselves, and are done again when somebody else came first."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from tidelake.catalog.commit import commit
from tidelake.catalog.commit.commit import CommitRequest
from tidelake.catalog.database.failures import LostRace
from tidelake.catalog.read import snapshots
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.lake.lake import Lake
from tidelake.lake.transaction import Transaction
from tidelake.model.change import Change, WriteResult
from tidelake.session.hooks import CommitHooks

_OPTIMISM = 4
"""How often a write is tried before it is done inside the lock."""
_SHORT_S = 2.0
"""How long it may take to be done there, where everybody else waits."""


def run(
    lake: Lake, operation: Callable[[Transaction], WriteResult], *, blind: bool = False
) -> WriteResult:
    """One write, committed by itself. When somebody else's commit makes it wrong it is simply done
    again on top of that: it is a function of the lake, so the answer is that of doing it later.

    `blind`: it does not look at rows, so it may start from what the lake last knew.
    """
    started = time.monotonic()
    attempts = 0
    short = False
    while True:
        attempts += 1
        began = time.monotonic()
        transaction: Transaction | None = None
        base = lake._last_known() if blind and attempts == 1 else None
        try:
            if attempts > _OPTIMISM and short:
                return _run_alone(lake, operation, attempts - 1)
            transaction = Transaction(lake, base=base)
            transaction._write(operation)
            result = transaction.commit()
            return replace(result, attempts=result.attempts + attempts - 1)
        except BaseException as error:
            if transaction is not None:
                transaction.close()
            if _is_outdated(error, lake, base):
                continue
            if not _may_repeat(error, transaction, started):
                raise
            short = time.monotonic() - began < _SHORT_S
            if isinstance(error, LostRace):
                commit.wait(attempts)


def _is_outdated(error: BaseException, lake: Lake, base: tuple[int, int] | None) -> bool:
    """Whether a blind write was refused because of what has changed in the meantime."""
    if base is None or not isinstance(error, NotFound | Invalid):
        return False
    with lake._reading() as reader:
        return snapshots.head(reader) != base


def _may_repeat(error: BaseException, transaction: Transaction | None, started: float) -> bool:
    """Whether a write that failed may be done once more. A commit that lost a race has had all
    the patience there is; one that is lost earlier was a read, and nothing had been tried."""
    if not isinstance(error, Conflict | LostRace):
        return False
    late = time.monotonic() - started > commit.PATIENCE_S
    return not late and (transaction is None or transaction.replayable)


def _run_alone(
    lake: Lake, operation: Callable[[Transaction], WriteResult], attempts: int
) -> WriteResult:
    """A short write that others keep overtaking is done inside the lake's lock: only somebody who
    does not take it, as DuckDB, can still come first, and then it is a Conflict again."""
    token = uuid.uuid4().hex
    tries: list[tuple[Transaction, Change]] = []

    def change(_: int) -> Change:
        transaction = Transaction(lake, token=token)
        transaction.remembers = False
        try:
            transaction._write(operation)
            tries.append((transaction, transaction.prepare()))
        except BaseException:
            transaction.close()
            raise
        return tries[-1][1]

    with lake._reading() as reader:
        since, _ = snapshots.head(reader)
    try:
        wanted = CommitRequest(
            change, token, since, lake.annexes, beside=lambda writer: tries[-1][0].beside(writer)
        )
        landed = commit.commit(lake._database, wanted, lake.data_path)
    except (Conflict, Invalid):
        for transaction, _ in tries:
            transaction.forget()
        raise
    if not landed.duplicate:
        for transaction, _ in tries[:-1]:
            transaction.forget()
    transaction, made = tries[-1]
    result = transaction.landed(landed, made)
    CommitHooks(lake.hooks, made).landed()
    return replace(result, attempts=result.attempts + attempts)
