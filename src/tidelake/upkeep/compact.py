"""Compaction: the work that a table needs, in commits of their own, none of which changes what
any snapshot sees.

What is worth doing is decided by `plan.compaction`. One kind of work is done at a time, and what
comes next is decided anew from what is there then. Others may write meanwhile: a piece whose files
they have changed is given up, and decided upon again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tidelake.catalog.commit import commit
from tidelake.catalog.commit import rebuild as upkeep
from tidelake.catalog.commit.commit import CommitRequest
from tidelake.coverage import lookup
from tidelake.engine.parquet.spans import fit_into_files
from tidelake.errors import Conflict, Invalid, NotFound, TidelakeError, Unsupported
from tidelake.event_time.rollups import keep_up as rollup_upkeep
from tidelake.model.change import (
    CarriedFile,
    Change,
    RebuiltFiles,
    TableChange,
    Upkeep,
    WriteResult,
)
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.session.hooks import CommitHooks
from tidelake.session.landing import note_landed
from tidelake.session.leases import announce_work
from tidelake.session.progress import Tell, progress
from tidelake.session.session import Session
from tidelake.upkeep import pieces
from tidelake.upkeep.choose import ORDER, actions
from tidelake.upkeep.pieces import TableState, look, situation
from tidelake.upkeep.rebuild import rebuild
from tidelake.upkeep.rebuild_task import Rebuild
from tidelake.upkeep.values import CompactAction, CompactResult, Kind

_PASSES: dict[Kind, int] = {"flush": 1, "flush_deletes": 1, "rewrite": 1, "merge": 4}
"""How often each kind of work is done in a run: what is merged may have to be merged again, but
who runs after those who write has no end."""
_FLUSH: tuple[Kind, ...] = ("flush",)
_PATIENCE = 3
_FILES_AT_ONCE = 20_000
"""What goes into one commit, beside what the engine says."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is done for an action, before it is done: tasks, and what their results amount to."""

    action: CompactAction
    tasks: tuple[Rebuild, ...]
    before: Upkeep


@dataclass
class _Run:
    """How far a run on one table has come. `began`: when the work for the next commit did."""

    session: Session
    name: TableName
    tell: Tell
    began: float = field(default_factory=time.monotonic)
    done: list[CompactAction] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    passes: dict[Kind, int] = field(default_factory=_PASSES.copy)
    terms: Terms = NO_TERMS
    patience: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(ORDER, _PATIENCE))

    @property
    def kinds(self) -> list[Kind]:
        """What may still be done."""
        return [kind for kind, passes in self.passes.items() if passes]


def compact(
    session: Session, name: TableName, *, dry_run: bool, terms: Terms = NO_TERMS
) -> CompactResult:
    """Compact a table, then find out what its files cover if it is a series, and make the rollups
    that its policy wants; with `dry_run` only say what would be done."""
    if session.is_transaction:
        raise Invalid("compaction is not part of a transaction", hint="compact outside of it")
    if not dry_run:
        session.check_writable()
    done = _prospect(session, name) if dry_run else _compact(session, name, terms)
    if not dry_run:
        with suppress(NotFound):
            lookup.complete(session, name)
    return replace(done, rollups=rollup_upkeep.keep_up(session, name, dry_run=dry_run))


def compact_all(
    session: Session, names: Iterable[TableName], *, dry_run: bool, terms: Terms = NO_TERMS
) -> CompactResult:
    """Compact tables, one after the other. Who has been dropped by then needs nothing."""
    total = CompactResult(dry_run=dry_run)
    for name in names:
        with suppress(NotFound):
            total += compact(session, name, dry_run=dry_run, terms=terms)
    return total


def _prospect(session: Session, name: TableName) -> CompactResult:
    found = look(session, name)
    _check_encryption(session, name)
    planned = actions(situation(session, found))
    files, size = len(found.files), _bytes(found)
    moved = [action for action in planned if action.kind in ("rewrite", "merge")]
    made = sum(action.files_after for action in planned if action.kind != "flush_deletes")
    after = size + sum((action.bytes_after or 0) - action.bytes for action in moved)
    gone = sum(action.files for action in moved)
    return CompactResult(files, files - gone + made, size, after, tuple(planned), dry_run=True)


def _compact(session: Session, name: TableName, terms: Terms) -> CompactResult:
    _check_encryption(session, name)
    first = found = _movable(look(session, name))
    planned = actions(situation(session, found))
    files, size = sum(a.files for a in planned), sum(a.bytes for a in planned)
    with announce_work(session), progress(f"compacting {name}", files=files, bytes=size) as tell:
        run = _Run(session, name, tell, terms=terms)
        while planned:
            _do(run, found, [action for action in planned if action.kind == planned[0].kind])
            try:
                found = _movable(look(session, name))
            except NotFound:  # dropped, or renamed, while this was done
                break
            planned = actions(situation(session, found), run.kinds)
    upkeep.sweep(session.database, found.info.id)
    return CompactResult(
        len(first.files),
        len(found.files),
        _bytes(first),
        _bytes(found),
        tuple(run.done),
        tuple(run.snapshots),
    )


def _movable(found: TableState) -> TableState:
    """Without the rows in the catalog that would be others in a file, or none at all."""
    return replace(found, kept=tuple(kept for kept in found.kept if fit_into_files(kept.rows)))


def flush_rows(session: Session, name: TableName) -> None:
    """Put the rows that the catalog keeps of a table into files, and do no more."""
    _check_encryption(session, name)
    found = look(session, name)
    planned = actions(situation(session, found), _FLUSH)
    while planned:
        with progress(f"flushing {name}", files=0, bytes=0) as tell:
            run = _Run(session, name, tell)
            _do(run, found, planned)
        found = look(session, name)
        planned = actions(situation(session, found), _FLUSH) if not run.done else []


def _check_encryption(session: Session, name: TableName) -> None:
    if session.encrypted:
        raise Unsupported(
            f"{name} is in an encrypted lake, for which only DuckDB can write files",
            hint="compact it with DuckDB's ducklake_merge_adjacent_files",
        )


def _bytes(found: TableState) -> int:
    return sum(file.bytes for file in found.files.values())


def _do(run: _Run, found: TableState, wanted: Sequence[CompactAction]) -> None:
    """Do work of one kind, in as many commits as it takes."""
    kind = wanted[0].kind
    run.tell(phase=kind.replace("_", " "))
    left: list[CompactAction] = []
    for batch in _batches(run.session, _pieces(found, wanted)):
        run.began = time.monotonic()
        left += _commit(run, found, _built(run, batch))
    if not left:
        run.passes[kind] -= 1
        return
    run.patience[kind] -= 1
    if not run.patience[kind]:
        run.passes[kind] = 0
        run.done += left


def _pieces(found: TableState, wanted: Sequence[CompactAction]) -> Iterator[_Piece]:
    if wanted[0].kind == "flush":
        yield _flush_piece(found, wanted[0])
        return
    for action in wanted:
        sources = tuple(found.files[file_id] for file_id in action.file_ids)
        if action.kind == "flush_deletes":
            tasks = tuple(pieces.gather(found, file) for file in sources)
            yield _Piece(action, tasks, Upkeep(touched=sources))
        elif action.kind == "rewrite":
            whole = all(_is_empty(file) for file in sources)
            task = pieces.rewrite(found, sources)
            yield _Piece(action, () if whole else (task,), Upkeep(rewritten=sources))
        else:
            yield _Piece(action, (pieces.merge(found, sources),), Upkeep(merged=sources))


def _is_empty(file: DataFile) -> bool:
    """Whether nothing is left of it, for certain: several sources may name the same row."""
    return len(file.deletes) == 1 and file.deletes[0].rows == file.rows


def _flush_piece(found: TableState, action: CompactAction) -> _Piece:
    """All rows that the catalog keeps go at once."""
    tasks = tuple(pieces.flush(found, kept) for kept in found.kept)
    flushed = tuple(pieces.kept_table(kept) for kept in found.kept)
    return _Piece(action, tasks, Upkeep(flushed=flushed))


def _batches(session: Session, wanted: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    most = session.engine.bytes_at_once
    batch: list[_Piece] = []
    files = size = 0
    for piece in wanted:
        full = size + piece.action.bytes > most or files + piece.action.files > _FILES_AT_ONCE
        if batch and full:
            yield batch
            batch, files, size = [], 0, 0
        batch.append(piece)
        files += piece.action.files
        size += piece.action.bytes
    if batch:
        yield batch


Built = tuple[_Piece, list[RebuiltFiles]]


def _built(run: _Run, batch: Sequence[_Piece]) -> list[Built]:
    """Write the files of a batch. Should that fail, those of pieces before it are removed."""
    engine = run.session.engine
    tasks = [task for piece in batch for task in piece.tasks]
    made: list[RebuiltFiles] = []
    try:
        if tasks:
            with engine.job(f"cannot compact {run.name}") as job:
                for each in job.run(tasks, rebuild):
                    made.append(each)
                    run.tell(*_weight(batch, len(made)))
    except BaseException:
        _discard(run.session, made)
        raise
    results = iter(made)
    return [(piece, [next(results) for _ in piece.tasks]) for piece in batch]


def _weight(batch: Sequence[_Piece], place: int) -> tuple[int, int]:
    """How many files and bytes have been dealt with when so many tasks are done."""
    for piece in batch:
        place -= len(piece.tasks)
        if place == 0:
            return piece.action.files, piece.action.bytes
    return 0, 0


def _discard(session: Session, made: Iterable[RebuiltFiles]) -> None:
    try:
        session.local.store.delete([path for each in made for path in each.paths])
    except TidelakeError:
        return


def _commit(run: _Run, found: TableState, built: list[Built]) -> list[CompactAction]:
    """Commit what was built. Pieces that rest on what somebody else has changed meanwhile are
    given up; these come back."""
    left: list[CompactAction] = []
    while built:
        whole = sum((_upkeep(found, *each) for each in built), Upkeep())
        try:
            run.snapshots.append(_land(run, found, whole))
        except Conflict:
            stale = _stale(run, found, built)
            _discard(run.session, [each for _, made in stale for each in made])
            left += [_left(piece) for piece, _ in stale]
            built = [each for each in built if each not in stale]
            continue
        run.done += [_done(*each) for each in built]
        break
    return left


def _land(run: _Run, found: TableState, whole: Upkeep) -> int:
    token = uuid.uuid4().hex
    info = found.info
    change = Change(
        base=found.base,
        schema_version=found.schema_version,
        token=token,
        tables=(TableChange(info, info, upkeep=whole),),
        author=run.terms.author,
        message=run.terms.message or ("compaction" if found.options.require_message else None),
        done=WriteResult(None, operation="compact"),
    )
    hooks = CommitHooks(run.session.hooks, change)
    wanted = CommitRequest(
        lambda _: change,
        token,
        found.base,
        run.session.annexes,
        began=run.began,
        beside=hooks.beside,
    )
    landed = commit.commit(run.session.database, wanted, run.session.data_path)
    note_landed(run.session, landed, change)
    hooks.landed()
    return landed.snapshot_id


def _stale(run: _Run, found: TableState, built: Sequence[Built]) -> list[Built]:
    """Those that cannot be committed any more; if it is none of them by itself, all."""
    stale = []
    with run.session.reading() as reader:
        for each in built:
            try:
                upkeep.check_upkeep(reader, found.info, _upkeep(found, *each), found.base)
            except Conflict:
                stale.append(each)
    return stale or list(built)


def _upkeep(found: TableState, piece: _Piece, made: Sequence[RebuiltFiles]) -> Upkeep:
    """What has been built for a piece, as a commit takes it."""
    if piece.action.kind == "flush_deletes":
        deletes = tuple(delete for each in made for delete in each.deletes if delete)
        return replace(piece.before, delete_files=deletes)
    if piece.action.kind == "rewrite":
        return replace(piece.before, fresh=tuple(file for each in made for file in each.files))
    if piece.action.kind == "flush":
        carried = [
            _carried(each, pieces.span(kept.rows), pieces.spec_of_flush(found, kept))
            for kept, each in zip(found.kept, made, strict=True)
        ]
        return replace(piece.before, carried=tuple(file for part in carried for file in part))
    return replace(piece.before, carried=_merged(piece.before.merged, made[0]))


def _merged(sources: Sequence[DataFile], made: RebuiltFiles) -> tuple[CarriedFile, ...]:
    first = sources[0]
    span = (
        min(file.begin_snapshot for file in sources),
        max(file.partial_max or file.begin_snapshot for file in sources),
    )
    values = None if first.partition_id is None else first.partition_values
    files = tuple(file._replace(partition_values=values) for file in made.files)
    return _carried(replace(made, files=files), span, first.partition_id)


def _carried(
    made: RebuiltFiles, span: tuple[int, int], partition_id: int | None
) -> tuple[CarriedFile, ...]:
    return tuple(
        CarriedFile(file, *span, partition_id, deletes)
        for file, deletes in zip(made.files, made.deletes, strict=True)
    )


def _done(piece: _Piece, made: Sequence[RebuiltFiles]) -> CompactAction:
    files = [file for each in made for file in each.files]
    deletes = [delete for each in made for delete in each.deletes if delete]
    listed = deletes if piece.action.kind == "flush_deletes" else files
    return replace(
        piece.action,
        files_after=len(listed),
        bytes_after=sum(file.bytes for file in listed),
        outcome="done",
    )


def _left(piece: _Piece) -> CompactAction:
    return replace(
        piece.action,
        files_after=piece.action.files,
        bytes_after=None,
        outcome="left",
        reason="somebody else changed these rows meanwhile",
    )
