"""One commit of all that a transaction has done, and what comes after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from tidelake.catalog.commit import commit
from tidelake.catalog.commit.commit import CommitGuard, CommitRequest, CommitResult
from tidelake.catalog.commit.entries import Numbers
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import zones
from tidelake.errors import Conflict, Denied, Invalid, TidelakeError
from tidelake.model.change import Change, WriteResult
from tidelake.session.drafting import DraftSession
from tidelake.session.guard import Guard
from tidelake.session.hooks import CommitHooks
from tidelake.session.neighbours import mark_late
from tidelake.session.once_records import TokenFound
from tidelake.session.session import Session
from tidelake.session.staging import settle


class _Refused(Denied):
    """A hook will not have the commit, so it has not landed: its files can go."""


def land(tx: DraftSession) -> WriteResult:
    """Make everything visible at once, as one snapshot. The transaction is over then."""
    change = prepare(tx)
    try:
        tx.result = _commit(tx, change)
    except TokenFound as found:
        tx.discard(tx.written)
        tx.result = found.result
    except (Conflict, Invalid) as error:
        if isinstance(error, Conflict):
            tx.committed.watch.conflict()
        tx.discard(tx.written)
        raise
    except _Refused as error:
        tx.discard(tx.written)
        raise Denied(error.message, hint=error.hint) from error.__cause__
    finally:
        tx.work.end()
    return tx.result


@contextmanager
def transaction(session: Session) -> Iterator[DraftSession]:
    """Several writes, all or nothing: committed at the end, unless something is raised."""
    tx = DraftSession(session)
    try:
        yield tx
        land(tx)
    finally:
        tx.close()


def prepare(tx: DraftSession) -> Change:
    """All that is to be committed; the transaction is over then."""
    tx.check_open()
    try:
        tx.committed.check_not_closed()
        for draft in tx.drafts.tables.values():  # rows that are too many for the catalog
            settle(tx, draft)
        change = _change(tx)
        _check_message(tx)
    except BaseException:
        tx.forget()
        raise
    tx.end()
    return change


def _change(tx: DraftSession) -> Change:
    return Change(
        base=tx.base,
        schema_version=tx.schema_version,
        token=tx.token,
        schemas=tx.drafts.schema_changes(),
        tables=tx.drafts.table_changes(),
        views=tuple(tx.drafts.views.values()),
        revivals=tuple(tx.drafts.revivals),
        author=tx.author,
        message=tx.message,
        done=tx.counts,
        origin=tx.origin,
    )


def _check_message(tx: DraftSession) -> None:
    drafts = tx.drafts.tables.values()
    if tx.message is None and any(draft.options.require_message for draft in drafts):
        raise Invalid(
            "this lake wants a message with every commit",
            hint='give it to the write, or to the transaction: message="…"',
        )


def _commit(tx: DraftSession, change: Change) -> WriteResult:
    """Should it fail in a way that leaves open whether it landed, the files stay: the lake may
    refer to them, and if it does not, cleanup finds them."""
    if change.is_empty:
        tx.discard(tx.written)
        return _commit_nothing(tx, change)
    latest = _expected(tx, change)
    tried: dict[int, Change] = {}

    def for_snapshot(snapshot_id: int) -> Change:
        nonlocal latest
        latest = tried[snapshot_id] = _restamped(tx, latest, snapshot_id)
        return latest

    grown = [t.before.id for t in change.tables if t.before is not None and t.write.adds]
    hooks = CommitHooks(tx.committed.hooks, change)

    def beside(writer: Writer) -> None:
        keep_beside(tx, writer)
        try:
            hooks.beside(writer)
        except Denied as error:
            raise _Refused(error.message, hint=error.hint) from error

    def check(reader: Reader, head: Numbers) -> None:
        tx.reads.check(tx.local, tx.data_path, reader, (tx.base, tx.schema_version), head)

    wanted = CommitRequest(
        for_snapshot,
        tx.token,
        tx.base,
        tx.annexes,
        grown,
        tx.began,
        beside,
        check,
        guard_of(tx.guard, lambda: tx),
    )
    landed = commit.commit(tx.database, wanted, tx.data_path)
    done = finish(tx, landed, tried[landed.snapshot_id])
    hooks.landed()
    return done


def _commit_nothing(tx: DraftSession, change: Change) -> WriteResult:
    """There is no snapshot then; but a token is used up all the same."""
    if tx.guard.stands:
        guard = guard_of(tx.guard, lambda: tx)
        wanted = CommitRequest(lambda _: change, tx.token, tx.base, tx.annexes, guard=guard)
        commit.commit(tx.database, wanted, tx.data_path)
    if tx.keeps_anyway:
        with tx.database.writing() as writer:
            keep_beside(tx, writer)
    return replace(tx.counts, snapshot_id=tx.base)


def guard_of(guard: Guard, tx: Callable[[], DraftSession | None]) -> CommitGuard | None:
    """The guard of a commit; the transaction may be made no sooner than inside the lock."""
    return _Guarded(guard, tx) if guard.stands else None


@dataclass(frozen=True, slots=True)
class _Guarded:
    guard: Guard
    tx: Callable[[], DraftSession | None]

    def begin(self, writer: Writer, /) -> None:
        tx = self.tx()
        self.guard.begin(writer, None if tx is None else tx.drafts)

    def check(self, reader: Reader, head: int, /) -> None:
        if (tx := self.tx()) is not None:
            self.guard.check(reader, tx.drafts, head)

    def keep(self, writer: Writer, snapshot_id: int, change: Change, /) -> None:
        if (tx := self.tx()) is not None:
            done = replace(_with_files(tx.counts, change), snapshot_id=snapshot_id)
            self.guard.keep(writer, tx.drafts, done)


def keep_beside(tx: DraftSession, writer: Writer) -> None:
    """What is to be kept of the commit, in its own transaction, if there is anything."""
    if tx.in_commit is not None:
        tx.in_commit(writer)


def finish(tx: DraftSession, landed: CommitResult, change: Change) -> WriteResult:
    """What the commit has done, after which files that it does not need are removed."""
    tx.discard(set(tx.written) - _paths(change))
    tx.work.end()
    note_landed(tx.committed, landed, change)
    done = _result(tx.counts, landed, change)
    tx.committed.watch.landed(done)
    return done


def note_landed(session: Session, landed: CommitResult, change: Change) -> None:
    """Remember where the lake is, and summarise files if they are many more."""
    session.caches.newest = (landed.snapshot_id, landed.schema_version)
    mark_late(session)
    written = [table.table for table in change.tables if table.write.files and table.before]
    before = landed.next_file_id - sum(len(table.write.files) for table in change.tables)
    if before // zones.WIDTH == landed.next_file_id // zones.WIDTH:
        return
    with suppress(TidelakeError), session.database.writing() as writer:
        for table in written:
            zones.summarise(writer, table.id, table.schema.columns)


def _expected(tx: DraftSession, change: Change) -> Change:
    """With the snapshot that will come next, so that the lock need not be held for long."""
    if any(f.stamp is not None for table in change.tables for f in table.write.delete_files):
        return _restamped(tx, change, tx.newest()[0] + 1)
    return change


def _restamped(tx: DraftSession, change: Change, snapshot_id: int) -> Change:
    """The change with the snapshot's id in the delete files that name it."""
    tables = []
    for table in change.tables:
        stale = [f for f in table.write.delete_files if f.stamp not in (None, snapshot_id)]
        if stale:
            target = tx.drafts.tables[table.table.id].target
            with tx.local.job(f"cannot delete from {table.table.name}") as job:
                files = tuple(
                    job.restamp(target, f, snapshot_id) if f in stale else f
                    for f in table.write.delete_files
                )
            tx.wrote([file.path for file in files])
            table = replace(table, write=replace(table.write, delete_files=files))
        tables.append(table)
    return replace(change, tables=tuple(tables))


def _paths(change: Change) -> set[str]:
    writes = [table.write for table in change.tables]
    added = [file for write in writes for file in write.files]
    deletes = [file.deletes for file in added if file.deletes is not None]
    deletes += [file for write in writes for file in write.delete_files]
    return {file.path for file in added} | {file.path for file in deletes}


def _result(counts: WriteResult, landed: CommitResult, change: Change) -> WriteResult:
    return replace(
        _with_files(counts, change),
        snapshot_id=landed.snapshot_id,
        attempts=landed.attempts,
        duplicate=landed.duplicate,
        commit_ms=landed.seconds * 1000,
    )


def _with_files(counts: WriteResult, change: Change) -> WriteResult:
    files = [f for table in change.tables for f in table.write.files]
    return replace(counts, files=len(files), bytes=sum(file.bytes for file in files))
