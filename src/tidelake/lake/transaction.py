"""A transaction: the lake as its own writes have changed it, and one commit at the end."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidelake.catalog.commit import commit, inline_tables
from tidelake.catalog.commit.commit import CommitRequest, CommitResult
from tidelake.catalog.commit.entries import Numbers
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import options, snapshots
from tidelake.catalog.read import tables as read
from tidelake.coverage.from_rows import observers
from tidelake.engine import Job
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Conflict, Invalid, TidelakeError
from tidelake.lake.lake import Declaration, Lake
from tidelake.lake.open_transactions import watched
from tidelake.model.change import (
    Change,
    Origin,
    Revival,
    SchemaChange,
    TableChange,
    ViewChange,
    WriteResult,
)
from tidelake.model.column_rules import check_characters
from tidelake.model.names import TableName, fold
from tidelake.model.schema import Column
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import SchemaInfo, TableInfo, ViewInfo
from tidelake.model.tag import Tag
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.draft import TableDraft, facts_of_new
from tidelake.session.hooks import CommitHooks
from tidelake.session.leases import Work
from tidelake.session.plan_as_of import condition_as_of, overlaid, plan_as_of, unplaced
from tidelake.session.planning import ALL, ReadRequest, TableMeta, plan_scan
from tidelake.session.reads import SNAPSHOT, reads_of

if TYPE_CHECKING:
    from tidelake.history.consumer import Consumer


_SEVERAL = "transaction"


class Transaction(Lake):
    """Several writes, one snapshot, all or nothing. Reads through it see its own writes.

    Made by `lake.transaction()`, used in a `with`: it commits at the end, and if the body
    raises nothing has happened. Without a `with` it is ended by `commit()` or `rollback()`.
    `result` then tells what was committed.
    """

    def __init__(
        self,
        lake: Lake,
        *,
        author: str | None = None,
        message: str | None = None,
        base: tuple[int, int] | None = None,
        token: str | None = None,
        isolation: str = SNAPSHOT,
    ) -> None:
        super().__init__(
            lake._database,
            lake.data_path,
            lake._local,
            lake.engine,
            lake._spark,
            encrypted=lake.encrypted,
        )
        self._lake = lake
        self._reads = reads_of(isolation)
        self._pid = os.getpid()
        self._token = token or uuid.uuid4().hex
        for what, said in (("author", author), ("message", message)):
            check_characters(said or "", f"the {what} {said!r}")
        self._author = author
        self._message = message
        self._is_blind = base is not None
        self._base, self._schema_version = base or self._newest()
        self._drafts: dict[int, TableDraft] = {}
        self._dropped: dict[int, TableInfo] = {}
        self._new_schemas: dict[str, SchemaInfo] = {}
        self._dropped_schemas: dict[int, SchemaInfo] = {}
        self._view_changes: dict[int, ViewChange] = {}
        self._revivals: list[Revival] = []
        self._written: list[str] = []
        self._work = Work(lake._local.store, lake.data_path)
        self._watched = watched(
            self,
            (self._drafts, self._dropped, self._view_changes),
            (self._new_schemas, self._dropped_schemas),
            self._work,
        )
        self._next_id = -1
        self._counts = WriteResult(None)
        self._wrote_before = False
        self._began = time.monotonic()
        self._done = False
        self.replayable = True
        self.remembers = True
        self.origin: Origin | None = None
        self.in_commit: Callable[[Writer], None] | None = None
        self.result: WriteResult | None = None

    def _newest(self) -> tuple[int, int]:
        with self._lake._reading() as reader:
            return snapshots.head(reader)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._done:
            return
        if kind is None:
            self.commit()
        else:
            self.close()

    def commit(self) -> WriteResult:
        """Make everything visible at once, as one snapshot. The transaction is over then."""
        change = self.prepare()
        try:
            self.result = self._land(change)
        except (Conflict, Invalid):
            self._discard(self._written)
            raise
        finally:
            self._work.end()
        return self.result

    def prepare(self) -> Change:
        """All that is to be committed; the transaction is over then."""
        self._check_open()
        try:
            self._lake._check_not_closed()
            self._seal()
            change = self._change()
            self._check_message()
        except BaseException:
            self.forget()
            raise
        self._end()
        return change

    def rollback(self) -> None:
        """Forget everything, and remove the files that were written for it. The transaction is
        over then."""
        self._check_open()
        self.forget()

    def forget(self) -> None:
        """Remove the files that were written for a commit that is not, or has not been, made."""
        self._end()
        self._discard(self._written)
        self._work.end()

    def _end(self) -> None:
        self._done = True
        self._watched.detach()

    def close(self) -> None:
        """Rolls back if nothing was committed; the lake stays open."""
        if not self._done:
            self.forget()

    def transaction(self, **_: Any) -> Transaction:
        raise Invalid("a transaction cannot hold another", hint="use the one that is open")

    def known_at(self, moment: int | str | datetime) -> Lake:
        """The lake as it was committed: without this transaction's own writes."""
        with self._reading() as reader:
            return self._lake.known_at(self._snapshot(reader, moment).snapshot_id)

    def _check_compactable(self, _: bool, /) -> None:
        raise Invalid("compaction is not part of a transaction", hint="compact outside of it")

    def set_option(self, *_: object, **__: object) -> None:
        raise Invalid("options are not part of a transaction", hint="set them on the lake")

    def tag(self, *_: Any, **__: Any) -> Tag:
        raise Invalid("tags are not part of a transaction", hint="tag the lake after the commit")

    def untag(self, *_: Any, **__: Any) -> Tag:
        raise Invalid("tags are not part of a transaction", hint="untag on the lake")

    def consumer(self, *_: Any, **__: Any) -> Consumer:
        raise Invalid("consumers are not part of a transaction", hint="ask the lake for them")

    def __reduce__(self) -> tuple[Any, ...]:
        raise Invalid(
            "a transaction stays in the process that opened it",
            hint="send the lake or a table of it, and write there in a transaction of its own",
        )

    def __repr__(self) -> str:
        return f"<Transaction on {self._database.url} from snapshot {self._base}>"

    @property
    def _committed(self) -> Lake:
        return self._lake

    @property
    def _last(self) -> int | None:
        return self._base

    def _at(self, _: Reader, /) -> int:
        return self._base

    def _snapshot(self, reader: Reader, moment: int | str | datetime) -> Snapshot:
        """What is before the base will never be otherwise; all else may be."""
        found = super()._snapshot(reader, moment)
        if found.snapshot_id >= self._base:
            self._reads.lake()
        return found

    # What reads ask of a lake, with the drafts laid over it.

    def _find(self, reader: Reader, at: int, kind: str, name: TableName) -> int | None:
        if kind == "table":
            for draft_id, draft in self._drafts.items():
                if _same(draft.after.name, name):
                    return draft_id
        if kind == "view":
            for view_id, change in self._view_changes.items():
                if change.after is not None and _same(change.after.name, name):
                    return view_id
        found = super()._find(reader, at, kind, name)
        self._reads.name(kind, name, found)
        if found is None or found in self._drafts or found in self._dropped:
            return None
        changed = self._view_changes.get(found)
        return None if changed is not None else found

    def _table_info(self, reader: Reader, at: int, name: TableName) -> TableInfo:
        table_id = self._find(reader, at, "table", name)
        if table_id in self._drafts:
            return self._drafts[table_id].after
        found = super()._table_info(reader, at, name)
        self._reads.table(found)
        return found

    def _view_info(self, reader: Reader, at: int, view_id: int) -> ViewInfo:
        change = self._view_changes.get(view_id)
        if change is not None and change.after is not None:
            return change.after
        found = super()._view_info(reader, at, view_id)
        self._reads.view(found)
        return found

    def _schema_infos(self, reader: Reader, at: int) -> list[SchemaInfo]:
        known = super()._schema_infos(reader, at)
        kept = [schema for schema in known if schema.id not in self._dropped_schemas]
        return [*kept, *self._new_schemas.values()]

    def _object_names(self, reader: Reader, at: int, kind: str) -> list[tuple[int, TableName]]:
        known = super()._object_names(reader, at, kind)
        if kind == "table":
            drafts = {draft_id: draft.after.name for draft_id, draft in self._drafts.items()}
            rest = [(i, n) for i, n in known if i not in drafts and i not in self._dropped]
            return [*rest, *drafts.items()]
        if kind == "view":
            views = [(i, c.after.name) for i, c in self._view_changes.items() if c.after]
            return [(i, n) for i, n in known if i not in self._view_changes] + views
        return known

    def _plan(self, name: TableName, snapshot_id: int | None, asked: ReadRequest = ALL) -> ScanPlan:
        if self._reads.are_kept:
            with self._reading() as reader:
                if (facts := self._facts_read(reader, name, snapshot_id)) is not None:
                    self._reads.rows(facts, asked.of(facts.info.schema).predicate)
        return self.look(name, asked, snapshot_id)

    def look(self, name: TableName, asked: ReadRequest, snapshot_id: int | None = None) -> ScanPlan:
        """Plan a read that is not to be remembered as one."""
        with self._reading() as reader:
            draft = self._drafted(reader, name, snapshot_id)
            if draft is None:
                at = self._base if snapshot_id is None else snapshot_id
                return self._lake._plan(name, at, asked)
            facts = replace(draft.facts, info=draft.after)
            request = asked.of(draft.after.schema)
            plan = plan_scan(reader, self._base, facts, request, counted=asked.counted)
        return draft.overlay(plan)

    def _plan_as_of(
        self, name: TableName, snapshot_id: int | None, moment: int, asked: ReadRequest = ALL
    ) -> AsOfPlan:
        with self._reading() as reader:
            if (facts := self._facts_read(reader, name, snapshot_id)) is not None:
                request = asked.of(facts.info.schema)
                self._reads.rows(facts, condition_as_of(facts, self._base, request, moment))
            draft = self._drafted(reader, name, snapshot_id)
            if draft is None:
                at = self._base if snapshot_id is None else snapshot_id
                return self._lake._plan_as_of(name, at, moment, asked)
            facts = replace(draft.facts, info=draft.after)
            request = asked.of(draft.after.schema)
            plan = plan_as_of(reader, self._base, facts, request, moment, counted=asked.counted)
            doubtful = unplaced(reader, self._base, facts, plan.event)
        self._check_placed(None if doubtful is None else draft.overlay(doubtful), plan.event)
        return overlaid(plan, draft.overlay(plan.parts[0]))

    def _facts_read(
        self, reader: Reader, name: TableName, snapshot_id: int | None
    ) -> TableMeta | None:
        """What is known of a table of which rows are read as they were at the base."""
        if snapshot_id not in (None, self._base) or not self._reads.are_kept:
            return None
        draft = self._drafted(reader, name, snapshot_id)
        if draft is not None:
            return replace(draft.facts, info=draft.after) if draft.before else None
        facts = self._table_facts(reader, self._base, self._base, name)
        self._reads.table(facts.info)
        return facts

    def _note_declared(self, found: TableInfo, /) -> None:
        draft = self._drafts.get(found.id)
        before = found if draft is None else draft.before
        if before is not None:
            self._reads.table(before, only_rows=False)

    def _note_rows(self, name: TableName, snapshot_id: int | None, /) -> None:
        if not self._reads.are_kept:
            return
        with self._reading() as reader:
            if (facts := self._facts_read(reader, name, snapshot_id)) is not None:
                self._reads.rows(facts, None)

    def _drafted(
        self, reader: Reader, name: TableName, snapshot_id: int | None, /
    ) -> TableDraft | None:
        """The table as this transaction has changed it, if it has, and a read is to see that."""
        self._check_base(reader)
        if snapshot_id not in (None, self._base):
            return None
        return self._drafts.get(self._find(reader, self._base, "table", name) or 0)

    def _count_from_catalog(self, name: TableName, snapshot_id: int | None) -> int | None:
        self._note_rows(name, snapshot_id)
        with self._reading() as reader:
            self._check_base(reader)
            if self._find(reader, self._base, "table", name) in self._drafts:
                return None
        return super()._count_from_catalog(name, snapshot_id)

    def _check_base(self, reader: Reader) -> None:
        """What was there at the base can be read only as long as nobody has expired it."""
        if not snapshots.exists(reader, self._base):
            raise Conflict(
                f"snapshot {self._base}, which this transaction began from, has been expired",
                hint="begin the transaction again",
            )

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        self._check_open()
        with self._lake._reading() as reader:
            yield reader

    def _check_open(self) -> None:
        if self._done:
            raise Invalid("this transaction is over", hint="open another with lake.transaction()")
        if self._pid != os.getpid():
            raise Invalid(
                "a transaction stays in the process that opened it, and this one was forked",
                hint="open another here with lake.transaction()",
            )

    # What writes ask of a transaction.

    def _write(self, operation: Callable[[Transaction], WriteResult], **_: bool) -> WriteResult:
        self._check_open()
        self._check_alone(*self._revivals)
        done = operation(self)
        self._counts = _sum(self._counts, done) if self._wrote_before else done
        self._wrote_before = True
        return done

    def new_id(self) -> int:
        """An id for something that does not exist yet."""
        self._next_id -= 1
        return self._next_id + 1

    def draft(self, name: TableName) -> TableDraft:
        """The table as this transaction sees it, ready to be changed."""
        as_committed = not (self._drafts or self._dropped)
        found = self._lake._declared(name, self._schema_version) if as_committed else None
        if found is None:
            with self._reading() as reader:
                table_id = self._find(reader, self._base, "table", name)
                if table_id is None:
                    raise self._unknown(reader, self._base, name)
                if table_id in self._drafts:
                    return self._drafts[table_id]
                found = self._declaration(reader, table_id)
            self._lake._declare(name, self._schema_version, found)
        facts, known, inline_table = found
        self._drafts[facts.info.id] = TableDraft(
            facts.info, facts.info, facts, known, self._base, inline_table, observers
        )
        return self._drafts[facts.info.id]

    def _declaration(self, reader: Reader, table_id: int) -> Declaration:
        info = read.table(reader, self._base, table_id, self.data_path)
        facts = TableMeta.gather(reader, info)
        known = options.of_table(reader, table_id, read.schema_of(reader, table_id))
        return facts, known, inline_tables.newest(reader, table_id, info.schema.columns)

    def create(self, table: TableInfo) -> TableDraft:
        with self._reading() as reader:
            known = options.of_table(reader)
        self._drafts[table.id] = TableDraft(
            None, table, facts_of_new(table), known, self._base, observers=observers
        )
        return self._drafts[table.id]

    def drop_table(self, name: TableName) -> None:
        draft = self.draft(name)
        del self._drafts[draft.after.id]
        if draft.before is not None:
            self._dropped[draft.before.id] = draft.before

    def revive(self, table: TableInfo, dropped: int) -> None:
        """Have a table again that a snapshot has dropped. Reads do not see it before the commit,
        so there is nothing else in that."""
        self._check_alone(
            *self._drafts,
            *self._dropped,
            *self._view_changes,
            *self._new_schemas,
            *self._dropped_schemas,
        )
        self._revivals.append(Revival(table, dropped))

    def _check_alone(self, *others: object) -> None:
        if others:
            raise Invalid(
                "a dropped table comes back in a commit of its own",
                hint="undrop it before this transaction",
            )

    def can_inline(self, columns: Sequence[Column]) -> bool:
        """Whether the catalog can keep rows of these columns."""
        return inline_tables.can_inline(self._database.dialect, columns)

    def can_flush(self, table: TableInfo, rows: Iterable[Sequence[object]]) -> bool:
        """Whether DuckDB can move these rows from the catalog to files without harm."""
        return inline_tables.can_flush(self._database.dialect, table, rows)

    def job(self, doing: str, data: object = None) -> Job:
        """The statements of one write, on Spark if the lake or the data is Spark's."""
        if self.engine == "local" and not is_spark_frame(data):
            return self._local.job(doing)
        session = getattr(data, "sparkSession", None)
        return self._spark_engine(session).job(doing)

    def announce(self) -> None:
        """Files are going to be written: until the commit, nobody may take them for orphans."""
        self._work.begin()

    def wrote(self, paths: Sequence[str]) -> None:
        self._written += paths

    @contextmanager
    def unless_it_fails(self, draft: TableDraft) -> Iterator[None]:
        """What fails inside has left no trace in the draft, and no files."""
        saved, before = draft.saved(), len(self._written)
        try:
            yield
        except BaseException:
            draft.restore(saved)
            self._discard(self._written[before:])
            del self._written[before:]
            raise

    def check_current(self, name: TableName) -> None:
        """A write that looks at nothing may begin from what the lake last knew. Once it has
        looked, and is not to change anything, that must not be the past."""
        if self._is_blind and self._newest()[0] != self._base:
            raise Conflict(f"{name} has changed in the meantime", hint="repeat the write")

    def _seal(self) -> None:
        """Put rows that are too many for the catalog into files."""
        from tidelake.session.staging import settle

        for draft in self._drafts.values():
            settle(self, draft)

    def _change(self) -> Change:
        tables = [draft.change() for draft in self._drafts.values()]
        tables += [TableChange(table, None) for table in self._dropped.values()]
        gone = [SchemaChange(schema, None) for schema in self._dropped_schemas.values()]
        return Change(
            base=self._base,
            schema_version=self._schema_version,
            token=self._token,
            schemas=(*(SchemaChange(None, s) for s in self._new_schemas.values()), *gone),
            tables=tuple(t for t in tables if t.changes_anything),
            views=tuple(self._view_changes.values()),
            revivals=tuple(self._revivals),
            author=self._author,
            message=self._message,
            done=self._counts,
            origin=self.origin,
        )

    def _land(self, change: Change) -> WriteResult:
        """Commit. Should it fail in a way that leaves open whether it landed, the files stay:
        the lake may refer to them, and if it does not, cleanup finds them."""
        if change.is_empty:
            self._discard(self._written)
            return replace(self._counts, snapshot_id=self._base)
        latest = self._expected(change)
        tried: dict[int, Change] = {}

        def for_snapshot(snapshot_id: int) -> Change:
            nonlocal latest
            latest = tried[snapshot_id] = self._restamped(latest, snapshot_id)
            return latest

        grown = [t.before.id for t in change.tables if t.before is not None and t.write.adds]
        hooks = CommitHooks(self._lake.hooks, change)

        def beside(writer: Writer) -> None:
            self.beside(writer)
            hooks.beside(writer)

        def check(reader: Reader, head: Numbers) -> None:
            self._reads.check(self._lake, reader, (self._base, self._schema_version), head)

        wanted = CommitRequest(
            for_snapshot,
            self._token,
            self._base,
            self.annexes,
            grown,
            self._began,
            beside,
            check,
        )
        landed = commit.commit(self._database, wanted, self.data_path)
        done = self.landed(landed, tried[landed.snapshot_id])
        hooks.landed()
        return done

    def beside(self, writer: Writer) -> None:
        """What is to be kept of the commit, in its own transaction: `also`, if there is any."""
        if self.in_commit is not None:
            self.in_commit(writer)

    def landed(self, landed: CommitResult, change: Change) -> WriteResult:
        """What the commit has done, after which files that it does not need are removed."""
        self._discard(set(self._written) - _paths(change))
        self._work.end()
        self._lake._landed(landed, change)
        return _result(self._counts, landed, change)

    def _expected(self, change: Change) -> Change:
        """With the snapshot that will come next, so that the lock need not be held for long."""
        if any(f.stamp is not None for table in change.tables for f in table.write.delete_files):
            return self._restamped(change, self._newest()[0] + 1)
        return change

    def _check_message(self) -> None:
        drafts = list(self._drafts.values())
        if self._message is None and any(draft.options.require_message for draft in drafts):
            raise Invalid(
                "this lake wants a message with every commit",
                hint='lake.transaction(message="…")',
            )

    def _restamped(self, change: Change, snapshot_id: int) -> Change:
        """The change with the snapshot's id in the delete files that name it."""
        tables = []
        for table in change.tables:
            stale = [f for f in table.write.delete_files if f.stamp not in (None, snapshot_id)]
            if stale:
                target = self._drafts[table.table.id].target
                with self._local.job(f"cannot delete from {table.table.name}") as job:
                    files = tuple(
                        job.restamp(target, f, snapshot_id) if f in stale else f
                        for f in table.write.delete_files
                    )
                self.wrote([file.path for file in files])
                table = replace(table, write=replace(table.write, delete_files=files))
            tables.append(table)
        return replace(change, tables=tuple(tables))

    def _discard(self, paths: Any) -> None:
        """Remove files that nothing refers to. What cannot be removed is left for cleanup, and
        what the parent of this process wrote is left to it."""
        if self._pid != os.getpid():
            return
        try:
            self._local.store.delete(sorted(paths))
        except TidelakeError:
            return


def _same(one: TableName, other: TableName) -> bool:
    return (fold(one.schema), fold(one.name)) == (
        fold(other.schema),
        fold(other.name),
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


def _paths(change: Change) -> set[str]:
    writes = [table.write for table in change.tables]
    added = [file for write in writes for file in write.files]
    deletes = [file.deletes for file in added if file.deletes is not None]
    deletes += [file for write in writes for file in write.delete_files]
    return {file.path for file in added} | {file.path for file in deletes}


def _result(counts: WriteResult, landed: CommitResult, change: Change) -> WriteResult:
    files = [f for table in change.tables for f in table.write.files]
    return replace(
        counts,
        snapshot_id=landed.snapshot_id,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        attempts=landed.attempts,
        duplicate=landed.duplicate,
        commit_ms=landed.seconds * 1000,
    )
