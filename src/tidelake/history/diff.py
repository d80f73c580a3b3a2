"""What differs between two snapshots: declared, in files and in rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import file_history, inlined_data, snapshots
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.column_history import types_until
from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import Sheet
from tidelake.engine import Engine, Job, Reading
from tidelake.errors import NotFound
from tidelake.history import diff_sql as plan_of
from tidelake.history.changes import Span, define, plan_changes, read_of_past, snapshots_between
from tidelake.history.changes_sql import feed_names
from tidelake.history.declared_diff import declared_differences
from tidelake.history.diff_sql import DiffPlan
from tidelake.history.values_diff import Difference, FileDifference, RowDifference
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_NUMBER, Column, Schema
from tidelake.model.table import TableInfo
from tidelake.plan.differs import PAIRS, differing_sql, widest_columns
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import TableMeta, mappings_of, plan_all
from tidelake.session.readable import Read
from tidelake.session.session import Session
from tidelake.session.source import Source

Moment = int | str | date
_FEW = 2_000_000


class DiffRows(LazyRows):
    """The rows that differ: `rowid`, `change_type` ('insert', 'delete', 'update_preimage',
    'update_postimage') and the table's columns as they are at the second snapshot."""

    def __init__(self, session: Session, name: TableName, plan: DiffPlan) -> None:
        self._session = session
        self._name = name
        self._plan = plan
        self._kept: tuple[Any, Job] | None = None

    def files(self) -> list[DataFile]:
        """The data files that would be read: those that differ."""
        return self._plan.files

    def reads(self) -> Iterator[Read]:
        """The table at the later snapshot, and the files that tell what differs."""
        plan, source = self._plan, Source(self._session, self._name)
        if plan.changes is not None:
            yield read_of_past(source, plan.changes)
        elif plan.one is not None:
            counted = replace(plan.one, total_files=len(plan.one.files))
            yield replace(source, snapshot_id=plan.one.snapshot_id), counted

    @cached_property
    def counts(self) -> RowDifference:
        """How many rows differ, and in which way."""
        if not self._plan.has_rows:
            return RowDifference()
        job = self._job(self._session.engine, keeps=True)
        found = dict(job.rows(plan_of.counts_sql(self._plan)))
        return RowDifference(*(found.get(kind, 0) for kind in ("insert", "update", "delete")))

    def count(self) -> int:
        """How many rows: two for each that was updated."""
        return self.counts.inserted + self.counts.deleted + 2 * self.counts.updated

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        _, _, row_id, kind = feed_names(self._plan.columns)
        sql = plan_of.rows_sql(self._plan, (row_id, kind))
        if ordered:
            order = f"{quote(row_id)}, {quote(kind)} DESC"
            sql = f"SELECT * FROM ({sql}) AS _tidelake_rows ORDER BY {order}"
        return self._job(engine, keeps=ordered).reading(sql)

    def _job(self, engine: Engine, *, keeps: bool) -> Job:
        """Where rows are computed elsewhere, those that differ are kept there if they cannot be
        many, so that who counts them and then reads them, or has them in order, has them compared
        once."""
        if self._kept is not None and self._kept[0] is engine.session:
            return self._kept[1]
        job = self._defined(engine)
        if self._plan.source is None:
            compare = differing_sql(self._plan.columns)
            if keeps and not job.in_process and self._plan.most <= _FEW:
                job.keep(plan_of.DIFFERING, compare)
                self._kept = engine.session, job
            else:
                job.define(plan_of.DIFFERING, compare)
        return job

    def _defined(self, engine: Engine) -> Job:
        job = engine.job(f"cannot compare the rows of {self._name}")
        if self._plan.changes is None:
            assert self._plan.one is not None
            job.scan(plan_of.ONE, self._plan.one)
            return job
        define(job, self._plan.changes)
        if self._plan.source is None:
            if job.in_process:
                job.define(PAIRS, plan_of.pairs_sql(self._plan))
            else:
                job.gather(plan_of.EVENTS, plan_of.events_sql(self._plan), ROW_NUMBER)
                job.define(PAIRS, plan_of.pairs_at_once_sql(self._plan))
        return job

    def __repr__(self) -> str:
        return f"<rows of {self._name} that differ>"


@dataclass(frozen=True)
class TableDiff(Drawable):
    """What differs in a table from snapshot `before` to snapshot `after`, which may be older.

    `schema` is what is declared otherwise, `files` counts data files, `rows` are the rows that
    differ, by their ids and then by value: what only moved to another file is not among them.
    """

    table: str
    before: int
    after: int
    schema: tuple[Difference, ...]
    files: FileDifference
    rows: DiffRows

    @property
    def counts(self) -> RowDifference:
        """How many rows differ, which must be read to know; they are read once."""
        return self.rows.counts

    def __bool__(self) -> bool:
        return bool(self.schema or self.files or self.counts)

    def _sheet(self) -> Sheet:
        """Rows are not compared for it."""
        between = f"from snapshot {self.before} to {self.after}"
        told = Sheet.of(f"{self.table} {between}", files=self.files)
        named = told.with_grid(["declared otherwise"], [[each] for each in self.schema])
        return (named if self.schema else told).with_note(
            "counts compares rows and tells how many differ, rows has them"
        )

    def __str__(self) -> str:
        lines = [f"{self.table} from snapshot {self.before} to {self.after}"]
        lines += [f"  {difference}" for difference in self.schema]
        lines += [f"  rows: {self.counts}", f"  files: {self.files}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class LakeDiff(Drawable):
    """What differs in a lake: schemas and views that came and went, and tables one by one."""

    before: int
    after: int
    schema: tuple[Difference, ...]
    tables: tuple[TableDiff, ...]

    def __bool__(self) -> bool:
        return bool(self.schema or self.tables)

    def _sheet(self) -> Sheet:
        rows: list[tuple[object, ...]] = [("", each, "") for each in self.schema]
        rows += [(each.table, f"{len(each.schema)} declared", each.files) for each in self.tables]
        told = Sheet.of(f"from snapshot {self.before} to {self.after}")
        return told.with_grid(("table", "declared otherwise", "files"), rows)

    def __iter__(self) -> Iterator[TableDiff]:
        return iter(self.tables)

    def __str__(self) -> str:
        lines = [str(difference) for difference in self.schema]
        lines += [str(table) for table in self.tables]
        return "\n".join(lines) or "no difference"


def diff_table(session: Session, name: TableName, one: Moment, other: Moment | None) -> TableDiff:
    """A table by its name at the second snapshot, else at the first."""
    with session.reading() as reader:
        before, after = _moments(session, reader, one, other)
        table_id = read.find(reader, after, "table", name)
        if table_id is None:
            table_id = session.table_info(reader, before, name).id
        return _table(session, reader, table_id, before, after)


def diff_of(source: Source, one: Moment, other: Moment | None) -> TableDiff:
    """What differs from one moment to another, or to the one that the table is pinned to."""
    source.check_not_as_of("differences")
    last = source.end()
    end = last if other is None else other
    return diff_table(source.session.committed, source.name, one, end)


def diff_lake(session: Session, one: Moment, other: Moment | None) -> LakeDiff:
    """All tables that may differ."""
    with session.reading() as reader:
        before, after = _moments(session, reader, one, other)
        tables = [
            _table(session, reader, table_id, before, after)
            for table_id in sorted(_candidates(reader, before, after))
        ]
        return LakeDiff(
            before,
            after,
            tuple(_of_names(reader, before, after)),
            tuple(t for t in tables if t.schema or t.files or t.rows._plan.has_rows),
        )


def _moments(
    session: Session, reader: Reader, one: Moment, other: Moment | None
) -> tuple[int, int]:
    before = session.resolve(reader, one).snapshot_id
    after = session.at(reader) if other is None else session.resolve(reader, other).snapshot_id
    return before, after


def _candidates(reader: Reader, before: int, after: int) -> set[int]:
    """Tables that may differ: those that the commits in between name, or all when some of these
    have been expired."""
    first, last = sorted((before, after))
    there = {table_id for at in (before, after) for table_id, _ in read.names(reader, at, "table")}
    between = [s for s in snapshots.after(reader, first) if s.snapshot_id <= last]
    if len(between) < last - first:
        return there
    named = {
        int(subject)
        for snapshot in between
        for change in snapshot.changes
        if (subject := change.partition(":")[2]).isdecimal()
    }
    return there & (named | snapshots.tables_begun(reader, first, last))


def _of_names(reader: Reader, before: int, after: int) -> Iterator[Difference]:
    """Schemas and views that came or went."""
    old, new = ({s.name for s in read.schemas(reader, at, "")} for at in (before, after))
    yield from (Difference("schema created", name) for name in sorted(new - old))
    yield from (Difference("schema dropped", name) for name in sorted(old - new))
    was, now = ({str(name) for _, name in read.names(reader, at, "view")} for at in (before, after))
    yield from (Difference("view created", name) for name in sorted(now - was))
    yield from (Difference("view dropped", name) for name in sorted(was - now))


def _table(session: Session, reader: Reader, table_id: int, before: int, after: int) -> TableDiff:
    infos = [_info(session, reader, at, table_id) for at in (before, after)]
    old, new = infos
    shape = new or old
    assert shape is not None
    first, last = sorted((before, after))
    touched = []
    if first < last:
        free = file_history.next_file(reader, first)
        touched = file_history.touched_files(reader, table_id, shape.path, first, last, free)
    plan = _plan(reader, old, new, (before, after), touched)
    return TableDiff(
        str(shape.name),
        before,
        after,
        declared_differences(old, new),
        plan_of.file_difference(touched, before, after),
        DiffRows(session, shape.name, plan),
    )


def _info(session: Session, reader: Reader, at: int, table_id: int) -> TableInfo | None:
    try:
        return read.table(reader, at, table_id, session.data_path)
    except NotFound:
        return None


def _plan(
    reader: Reader,
    old: TableInfo | None,
    new: TableInfo | None,
    moments: tuple[int, int],
    touched: list[DataFile],
) -> DiffPlan:
    """In the columns of the second snapshot, in types that hold all values there were."""
    shape = new or old
    assert shape is not None
    facts = TableMeta.gather(reader, shape)
    types = types_until(reader, shape.id, max(moments))
    columns = widest_columns(shape.schema.columns, types)
    facts = replace(facts, info=replace(shape, schema=Schema(columns)))
    first, last = sorted(moments)
    backwards = moments[0] > moments[1]
    if old is None or new is None:
        one = _one(reader, facts, columns, moments[0 if new is None else 1], touched)
        return DiffPlan(columns, None, backwards, one, is_new=old is None)
    if first == last:
        return DiffPlan(columns, None, backwards, _one(reader, facts, columns, None, []))
    span = Span(facts, first, last, None, snapshots_between(reader, first, last))
    return DiffPlan(columns, plan_changes(reader, span, columns), backwards)


def _one(
    reader: Reader,
    facts: TableMeta,
    columns: tuple[Column, ...],
    at: int | None,
    touched: list[DataFile],
) -> ScanPlan:
    """All rows that the table has at a snapshot; no rows without one."""
    ids = {column.id for column in columns}
    plan = plan_all(at or 0, facts, columns, (*(column.name for column in columns), ROW_NUMBER))
    if at is None:
        return plan
    return replace(
        plan,
        files=tuple(file.at(at) for file in touched if file.is_visible_at(at)),
        inlined=tuple(inlined_data.inlined_rows(reader, at, facts.info.id, ids)),
        mappings=mappings_of(reader, touched),
    )
