"""An erasure, from the question to the last step."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from tidelake.catalog import erasures
from tidelake.catalog.erasures import ErasureRecord
from tidelake.catalog.read.snapshots import as_instant
from tidelake.erasure.data_sets import announce_rebase, check_data_sets, derived_names
from tidelake.erasure.fingerprints import rebased_hashes
from tidelake.erasure.finish import finish, finish_all
from tidelake.erasure.leftovers import FolderView, Leftovers, find_leftovers, look_around
from tidelake.erasure.preparation import Preparation
from tidelake.erasure.survey import Survey, survey
from tidelake.erasure.swap import Grounds, Newcomers, Swap, SwapOutcome, seen_snapshots
from tidelake.erasure.values import Erasure, ErasureResult
from tidelake.errors import Invalid, TidelakeWarning, Unsupported
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.session.leases import announce_work
from tidelake.session.progress import progress
from tidelake.session.session import Session

_PASSES = 4
"""How often what has come to the table meanwhile is prepared before others have to wait for it."""


def erase(
    session: Session,
    name: TableName,
    where: str | Predicate | None,
    grounds: Grounds,
    *,
    dry_run: bool,
    looked_at: Sequence[str] = (),
) -> ErasureResult:
    """Requires: the session may write, unless with `dry_run`. `looked_at` are frozen data sets
    that its caller knows to hold none of the rows."""
    if session.is_transaction:
        raise Invalid("erase() cannot be in a transaction", hint="call it on the lake itself")
    if where is None:
        raise Invalid("erase() was not told what to erase", hint="where=\"email = '…'\"")
    if session.encrypted:
        raise Unsupported(
            f"{name} is in an encrypted lake, for which only DuckDB can write files",
            hint="copy the table into a lake that is not encrypted, and drop this one",
        )
    known = survey(session, name, where)
    _check_mirrors(session, known)
    table_id = known.found.info.id
    if not dry_run:
        sets = check_data_sets(session, table_id, where, looked_at)
        grounds = replace(grounds, data_sets=sets)
        finish_all(session)
        announce_rebase(session, table_id, name, where)
    around = look_around(session, known.found.info.path, probe=not dry_run)
    files, size = len(known.files), sum(file.bytes for file in known.files)
    with progress(f"erasing from {name}", files=files, bytes=size) as tell:
        work = Preparation(session, name, where, counted=dry_run, tell=tell)
        if dry_run:
            work.work(known)
            told = _prospect(work, known, find_leftovers(session, known, around))
            return replace(told, data_sets=tuple(derived_names(session, table_id)))
        with announce_work(session):
            done = _swapped(work, grounds, around)
        tell(phase="mirrors, files and the catalog")
        return _finished(session, work, done)


def _check_mirrors(session: Session, known: Survey) -> None:
    """Whoever has put something into a mirror's log must be asked first."""
    for each in session.formats:
        for status in each.statuses(session):
            if status.table == str(known.found.info.name) and status.status == "drifted":
                raise Invalid(
                    f"the {each.name} mirror of {status.table} has drifted: {status.reason}",
                    hint="accept_foreign() or reject_foreign() on the mirror first",
                )


def _swapped(work: Preparation, grounds: Grounds, around: FolderView) -> SwapOutcome:
    session = work.session
    try:
        for attempt in range(_PASSES + 1):
            known = work.look()
            work.work(known)
            left = find_leftovers(session, known, around)
            hashes = rebased_hashes(session, known, work.purge(known))
            swap = Swap(work, grounds, around, left, hashes, last=attempt == _PASSES)
            try:
                done = swap.run()
            except Newcomers:
                continue
            work.discard(but=done.purge.files)
            return done
    except BaseException:
        work.discard()
        raise
    raise AssertionError("the last attempt takes all that there is")


def _prospect(work: Preparation, known: Survey, left: Leftovers) -> ErasureResult:
    rows = work.rows(known)
    found = work.files(known)
    gone = [each for each in found if each.rows == known.found.files[each.file_id].rows]
    kept = sum(map(len, rows.values()))
    return ErasureResult(
        str(known.found.info.name),
        rows=sum(each.rows for each in found) + kept,
        newest=sum(each.newest for each in found) + _newest(known, work),
        catalog_rows=kept,
        files=len(found) - len(gone),
        files_gone=len(gone),
        unneeded_files=len(left.going),
        snapshots=len(seen_snapshots(work, known, rows)),
        left=left.left,
        dry_run=True,
    )


def _newest(known: Survey, work: Preparation) -> int:
    """How many of the rows that the catalog keeps are still there."""
    rows = work.rows(known)
    ended = {(kept.table_name, *end[:2]) for kept in known.found.kept for end in kept.ends}
    return sum((name, *row) not in ended for name, found in rows.items() for row in found)


def _finished(session: Session, work: Preparation, done: SwapOutcome) -> ErasureResult:
    known = done.known
    told = replace(
        _prospect(work, known, done.leftovers),
        erasure_id=done.record.erasure_id,
        snapshot_id=None if done.landed is None else done.landed.snapshot_id,
        rollups=done.rollups,
        mirrors=_mirrors(session, known),
        foreign=done.foreign,
        dry_run=False,
    )
    with session.reading() as reader:
        waiting = erasures.open_erasures(reader)
    remaining = [
        said
        for record in waiting
        if record.erasure_id == done.record.erasure_id
        for said in finish(session, record)
    ]
    if remaining:
        warnings.warn(
            f"the rows are erased from every snapshot, but not all is done: {'; '.join(remaining)}",
            TidelakeWarning,
            stacklevel=5,
        )
    return replace(told, remaining=tuple(remaining))


def _mirrors(session: Session, known: Survey) -> int:
    name = str(known.found.info.name)
    return sum(
        status.table == name for each in session.formats for status in each.statuses(session)
    )


def finish_erasures(session: Session) -> list[Erasure]:
    """Do what has been left undone; the notes of what was finished. What cannot be done is told as
    a warning."""
    with session.reading() as reader:
        waiting = {each.erasure_id for each in erasures.open_erasures(reader)}
    for said in finish_all(session):
        warnings.warn(f"an erasure is not finished: {said}", TidelakeWarning, stacklevel=4)
    return [
        each for each in erasures_of(session) if each.erasure_id in waiting and each.is_finished
    ]


def erasures_of(session: Session) -> list[Erasure]:
    """All notes, the oldest first."""
    with session.reading() as reader:
        return [_noted(record) for record in erasures.every(reader)]


def _noted(record: ErasureRecord) -> Erasure:
    said = record.said
    return Erasure(
        record.erasure_id,
        said["table"],
        as_instant(said["time"]),
        said["reason"],
        said["author"],
        said["rows"],
        said["catalog_rows"],
        said["files"],
        said["snapshots"],
        record.snapshot_id,
        record.digest,
        record.signature is not None,
        record.finished_at,
    )
