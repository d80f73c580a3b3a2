"""The session of a transaction: the lake as its own writes have changed it, and what writes ask
of it. `landing` commits it."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from typing import NoReturn

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import options, snapshots
from tidelake.catalog.read import tables as read
from tidelake.engine import Job
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Conflict, Denied, Invalid, TidelakeError
from tidelake.model.change import Origin, WriteResult
from tidelake.model.column_rules import check_characters
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Column
from tidelake.model.settings import FROZEN_TAG
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import TableInfo
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.plan.scan import ScanPlan
from tidelake.session.caches import Declaration
from tidelake.session.draft import TableDraft, facts_of_new
from tidelake.session.drafts import DraftedView, Drafts
from tidelake.session.guard import PLAIN, Guard
from tidelake.session.leases import Work
from tidelake.session.open_transactions import watch
from tidelake.session.planning import ALL, ReadRequest, TableMeta, plan_scan
from tidelake.session.reads import SNAPSHOT, reads_of
from tidelake.session.session import Session
from tidelake.syntax import tree
from tidelake.syntax.harmless import refuse_growth

_SEVERAL = "transaction"


class DraftSession(Session):
    """Reads through it see the snapshot that it began from, its `base`, and its own writes. A
    write that is `blind` has looked at nothing, and began from what the lake last knew."""

    def __init__(
        self,
        committed: Session,
        *,
        terms: Terms = NO_TERMS,
        guard: Guard = PLAIN,
        base: tuple[int, int] | None = None,
        token: str | None = None,
        isolation: str = SNAPSHOT,
    ) -> None:
        super().__init__(
            committed.database,
            committed.data_path,
            committed.local,
            committed.engine_name,
            committed.spark,
            encrypted=committed.encrypted,
            wired=committed.wired,
            namespace=committed.namespace,
        )
        self._committed = committed
        self._pid = os.getpid()
        self.reads = reads_of(isolation)
        self.token = token or uuid.uuid4().hex
        for what, said in (("author", terms.author), ("message", terms.message)):
            check_characters(said or "", f"the {what} {said!r}")
        self.author = terms.author
        self.message = terms.message
        self.guard = guard
        self._is_blind = base is not None
        self.base, self.schema_version = base or self.newest()
        self._start()

    def _start(self) -> None:
        """Nothing has been done yet."""
        self.drafts = Drafts()
        self.view = DraftedView(self.data_path, self.namespace, self.drafts, self.reads)
        self.written: list[str] = []
        self.work = Work(self.store, self.home)
        self._watch = watch(self, self.drafts, self.work)
        self._next_id = -1
        self.counts = WriteResult(None)
        self.has_written = self.was_read = False
        self.began = time.monotonic()
        self.is_over = False
        self.replayable = True
        self.origin: Origin | None = None
        self.in_commit: Callable[[Writer], None] | None = None
        """What is to be kept of the commit, in its own transaction."""
        self.keeps_anyway = False
        """Whether that is to be kept too if nothing has changed, and so nothing is committed."""
        self.result: WriteResult | None = None

    def __reduce__(self) -> NoReturn:
        raise Invalid(
            "a transaction stays in the process that opened it",
            hint="send the lake or a table of it, and write there in a transaction of its own",
        )

    def newest(self) -> tuple[int, int]:
        """The lake's newest snapshot, and the version of what is declared in it."""
        with self._committed.reading() as reader:
            return snapshots.head(reader)

    # What reads ask of a session.

    def has_table(self, name: TableName) -> bool:
        """Whether there is a table of this name, with what the transaction has done."""
        with self.reading() as reader:
            return self.view.find(reader, self.base, "table", name) is not None

    @property
    def committed(self) -> Session:
        return self._committed

    @property
    def last(self) -> int | None:
        return self.base

    def at(self, _: Reader, _head: int | None = None, /) -> int:
        return self.base

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        self.check_open()
        self.was_read = True
        with self._committed.reading() as reader:
            yield reader

    def resolve(self, reader: Reader, moment: int | str | date) -> Snapshot:
        """What is before the base will never be otherwise; all else may be."""
        found = super().resolve(reader, moment)
        if found.snapshot_id >= self.base:
            self.reads.everything()
        return found

    def plan(self, name: TableName, snapshot_id: int | None, asked: ReadRequest = ALL) -> ScanPlan:
        if self.reads.are_kept:
            with self.reading() as reader:
                if (meta := self.read_meta(reader, name, snapshot_id)) is not None:
                    self.reads.rows(meta, asked.of(meta.info.schema).predicate)
        return self.look(name, asked, snapshot_id)

    def look(self, name: TableName, asked: ReadRequest, snapshot_id: int | None = None) -> ScanPlan:
        """Plan a read that is not to be remembered as one."""
        with self.reading() as reader:
            draft = self.drafted(reader, name, snapshot_id)
            if draft is None:
                at = self.base if snapshot_id is None else snapshot_id
                return self._committed.plan(name, at, asked)
            meta = replace(draft.facts, info=draft.after)
            request = asked.of(draft.after.schema)
            plan = plan_scan(reader, self.base, meta, request, counted=asked.counted)
        return draft.overlay(plan)

    def read_meta(
        self, reader: Reader, name: TableName, snapshot_id: int | None, /
    ) -> TableMeta | None:
        """What is known of a table of which rows are read as they were at the base."""
        if snapshot_id not in (None, self.base) or not self.reads.are_kept:
            return None
        draft = self.drafted(reader, name, snapshot_id)
        if draft is not None:
            return replace(draft.facts, info=draft.after) if draft.before else None
        meta = self.meta(reader, self.base, self.base, name)
        self.reads.table(meta.info)
        return meta

    def note_declared(self, found: TableInfo, /) -> None:
        draft = self.drafts.tables.get(found.id)
        before = found if draft is None else draft.before
        if before is not None:
            self.reads.table(before, only_rows=False)

    def note_rows(self, name: TableName, snapshot_id: int | None, /) -> None:
        if not self.reads.are_kept:
            return
        with self.reading() as reader:
            if (meta := self.read_meta(reader, name, snapshot_id)) is not None:
                self.reads.rows(meta, None)

    def drafted(
        self, reader: Reader, name: TableName, snapshot_id: int | None, /
    ) -> TableDraft | None:
        """The table as this transaction has changed it, if it has, and a read is to see that."""
        self._check_base(reader)
        if snapshot_id not in (None, self.base):
            return None
        return self.drafts.tables.get(self.view.find(reader, self.base, "table", name) or 0)

    def row_count(self, name: TableName, snapshot_id: int | None) -> int | None:
        self.note_rows(name, snapshot_id)
        with self.reading() as reader:
            self._check_base(reader)
        return super().row_count(name, snapshot_id)

    def _check_base(self, reader: Reader) -> None:
        """What was there at the base can be read only as long as nobody has expired it."""
        if not snapshots.exists(reader, self.base):
            raise Conflict(
                f"snapshot {self.base}, which this transaction began from, has been expired",
                hint="begin the transaction again",
            )

    def check_open(self) -> None:
        if self.is_over:
            raise Invalid("this transaction is over", hint="open another with lake.transaction()")
        if not self.is_here:
            raise Invalid(
                "a transaction stays in the process that opened it, and this one was forked",
                hint="open another here with lake.transaction()",
            )

    @property
    def is_here(self) -> bool:
        """Whether this is the process that opened it."""
        return self._pid == os.getpid()

    # What writes ask of it.

    def do(self, operation: Callable[[DraftSession], WriteResult]) -> WriteResult:
        """One more write, whole or not at all: if it fails, and the caller goes on, nothing of it
        is committed."""
        self.check_open()
        self.drafts.check_no_revival()
        saved, before = self.drafts.saved(), len(self.written)
        try:
            done = operation(self)
        except BaseException:
            self.drafts.restore(saved)
            self._unwrite(before)
            raise
        self.counts = _sum(self.counts, done) if self.has_written else done
        self.has_written = True
        return done

    def new_id(self) -> int:
        """An id for something that does not exist yet."""
        self._next_id -= 1
        return self._next_id + 1

    def draft(self, name: TableName, *, thaw: bool = False) -> TableDraft:
        """The table as this transaction sees it, ready to be changed. Denied for a frozen data
        set, but for those who may `thaw` it."""
        self.namespace.check_own(name)
        name = self.namespace.table(name)
        kept, key = self._committed.caches.declarations, repr((self.schema_version, name))
        found = None if self.drafts.are_of_tables else kept.get(key)
        if found is None:
            with self.reading() as reader:
                table_id = self.view.find(reader, self.base, "table", name)
                if table_id is None:
                    raise self.view.unknown(reader, self.base, name)
                if table_id in self.drafts.tables:
                    return self.drafts.tables[table_id]
                found = self._declaration(reader, table_id)
            kept.keep(key, found)
        meta, known, inline_table = found
        if not thaw:
            _check_thawed(meta.info)
        if self.guard.looks_early:
            with self.reading() as reader:
                self.guard.check_table(reader, meta.info)
        draft = TableDraft(
            meta.info, meta.info, meta, known, self.base, inline_table, self.observers
        )
        self.drafts.tables[meta.info.id] = draft
        return draft

    def _declaration(self, reader: Reader, table_id: int) -> Declaration:
        info = read.table(reader, self.base, table_id, self.data_path)
        meta = TableMeta.gather(reader, info)
        known = options.of_table(reader, table_id, read.schema_of(reader, table_id))
        return meta, known, inline_tables.newest(reader, table_id, info.schema.columns)

    def create(self, table: TableInfo) -> TableDraft:
        with self.reading() as reader:
            known = options.of_table(reader)
        draft = TableDraft(
            None, table, facts_of_new(table), known, self.base, observers=self.observers
        )
        self.drafts.tables[table.id] = draft
        return draft

    def drop_table(self, name: TableName, *, thaw: bool = False) -> None:
        self.drafts.drop_table(self.draft(name, thaw=thaw))

    def check_computed(self, *given: object) -> None:
        """Denied, in a sandbox, for conditions and expressions that could make much of little:
        writes compute them in this process."""
        if not self.is_sandbox:
            return
        for each in given:
            text = each.sql() if isinstance(each, Predicate) else each
            if isinstance(text, str) and text.strip():
                refuse_growth(tree.expression(text), f"{text!r}")

    def can_inline(self, columns: Sequence[Column]) -> bool:
        """Whether the catalog can keep rows of these columns."""
        return inline_tables.can_inline(self.database.dialect, columns)

    def can_flush(self, table: TableInfo, rows: Iterable[Sequence[object]]) -> bool:
        """Whether DuckDB can move these rows from the catalog to files without harm."""
        return inline_tables.can_flush(self.database.dialect, table, rows)

    def job(self, doing: str, data: object = None, columns: Iterable[Column] = ()) -> Job:
        """The statements of one write, on Spark if the lake or the data is Spark's. Data of this
        process stays here if its columns are not for Spark: for some there are no types."""
        if is_spark_frame(data):
            return self.spark_engine(getattr(data, "sparkSession", None)).job(doing)
        engine = self.engine
        return (engine if engine.holds(columns) else self.local).job(doing)

    def announce(self) -> None:
        """Files are going to be written: until the commit, nobody may take them for orphans."""
        self.work.begin()

    def wrote(self, paths: Sequence[str]) -> None:
        self.written += paths

    @contextmanager
    def unless_it_fails(self, draft: TableDraft) -> Iterator[None]:
        """What fails inside has left no trace in the draft, and no files."""
        saved, before = draft.saved(), len(self.written)
        try:
            yield
        except BaseException:
            draft.restore(saved)
            self._unwrite(before)
            raise

    def _unwrite(self, before: int) -> None:
        """Remove the files that were written last: those after so many."""
        self.discard(self.written[before:])
        del self.written[before:]

    def check_current(self, name: TableName) -> None:
        """A write that looks at nothing may begin from what the lake last knew. Once it has
        looked, and is not to change anything, that must not be the past."""
        if self._is_blind and self.newest()[0] != self.base:
            raise Conflict(f"{name} has changed in the meantime", hint="repeat the write")

    # How it ends.

    def end(self) -> None:
        """Nothing more can be done in it."""
        self.is_over = True
        self._watch.detach()

    def forget(self) -> None:
        """Remove the files that were written for a commit that is not, or has not been, made."""
        self.end()
        self.discard(self.written)
        self.work.end()

    def close(self) -> None:
        """Rolls back if nothing was committed; the lake stays open."""
        if not self.is_over:
            self.forget()

    def discard(self, paths: Iterable[str]) -> None:
        """Remove files that nothing refers to. What cannot be removed is left for cleanup, and
        what the parent of this process wrote is left to it."""
        if self.is_here:
            with suppress(TidelakeError):
                self.store.delete(sorted(paths))


def _check_thawed(table: TableInfo) -> None:
    if FROZEN_TAG in table.tags:
        raise Denied(
            f"{table.name} is a frozen data set, and its rows stay as they are",
            hint=f"t.clone(…) makes a table of it that can change; lake.drop_frozen("
            f"{table.name.name!r}) ends it",
        )


def _sum(one: WriteResult, other: WriteResult) -> WriteResult:
    return replace(
        one,
        rows=one.rows + other.rows,
        files=one.files + other.files,
        bytes=one.bytes + other.bytes,
        inserted=one.inserted + other.inserted,
        updated=one.updated + other.updated,
        deleted=one.deleted + other.deleted,
        operation=one.operation if one.operation == other.operation else _SEVERAL,
    )
