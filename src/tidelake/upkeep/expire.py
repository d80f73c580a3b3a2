"""Expiring snapshots, and with them all that no other snapshot sees."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from tidelake.catalog import audit
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader
from tidelake.catalog.expire import choose as expiry
from tidelake.catalog.expire import remove as removal
from tidelake.catalog.expire import unseen_data
from tidelake.catalog.expire.choose import SnapshotChoice
from tidelake.catalog.expire.unseen_data import UnseenData
from tidelake.catalog.read import options, paths
from tidelake.errors import Corrupt, Invalid
from tidelake.history.annex import overtaken_consumers
from tidelake.model.age import moment_before
from tidelake.session.clocks import catalog_time
from tidelake.session.progress import progress
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.upkeep.values import ExpireResult

_LOOKS = 3
_TABLES = 20
"""Tables that one transaction drops: a server holds a lock on each until its end."""


def expire(
    session: Session,
    *,
    older_than: object,
    keep_last: object,
    dry_run: bool,
    force: bool,
    author: str | None = None,
) -> ExpireResult:
    if session.committed is not session:
        raise Invalid("expire() cannot be in a transaction", hint="call it on the lake itself")
    if not dry_run:
        for hook in session.hooks:
            hook.before_expiry()
    now = datetime.now(UTC) if session.database.read_only else catalog_time(session)
    with session.reading() as reader:
        before, last = _criteria(reader, older_than, keep_last, now)
        chosen = expiry.choose(reader, before, last)
        if not force:
            expiry.check(reader, chosen.snapshots, session.annexes)
        behind = tuple(each.name for each in overtaken_consumers(reader, chosen.snapshots))
        if dry_run:
            return replace(_would(reader, chosen, session), overtaken=behind)
    gone = _let_go(session, chosen, force=force)
    done = replace(_clear(session, gone), overtaken=behind)
    if done.snapshots or done.files or done.rows:
        run_locked(session, audit.put_alone, _told(done, author))
    return done


def _told(done: ExpireResult, author: str | None) -> AuditRecord:
    told = f"{len(done.snapshots):,} snapshots, {done.files:,} files ({done.bytes:,} bytes)"
    newest = max(done.snapshots, default=None)
    return AuditRecord("expire", snapshot_id=newest, detail=told, actor=author)


def _criteria(
    reader: Reader, older_than: object, keep_last: object, now: datetime
) -> tuple[datetime | None, int | None]:
    if keep_last is not None and (
        isinstance(keep_last, bool) or not isinstance(keep_last, int) or keep_last < 1
    ):
        raise Invalid(
            f"keep_last={keep_last!r} is not a number of snapshots",
            hint="the newest snapshot never expires: keep_last=1 is the least",
        )
    if older_than is None and keep_last is None:
        older_than = options.of_lake(reader, "expire_older_than")
    if older_than is None and keep_last is None:
        raise Invalid(
            "nothing says what is to expire",
            hint='expire(older_than="7 days"), expire(keep_last=100), or set the lake\'s option'
            " expire_older_than",
        )
    before = None if older_than is None else moment_before(now, older_than)
    return before, keep_last


def _would(reader: Reader, chosen: SnapshotChoice, session: Session) -> ExpireResult:
    found = unseen_data.find(reader, session.annexes, without=chosen.snapshots)
    data_path = session.data_path
    shared = _shared(reader, found, data_path)
    sizes = [
        files[file_id]
        for kind, files in _by_kind(found).items()
        for file_id in removal.deletable_files(reader, kind, files, data_path)
        if kind == "ducklake_delete_file" or file_id not in shared
    ]
    return ExpireResult(
        chosen.snapshots,
        len(sizes),
        sum(sizes),
        tuple(found.tables.values()),
        found.rows,
        chosen.kept,
        dry_run=True,
    )


def _let_go(session: Session, chosen: SnapshotChoice, *, force: bool) -> SnapshotChoice:
    """The oldest first, so that what remains is a history without holes wherever it stops."""
    gone: list[int] = []
    kept = list(chosen.kept)
    for some in batches(chosen.snapshots, session.tuning.batch):
        done = run_locked(session, expiry.let_go, some, session.annexes, force=force)
        gone += done.snapshots
        kept += done.kept
    return SnapshotChoice(tuple(gone), tuple(sorted(kept, key=lambda each: each.snapshot_id)))


def _clear(session: Session, gone: SnapshotChoice) -> ExpireResult:
    """Take out whatever no snapshot sees, also what an earlier run left that broke off."""
    found = _find(session)
    removed = _files(session, found)
    tables: set[int] = set()
    for some in batches(found.tables, _TABLES):
        tables |= run_locked(session, removal.tables, some, session.annexes)
    for name, gaps in found.gaps.items():
        run_locked(session, removal.rows, name, gaps)
    with session.reading() as reader:
        parts = removal.parts(reader)
    for name, ids in parts.items():
        for some in batches(ids, session.tuning.batch):
            run_locked(session, removal.part, name, some)
    _strays(session)
    return ExpireResult(
        gone.snapshots,
        sum(each.files for each in removed),
        sum(each.bytes for each in removed),
        tuple(name for table_id, name in found.tables.items() if table_id in tables),
        found.rows,
        gone.kept,
    )


def _strays(session: Session) -> None:
    """What annexes keep of that which others have removed."""
    with session.reading() as reader:
        found = [
            work for annex in session.annexes for work in annex.strays(reader, session.data_path)
        ]
    for work in found:
        run_locked(session, work)


def _find(session: Session) -> UnseenData:
    """On a server somebody may drop a table of rows while it is looked at: then once more."""
    for _ in range(_LOOKS - 1):
        with suppress(Corrupt), session.reading() as reader:
            return unseen_data.find(reader, session.annexes)
    with session.reading() as reader:
        return unseen_data.find(reader, session.annexes)


def _files(session: Session, found: UnseenData) -> list[removal.Removal]:
    """Delete files first: without their data files they would not be found."""
    with session.reading() as reader:
        shared = _shared(reader, found, session.data_path)
    kinds = _by_kind(found)
    count = sum(map(len, kinds.values()))
    size = sum(sum(files.values()) for files in kinds.values())
    removed = []
    with progress("expiring", files=count, bytes=size) as tell:
        for kind, ids in kinds.items():
            for some in batches(ids, session.tuning.batch):
                done = run_locked(
                    session, removal.files, kind, some, session.data_path, session.annexes, shared
                )
                removed.append(done)
                tell(files=len(some), bytes=done.bytes)
    return removed


def _by_kind(found: UnseenData) -> dict[str, Mapping[int, int]]:
    return {"ducklake_delete_file": found.delete_files, "ducklake_data_file": found.data_files}


def _shared(reader: Reader, found: UnseenData, data_path: str) -> set[int]:
    """Unseen data files whose path a row that is seen names too: somebody registered it twice."""
    if not found.data_files:
        return set()
    going = [row for row in paths.every(reader, "ducklake_data_file") if row[0] in found.data_files]
    named = paths.ids_by_path(
        reader,
        set(paths.complete(reader, going, data_path).values()),
        data_path,
        "ducklake_data_file",
    )
    kept = [ids for ids in named.values() if not ids <= found.data_files.keys()]
    return {file_id for ids in kept for file_id in ids}
