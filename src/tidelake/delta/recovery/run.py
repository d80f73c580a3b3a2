"""A lake again: its tables are put together in a catalog aside, with all that their logs tell of
their past, and become the lake's in one transaction. Files stay where they are, with the ids of
their columns and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from tempfile import TemporaryDirectory

from tidelake.catalog import create, recovery, transfer
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database, Writer
from tidelake.catalog.read import files, options, snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.log.read import commit_time
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.realign import digest_of, mirrored_file
from tidelake.delta.mirror.records import MirrorStep
from tidelake.delta.mirror.sync import sync
from tidelake.delta.recovery.life import with_lives
from tidelake.delta.recovery.lost_table import LostLake, LostTable, lost_lake
from tidelake.delta.recovery.past import Span, last_step, span_of
from tidelake.delta.recovery.replay import RecoveredPast, Replay, bare_files, numbered_files
from tidelake.delta.values.mirror import Mirror, RatifiedVersion
from tidelake.delta.values.reports import RecoveredTable, RecoverResult, SkippedLog
from tidelake.errors import Conflict, Corrupt, TidelakeError
from tidelake.model.change import WriteResult
from tidelake.scratch import Scratch
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import TableMeta
from tidelake.session.progress import progress
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.write.options import set_option

_INLINE = "data_inlining_row_limit"
_AT_ONCE = 16


def recover(
    session: Session, places: Sequence[str] | None, *, history: bool, dry_run: bool
) -> RecoverResult:
    session.check_writable()
    _check_empty(session)
    with progress("recovering") as tell:
        tell(phase="looking at logs")
        lake = lost_lake(session, places or [session.data_path])
        found, skipped = _pasts(session, lake, history=history)
        if dry_run or not found:
            return _told(None, found, skipped, history=history)
        tell(phase="putting tables together")
        try:
            last = _recovered(session, lake, found)
        except TidelakeError as error:
            if not history or isinstance(error, Conflict):
                raise
            found = [_as_last(session, lake, each, error) for each in found]
            history, last = False, _recovered(session, lake, found)
        session.caches.forget()
        tell(phase="going on with the logs")
        for each in found:
            set_option(session, _INLINE, 0, table=each.lost.declaration.name)
            sync(session, session.newest_info(each.lost.declaration.name).id)
    return _told(last, found, skipped, history=history)


def _check_empty(session: Session) -> None:
    with session.reading() as reader:
        recovery.check_new(reader)


def _pasts(
    session: Session, lake: LostLake, *, history: bool
) -> tuple[list[RecoveredPast], list[SkippedLog]]:
    found, skipped = [], list(lake.skipped)
    for lost in lake.tables:
        try:
            found.append(_past(session, lost, _span(session, lake, lost, history=history)))
        except TidelakeError as error:
            skipped.append(SkippedLog(lost.root, str(error)))
    return found, skipped


def _span(session: Session, lake: LostLake, lost: LostTable, *, history: bool) -> Span:
    if history:
        return span_of(session, lake, lost)
    after_all = replace(last_step(lost), snapshot_id=lake.last + 1, time=datetime.now(UTC))
    return Span((after_all,))


def _past(session: Session, lost: LostTable, span: Span) -> RecoveredPast:
    span = with_lives(session, lost.root, span)
    numbered = numbered_files(session.local, bare_files(span.steps))
    return RecoveredPast(lost, span.steps, span.reason, numbered)


def _as_last(
    session: Session, lake: LostLake, found: RecoveredPast, error: TidelakeError
) -> RecoveredPast:
    """Without the past, which did not work out."""
    last = _past(session, found.lost, _span(session, lake, found.lost, history=False))
    last.reason = f"its past could not be put together: {error.message}"
    return last


def _told(
    last: int | None,
    found: Sequence[RecoveredPast],
    skipped: Sequence[SkippedLog],
    *,
    history: bool,
) -> RecoverResult:
    tables = tuple(
        RecoveredTable(
            each.lost.name,
            each.lost.root,
            each.lost.state.version,
            len(each.lost.state.files),
            each.lost.rows,
            each.first.version,
            each.first.snapshot_id,
            each.reason,
        )
        for each in found
    )
    ids = {step.snapshot_id for each in found for step in each.steps}
    return RecoverResult(last, tables, tuple(skipped), len(ids) if history else 0)


def _recovered(session: Session, lake: LostLake, found: Sequence[RecoveredPast]) -> int:
    """The last snapshot of the tables, once they are the lake's."""
    with _aside(session) as aside:
        replay = Replay(aside, found)
        last = replay.run()
        for each in found:
            _check(aside, each)
            _remember(aside, each)
        replay.skip_to(lake.last)
        write(aside, lambda tx: _tagged(tx, found))
        replay.tidy()
        run_locked(session, _take_over, aside)
    return last


@contextmanager
def _aside(session: Session) -> Iterator[Session]:
    """A lake that nobody else has, with the same files, in a folder that goes with it."""
    scratch = Scratch()
    with TemporaryDirectory(dir=scratch.path or None) as folder:
        database = Database(parse_url(f"sqlite:///{folder}/recovered.db"))
        try:
            create.create_lake(database, session.data_path)
            with database.writing() as writer:
                options.set_option(writer, _INLINE, 0, None, None)
            yield Session(
                database,
                session.data_path,
                session.local,
                "local",
                encrypted=session.encrypted,
                wired=session.wired,
            )
        finally:
            database.close()


def _take_over(writer: Writer, aside: Session) -> None:
    with aside.reading() as reader:
        transfer.fill(reader, writer)


def _check(aside: Session, found: RecoveredPast) -> None:
    """At its end the past has come to what the log has last."""
    said, root = found.lost.declaration, found.lost.root
    with aside.reading() as reader:
        at = snapshots.head_id(reader)
        info = read.table(reader, at, found.table_id, aside.data_path)
        physical = TableMeta.gather(reader, info).history.physical
        there = {file.path for file in files.data_files(reader, at, found.table_id, root)}
    named = {below.id: below.name for column in said.in_files for below in column.walk()}
    same = there == found.ids.keys() == last_step(found.lost).came.keys()
    same = same and info.schema.columns == said.columns and named.items() <= physical.items()
    if not same:
        raise Corrupt(f"the versions of {root} do not lead to its last one", hint="history=False")


def _remember(aside: Session, found: RecoveredPast) -> None:
    """What the mirror shows, so that it goes on in its log."""
    log, state = found.lost.log, found.lost.state
    protocol, metadata = state.checked(log.root)
    with aside.reading() as reader:
        head = snapshots.head_id(reader)
    known = found.ids
    shown = [mirrored_file(add, known[path]) for path, add in last_step(found.lost).came.items()]
    mirror = Mirror(
        found.table_id,
        metadata.id,
        log.root,
        snapshot_id=head,
        version=state.version,
        published=state.version,
        checkpoint=max([-1, *log.checkpoints]),
        committed_at=commit_time(state.info, log.written(state.version), None),
        file_count=len(shown),
        protocol=protocol,
        metadata=metadata,
    )
    step = MirrorStep(mirror, mirror, tuple(_versions(aside, found, mirror)))
    run_locked(aside, mirrors.rebase, step, shown, 0)


def _versions(aside: Session, found: RecoveredPast, mirror: Mirror) -> Iterator[RatifiedVersion]:
    log = found.lost.log
    versions = [step.version for step in found.steps]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        digests = list(pool.map(lambda version: digest_of(aside, log, version), versions))
    for step, digest in zip(found.steps, digests, strict=True):
        at = int(step.time.timestamp() * 1000)
        last = step.version == mirror.version
        yield RatifiedVersion(
            step.version, step.snapshot_id, mirror.committed_at if last else at, digest or ""
        )


def _tagged(tx: DraftSession, found: Sequence[RecoveredPast]) -> WriteResult:
    """Only now are they mirrored."""
    for each in found:
        draft = tx.draft(each.lost.declaration.name, thaw=True)
        draft.after = replace(draft.after, tags=each.lost.declaration.tags)
    return WriteResult(None, operation="recover")
