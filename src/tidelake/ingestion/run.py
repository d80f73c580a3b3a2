"""From patterns to commits: files that are new, in batches, each a commit of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from tidelake.catalog.database.database import Writer
from tidelake.coverage.overlap import OverlapGuard
from tidelake.drawing.amounts import quantity
from tidelake.engine.incoming.from_files import kind_of
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Conflict, Invalid
from tidelake.ingestion import quarantine, records, shape
from tidelake.ingestion.discover import discover, look_again
from tidelake.ingestion.heads import Head, head_of
from tidelake.ingestion.records import Known, TakenFile, stamp_of
from tidelake.ingestion.task import IngestTask, TaskResult, run_task
from tidelake.ingestion.values import FORMATS, IngestResult, IngestWish, SourceFile
from tidelake.model.change import WriteResult
from tidelake.model.terms import Purpose, Terms
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.progress import progress
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.write.rows import check_nulls, result, writable

_FILES_OF_A_TASK = 128
_BYTES_OF_A_TASK = 32 << 20
_SHOWN = 3


def ingest(
    session: Session, wish: IngestWish, patterns: Sequence[str], terms: Terms
) -> IngestResult:
    if session.is_transaction:
        raise Invalid(
            "ingest() makes commits of its own, and cannot be in a transaction",
            hint="call it with the lake itself",
        )
    session.check_writable()
    shape.known_settings(wish)
    started = time.monotonic()
    files = discover(session.store, patterns, session.data_path)
    for file in files:
        kind_by_name(file, wish)
    with session.reading() as reader:
        known = records.known_files(reader, wish.table, files)
    wanted = [file for file in files if is_wanted(file, known, wish)]
    done = IngestResult(known=len(files) - len(wanted))
    size = sum(file.bytes for file in wanted)
    with progress(f"ingesting {wish.table}", files=len(wanted), bytes=size) as tell:
        for some in in_batches(wanted, wish.batch_files, wish.batch_bytes):
            done = _add(done, _commit(session, wish, some, terms))
            size = sum(file.bytes for file in some)
            tell(files=len(some), bytes=size, phase=f"({quantity(done.rows, 'row')})")
    return replace(done, seconds=time.monotonic() - started)


def kind_by_name(file: SourceFile, wish: IngestWish) -> str:
    kind = wish.format or kind_of(file.path)
    if kind is None:
        raise Invalid(
            f"the name of {file.path} does not say of what kind it is",
            hint=f"format= says it: {', '.join(FORMATS)}",
        )
    return kind


def is_wanted(file: SourceFile, known: Known, wish: IngestWish) -> bool:
    """Whether a file is to be taken. One that has been, and is another now, is as the policy has
    it."""
    before = known.get(file.path)
    if before is None:
        return True
    if before == stamp_of(file) or wish.changed == "ignore":
        return False
    if wish.changed == "refuse":
        raise Invalid(
            f"{file.path} has been taken into {wish.table}, and has changed since"
            f" ({before[0]:,} bytes of {before[1]}; now {file.bytes:,} of {file.modified})",
            hint='changed="again" takes all its rows again, "ignore" leaves it',
        )
    return True


def in_batches(
    files: Sequence[SourceFile], most_files: int, most_bytes: int
) -> Iterator[list[SourceFile]]:
    """One after the other, each with no more than that, but at least one file."""
    some: list[SourceFile] = []
    size = 0
    for file in files:
        if some and (len(some) == most_files or size + file.bytes > most_bytes):
            yield some
            some, size = [], 0
        some.append(file)
        size += file.bytes
    if some:
        yield some


def _add(done: IngestResult, more: IngestResult) -> IngestResult:
    return replace(
        done,
        files=done.files + more.files,
        rows=done.rows + more.rows,
        bytes=done.bytes + more.bytes,
        bad_records=done.bad_records + more.bad_records,
        known=done.known + more.known,
        snapshots=done.snapshots + more.snapshots,
    )


def _commit(
    session: Session, wish: IngestWish, files: Sequence[SourceFile], terms: Terms
) -> IngestResult:
    batch = _Batch(wish, files)
    purpose = Purpose("ingest", (str(wish.table),))
    landed = write(session, batch.stage, terms=terms, purpose=purpose)
    if batch.taken and not batch.kept:  # files without a single record make no commit
        run_locked(session, records.put, wish.table, batch.taken, batch.known, alone=True)
    return IngestResult(
        files=len(batch.taken),
        rows=landed.inserted,
        bytes=sum(each.file.bytes for each in batch.taken),
        bad_records=sum(each.bad for each in batch.taken),
        known=len(files) - len(batch.taken),
        snapshots=(landed.snapshot_id,) if batch.kept and landed.snapshot_id is not None else (),
    )


@dataclass
class _Batch:
    """Files that one commit takes. It is staged anew whenever somebody else came first, without
    those that they have taken."""

    wish: IngestWish
    files: Sequence[SourceFile]
    taken: list[TakenFile] = field(default_factory=list)
    known: Known = field(default_factory=dict)
    kept: bool = False

    def stage(self, tx: DraftSession) -> WriteResult:
        with tx.reading() as reader:
            known = records.known_files(reader, self.wish.table, self.files)
        files = [f for f in look_again(self.files) if is_wanted(f, known, self.wish)]
        wanted = {file.path for file in files}
        self.taken, self.kept = [], False
        self.known = {path: stamp for path, stamp in known.items() if path in wanted}
        if not files:
            return WriteResult(None, operation=records.OPERATION)
        results = self._read(tx, files)
        if look_again(files) != files:
            raise Conflict("a file has changed while it was read", hint="ingest it again")
        done = self._stage(tx, files, results)
        tx.in_commit = self._keep
        return done

    def _keep(self, writer: Writer) -> None:
        records.put(writer, self.wish.table, self.taken, self.known)
        self.kept = True

    def _read(self, tx: DraftSession, files: Sequence[SourceFile]) -> list[TaskResult]:
        offers = self._prepare(tx, files)
        draft = writable(tx, self.wish.table)
        tx.announce()
        results = []
        doing = f"cannot take files into {self.wish.table}"
        with tx.job(doing, None, draft.columns) as job:
            tasks = list(self._tasks(draft, offers, whole=job.in_process))
            for made in job.run(tasks, run_task):
                tx.wrote([file.path for file in made.files])
                results.append(made)
        return results

    def _prepare(
        self, tx: DraftSession, files: Sequence[SourceFile]
    ) -> list[tuple[SourceFile, Head]]:
        """What the files have, and a table that has a place for it."""
        wish, there = self.wish, shape.is_there(tx, self.wish)
        names = [column.name for column in tx.draft(wish.table).columns] if there else []
        work = tx.local.workbench()
        try:
            with translate_duckdb_errors(f"cannot read the files for {wish.table}"):
                work.reach_unknown([file.path for file in files])
                found = [
                    (file, head_of(work, file, kind_by_name(file, wish), wish.csv, names))
                    for file in files
                ]
                offers = [(file, head) for file, head in found if head is not None]
                if not there and not offers:
                    raise Invalid(
                        f"{wish.table} is not there, and all files are empty",
                        hint="create the table first",
                    )
                (shape.widen if there else shape.make)(tx, work, wish, offers)
        finally:
            work.connection.close()
        return offers

    def _tasks(
        self, draft: TableDraft, offers: Sequence[tuple[SourceFile, Head]], *, whole: bool
    ) -> Iterator[IngestTask]:
        """In the order of the files. In this process one after the other is quickest."""
        heads = {file.path: head for file, head in offers}
        files, bytes_ = (len(offers), 1 << 62) if whole else (_FILES_OF_A_TASK, _BYTES_OF_A_TASK)
        for _, some in groupby((file for file, _ in offers), lambda file: heads[file.path].kind):
            for part in in_batches(list(some), files, bytes_):
                yield IngestTask(
                    tuple((file, heads[file.path]) for file in part),
                    draft.columns,
                    draft.target,
                    self.wish.csv,
                    self.wish.new_columns == "ignore",
                )

    def _stage(
        self, tx: DraftSession, files: Sequence[SourceFile], results: Sequence[TaskResult]
    ) -> WriteResult:
        draft = tx.draft(self.wish.table)
        bad = [record for each in results for record in each.bad]
        quarantine.keep(tx, self.wish, bad)
        made = [file for each in results for file in each.files]
        inserted, deleted = sum(file.rows for file in made), 0
        if (watch := OverlapGuard.of(tx, draft)) is not None and made:
            staged = watch.add_files(made)
            inserted, deleted = staged.inserted, staged.deleted
        elif made:
            draft.add_files(made)
        check_nulls(draft, made)
        rows = {path: count for each in results for path, count in each.rows.items()}
        wrong: dict[str, int] = {}
        for record in bad:
            wrong[record.file] = wrong.get(record.file, 0) + 1
        self.taken = [
            TakenFile(file, rows.get(file.path, 0), wrong.get(file.path, 0)) for file in files
        ]
        return result(
            made,
            rows=inserted + deleted,
            inserted=inserted,
            deleted=deleted,
            operation=records.OPERATION,
        )
