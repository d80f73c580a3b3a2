"""Bringing Delta tables into a lake: their files become part of it where they lie."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import file_history, snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.importing import records as imports
from tidelake.delta.importing.files import ImportPlan, ImportStep
from tidelake.delta.importing.location import LogLocation, folder_uri
from tidelake.delta.importing.look import Import, ImportPreview, held_files, look
from tidelake.delta.importing.walk import LogStep, TableShape
from tidelake.delta.log.read import LogListing
from tidelake.delta.values.reports import Copy, ImportResult, ImportState
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.model.change import Origin, WriteResult
from tidelake.model.names import TableName
from tidelake.model.schema import Schema
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.plan.partitioning.transforms import Identity
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.progress import progress
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.write.definitions import create, create_schema, schema_named
from tidelake.write.rows import result

MODES = ("fast", "full-history")
TAG = "tidelake.delta_version"
"""What a table bears whose newest version has changed nothing in it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def import_delta(
    session: Session,
    location: LogLocation,
    table: str,
    *,
    mode: str = "fast",
    up_to_version: int | None = None,
    resume: bool = False,
    take_over: bool = False,
    dry_run: bool = False,
    places: Sequence[str] = (),
    terms: Terms = NO_TERMS,
) -> ImportResult:
    """Make a Delta table a table of the lake, as `tidelake.import_delta` says."""
    if mode not in MODES:
        raise Invalid(f"mode={mode!r} is no way to import", hint=f"one of {', '.join(MODES)}")
    if session.is_transaction:
        raise Invalid("an import is not part of a transaction", hint="import into the lake itself")
    if not dry_run:
        session.check_writable()
    log = location.listing(session)
    job = _begun(session, log, session.namespace.parse(table), mode, up_to_version, resume=resume)
    job = replace(job, take_over=take_over, places=tuple(map(folder_uri, places)), terms=terms)
    if job.before is not None and job.last <= job.before.version:
        return _nothing(job, job.before)
    with _uncollected() if mode == "fast" else nullcontext():
        found = look(job)
        if not dry_run:
            _run(job, found)
    return _told(job, found, dry_run=dry_run)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Of many files there are millions of values without a cycle among them: looking for one would
    take a fifth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _begun(
    session: Session,
    log: LogListing,
    name: TableName,
    mode: str,
    version: int | None,
    *,
    resume: bool,
) -> Import:
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        raise Invalid(f"up_to_version={version!r} is no version", hint="give a number")
    if session.encrypted:
        raise Unsupported(
            "this lake is encrypted, and files of others are not",
            hint="import into a lake that is not",
        )
    with session.reading() as reader:
        known, taken = _come(reader, name), _is_taken(reader, name)
    if taken and not resume:
        raise Invalid(
            f"there is a table {name} already",
            hint="choose another name, or pass resume=True to go on with an import of it",
        )
    if taken and known is None:
        raise Invalid(f"{name} does not come from Delta", hint="import under another name")
    if known is not None and known.root != log.root:
        raise Invalid(
            f"{name} comes from {known.root}, not from {log.root}",
            hint="give the place that it was imported from, or another name",
        )
    return Import(session, log, name, mode, log.newest if version is None else version, known)


def _come(reader: Reader, name: TableName) -> ImportState | None:
    """How far the import of a table has come."""
    table_id = read.find(reader, snapshots.head_id(reader), "table", name)
    return None if table_id is None else imports.of_table(reader, table_id)


def _is_taken(reader: Reader, name: TableName) -> bool:
    at = snapshots.head_id(reader)
    return any(read.find(reader, at, kind, name) is not None for kind in ("table", "view"))


def _nothing(job: Import, before: ImportState) -> ImportResult:
    """All is there already."""
    with job.session.reading() as reader:
        held = held_files(job, reader)
    return ImportResult(
        table=str(job.name),
        mode=job.mode,
        first=before.version,
        last=before.version,
        snapshot_id=before.snapshot_id,
        snapshots=0,
        files=len(held),
        rows=_count(job.session, job.name),
    )


def _count(session: Session, name: TableName) -> int:
    known = session.row_count(name, None)
    return int(session.engine.read(session.plan(name, None)).count()) if known is None else known


def _told(job: Import, found: ImportPreview, *, dry_run: bool) -> ImportResult:
    with job.session.reading() as reader:
        done = None if dry_run else _come(reader, job.name)
    return ImportResult(
        table=str(job.name),
        mode=job.mode,
        first=found.steps[0].version,
        last=found.steps[-1].version,
        snapshot_id=done.snapshot_id if done else None,
        snapshots=0 if dry_run else len(found.steps),
        files=len(found.live),
        rows=found.rows,
        rewritten=found.ground.rewritten,
        notes=tuple(found.notes),
    )


def _run(job: Import, found: ImportPreview) -> None:
    session = job.session
    run_locked(session, imports.ensure)
    before = job.before.version if job.before else None
    total = sum(len(step.added) for step in found.steps)
    with progress(f"importing {job.name}", files=total) as tell:
        for step in found.steps:
            tell(phase=f"version {step.version}")
            one = _Step(job, found.ground, step, before)
            done = write(session, one.stage)
            assert done.snapshot_id is not None
            if step is not found.steps[-1]:
                one.learn(done.snapshot_id)
            found.ground.rewritten += one.rewritten
            before = step.version
            sizes = (found.ground.sizes[path] for path in step.added)
            tell(files=len(step.added), bytes=sum(sizes))


class _Step:
    """One version on its way into the lake, after the version `before`. It may have to be staged
    more than once, when others come first."""

    def __init__(self, job: Import, ground: ImportPlan, step: LogStep, before: int | None) -> None:
        self._job = job
        self._ground = ground
        self._step = step
        self._before = before
        self._copies: dict[str, Copy] = {}

    def stage(self, tx: DraftSession) -> WriteResult:
        step, name = self._step, self._job.name
        self._check_turn(tx)
        draft = self._created(tx) if self._before is None else self._altered(tx)
        draft.depends_on_inserts = draft.depends_on_any_change = True
        with tx.local.job(f"cannot import {name}") as job:
            staging = ImportStep(tx, draft, job, self._ground, step)
            staging.run()
        if not draft.change().changes_anything:
            tags = {**draft.after.tags, TAG: str(step.version)}
            draft.after = replace(draft.after, tags=tags)
        self._copies = staging.copies
        self._sign(tx)
        moves = any(add.data_change for add in step.added.values()) or not step.added
        came, went = (staging.came, staging.went) if moves else (0, 0)
        files = list(draft.files.values())
        return result(files, rows=came + went, inserted=came, deleted=went, operation="import")

    def _check_turn(self, tx: DraftSession) -> None:
        """The table must be as the last step has left it."""
        with tx.reading() as reader:
            known = _come(reader, self._job.name)
            if (known.version if known else None) != self._before:
                raise Invalid(
                    f"somebody else is importing {self._job.name}",
                    hint="wait for them, then pass resume=True to see that nothing is missing",
                )
            if known is not None and not imports.is_untouched(reader, known):
                raise Invalid(
                    f"{self._job.name} has been changed since it was imported, after snapshot"
                    f" {known.snapshot_id}",
                    hint="import the table anew under another name",
                )

    def _created(self, tx: DraftSession) -> TableDraft:
        shape, name = self._step.shape, self._job.name
        try:
            schema_named(tx, name.schema)
        except NotFound:
            create_schema(tx, name.schema)
        tags = {"comment": shape.comment} if shape.comment else {}
        return create(tx, name, Schema(shape.columns), _keys(shape), tags)

    def _altered(self, tx: DraftSession) -> TableDraft:
        draft, shape = tx.draft(self._job.name), self._step.shape
        spec = draft.after.partitioning
        if (spec.keys if spec else ()) != _keys(shape):
            if self._ground.held.keys() - self._step.removed:
                raise Unsupported(
                    f"version {self._step.version} partitions the table in another way, and files"
                    " stay",
                    hint="import the table anew under another name",
                )
            spec = PartitionSpec(tx.new_id(), _keys(shape)) if _keys(shape) else None
        tags = {key: value for key, value in draft.after.tags.items() if key != "comment"}
        tags |= {"comment": shape.comment} if shape.comment else {}
        schema = Schema(shape.columns)
        draft.after = replace(draft.after, schema=schema, tags=tags, partitioning=spec)
        draft.facts = draft.facts.evolved(draft.after)
        return draft

    def _sign(self, tx: DraftSession) -> None:
        """What the commit says of itself, and what is kept of it."""
        step, job = self._step, self._job
        operation = step.said.get("operation")
        told = operation if isinstance(operation, str) else None
        who = next((step.said[k] for k in ("userName", "engineInfo") if step.said.get(k)), None)
        said = f"Delta version {step.version}" + (f": {told}" if told else "")
        tx.author = job.terms.author or (who if isinstance(who, str) else "Delta")
        tx.message = job.terms.message or said
        if job.mode == "full-history":
            when = _EPOCH + timedelta(milliseconds=step.time)
            tx.origin = Origin(step.version, when, told)
        come = ImportState(
            0, job.log.root, step.delta_id, step.version, 0, 0, step.time, step.known
        )
        tx.in_commit = lambda writer: imports.put(writer, job.name, come, self._copies)

    @property
    def rewritten(self) -> int:
        """How many files were written anew."""
        return len(set(self._copies.values()))

    def learn(self, snapshot_id: int) -> None:
        """Which files the lake has now."""
        ground, step = self._ground, self._step
        ground.copied |= {copy.source: copy.vector for copy in self._copies.values()}
        ground.ever |= step.added.keys()
        with self._job.session.reading() as reader:
            table_id = read.find(reader, snapshot_id, "table", self._job.name)
            assert table_id is not None
            info = read.table(reader, snapshot_id, table_id, self._job.session.data_path)
            next_id = file_history.next_file(reader, snapshot_id - 1)
            touched = file_history.touched_files(
                reader, table_id, info.path, snapshot_id - 1, snapshot_id, next_id
            )
        ids = {file.id for file in touched}
        for path in (*step.removed, *step.changed, *step.kept):
            rest = [file for file in ground.held.pop(path, []) if file.id not in ids]
            ground.held |= {path: rest} if rest else {}
        for file in touched:
            if file.end_snapshot is None:
                copy = self._copies.get(file.path.rpartition("/")[2])
                path = copy.source if copy else file.path
                ground.held.setdefault(path, []).append(file.at(snapshot_id))


def _keys(shape: TableShape) -> tuple[PartitionKey, ...]:
    return tuple(PartitionKey(column.id, Identity().text) for column in shape.partition.values())
