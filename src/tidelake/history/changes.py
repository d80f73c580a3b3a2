"""What happened to the rows of a table between two snapshots, read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import file_history, inlined_data, snapshots
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.column_history import types_until
from tidelake.engine import Engine, Job, Reading
from tidelake.errors import Invalid, NotFound
from tidelake.history import changes_sql as plan_of
from tidelake.history.changes_sql import ChangePlan, Window
from tidelake.model.file import DataFile
from tidelake.model.moment import from_now
from tidelake.model.names import TableName, quote
from tidelake.model.predicate import Predicate
from tidelake.model.schema import ROW_BEGAN, ROW_NUMBER, Column, Schema
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import TableInfo
from tidelake.plan.differs import widest_columns
from tidelake.plan.where import Where, as_where
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import (
    BoundRequest,
    ReadRequest,
    TableMeta,
    mappings_of,
    plan_all,
    plan_scan,
    without_others,
)
from tidelake.session.readable import Read
from tidelake.session.session import Session
from tidelake.session.source import Source

Moment = int | str | date


def changes_of(
    source: Source,
    since: Moment | None,
    until: Moment | None,
    *,
    columns: Sequence[str] | None = None,
    where: str | Predicate | None = None,
) -> Changes:
    """What happened to the rows of a table, up to the moment that it is pinned to."""
    source.check_not_as_of("changes")
    last = source.end()
    return Changes(
        source.session.committed,
        source.name,
        since,
        last if until is None else until,
        columns=columns,
        where=where,
    )


class Changes(LazyRows):
    """The rows that came to a table, left it or were updated after one snapshot and up to another.

    Every change is a row: `snapshot_id`, `snapshot_time` (unknown once a snapshot has been
    expired), `rowid`, `change_type` ('insert', 'delete', 'update_preimage', 'update_postimage'),
    and the table's columns as they are at the end. Immutable; every `to_*` plans afresh.
    """

    def __init__(
        self,
        session: Session,
        name: TableName,
        since: Moment | None,
        until: Moment | None,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        rows_first: bool = False,
    ) -> None:
        """With `rows_first` it begins with the rows that are there at the end, and not with those
        of the oldest snapshot."""
        self._rows_first = rows_first
        self._session = session
        self._name = name
        self._since, self._until = from_now(since), from_now(until)
        self._columns = (columns,) if isinstance(columns, str) else columns
        self._where = where

    def plan(self) -> ChangePlan:
        """Which files and rows tell of the changes."""
        with self._session.reading() as reader:
            told = (self._session, reader, self._name)
            if self._rows_first:
                span = whole_span(*told, self._until)
            else:
                span = span_of(*told, self._since, self._until)
            return plan_changes(reader, span, _wanted(span.facts, self._columns))

    def files(self) -> list[DataFile]:
        """The data files that would be read: those that were touched in between."""
        return self.plan().files

    def reads(self) -> Iterator[Read]:
        """The table at the end, and the files that tell of its changes."""
        yield read_of_past(Source(self._session, self._name), self.plan())

    def count(self) -> int:
        """How many changes. Which of them are updates need not be known for it, unless rows that
        were only moved have to be told from others."""
        plan = self.plan()
        if self._where is not None or plan.window.unknown:
            return super().count()
        sources = [plan_of.CAME, plan_of.WENT, *([plan_of.BASE] if plan.base else [])]
        with self._default_engine().job(f"cannot count the changes of {self._name}") as job:
            define(job, plan)
            return sum(job.rows(f"SELECT count(*) FROM {each}")[0][0] for each in sources)

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        plan = self.plan()
        names = plan_of.feed_names(plan.columns)
        where = as_where(self._where, Schema(feed_columns(plan.columns)))
        job = engine.job(f"cannot read the changes of {self._name}")
        define(job, plan)
        sql = plan_of.feed_sql(plan, names)
        if where is not None:
            sql = f"SELECT * FROM ({sql}) AS _tidelake_feed WHERE ({where.sql})"
        if ordered:
            at, _, row_id, kind = map(quote, names)
            sql = f"SELECT * FROM ({sql}) AS _tidelake_feed ORDER BY {at}, {row_id}, {kind} DESC"
        return job.reading(sql)

    def __repr__(self) -> str:
        return f"<Changes of {self._name} since {self._since} until {self._until}>"


def feed_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a feed over these columns of a table."""
    kinds = ("int64", "timestamptz", "int64", "varchar")
    names = plan_of.feed_names(columns)
    own = (Column(0, name, kind) for name, kind in zip(names, kinds, strict=True))
    return (*own, *columns)


@dataclass(frozen=True, slots=True)
class Span:
    """A table at the end of a window, and the snapshots of the window that are still known.
    `base` is the oldest snapshot if the window begins with nothing."""

    facts: TableMeta
    after: int
    until: int
    base: Snapshot | None
    known: tuple[Snapshot, ...]


def span_of(
    session: Session, reader: Reader, name: TableName, since: Moment | None, until: Moment | None
) -> Span:
    last = session.at(reader) if until is None else session.resolve(reader, until).snapshot_id
    info = session.table_info(reader, last, name)
    base = None
    if since is None:
        base = snapshots.by_id(reader, snapshots.oldest_id(reader))
        first = base.snapshot_id
    else:
        first = _first(session, reader, since)
        check_same(reader, name, info.id, first)
    if first > last:
        raise Invalid(
            f"the changes of {name} since snapshot {first} cannot end before it, at {last}",
            hint="exchange since and until; t.diff(a, b) also goes backwards",
        )
    return Span(
        facts_until(reader, info, last), first, last, base, snapshots_between(reader, first, last)
    )


def whole_span(session: Session, reader: Reader, name: TableName, until: Moment | None) -> Span:
    """A window of nothing but the rows that are there at its end."""
    last = session.at(reader) if until is None else session.resolve(reader, until).snapshot_id
    info = session.table_info(reader, last, name)
    *known, base = snapshots.newest(reader, last)
    return Span(facts_until(reader, info, last), last, last, base, tuple(known))


def snapshots_between(reader: Reader, first: int, last: int) -> tuple[Snapshot, ...]:
    """The snapshots after one and up to another that have not been expired."""
    found = snapshots.after(reader, first)
    return tuple(snapshot for snapshot in found if snapshot.snapshot_id <= last)


def facts_until(reader: Reader, info: TableInfo, last: int) -> TableMeta:
    """The table at the end of the window. Where a rollback has made a type narrower again, it
    is the wider one, for rows that have gone since."""
    types = types_until(reader, info.id, last)
    columns = widest_columns(info.schema.columns, types)
    return TableMeta.gather(reader, replace(info, schema=Schema(columns)))


def _first(session: Session, reader: Reader, since: Moment) -> int:
    try:
        return session.resolve(reader, since).snapshot_id
    except NotFound as error:
        raise NotFound(
            f"the changes since {since} cannot be told: {error.message}",
            hint="since=None begins with the rows of the oldest snapshot that is left,"
            f" {snapshots.oldest_id(reader)}",
        ) from None


def check_same(reader: Reader, name: TableName, table_id: int, first: int) -> None:
    """A table of the same name that was dropped had rows that this one's changes do not end."""
    before = read.find(reader, first, "table", name)
    if before in (None, table_id) or table_id in dict(read.names(reader, first, "table")):
        return
    raise NotFound(
        f"{name} at snapshot {first} was another table, which has been dropped since",
        hint="since=None gives all changes of the table that has the name now",
    )


def _wanted(facts: TableMeta, columns: Sequence[str] | None) -> tuple[Column, ...]:
    schema = facts.info.schema
    if columns is None:
        return schema.columns
    ids = {schema.column(name).id for name in columns}
    return tuple(column for column in schema if column.id in ids)


def plan_changes(
    reader: Reader, span: Span, columns: tuple[Column, ...], where: Where | None = None
) -> ChangePlan:
    """With `where`, which must stand on some of the columns, only rows that meet it need be told
    of. Where nobody knows why a file ended, others may come too: they tell when rows went."""
    table = span.facts.info
    free = file_history.next_file(reader, span.after)
    touched = file_history.touched_files(reader, table.id, table.path, span.after, span.until, free)
    window = _window(span, touched, free)
    ids = {column.id for column in columns}
    lost = plan_of.files_that_lost(touched, window)
    gained = plan_of.files_that_gained(touched, window)
    output = tuple(column.name for column in columns)
    scan = plan_all(span.until, span.facts, columns, output)
    asked = scan
    if where is not None:
        asked = replace(scan, where=where.sql, predicate=where.predicate)
        lost = without_others(reader, span.facts, lost, where.predicate)
        if not window.unknown:
            gained = without_others(reader, span.facts, gained, where.predicate)
    came = replace(
        scan if window.unknown else asked,
        output=(*output, *plan_of.CAME_LINEAGE),
        files=tuple(file.as_written() for file in gained),
        inlined=tuple(inlined_data.begun_between(reader, span.after, span.until, table.id, ids)),
        mappings=mappings_of(reader, touched),
    )
    went = replace(
        asked,
        output=(*output, *plan_of.WENT_LINEAGE),
        files=tuple(file.as_written() for file in lost),
        inlined=tuple(inlined_data.ended_between(reader, span.after, span.until, table.id, ids)),
        mappings=came.mappings,
    )
    base = None
    if span.base is not None:
        request = BoundRequest((*output, ROW_NUMBER, ROW_BEGAN), where)
        base = plan_scan(reader, span.after, span.facts, request)
    dated = (*((span.base,) if span.base else ()), *span.known)
    times = plan_of.times_plan(table.name, [(each.snapshot_id, each.time) for each in dated])
    plan = ChangePlan(window, columns, came, went, tuple(lost), base, times)
    if not plan.brings_unborn:
        return plan
    return replace(plan, came=replace(came, output=(*came.output, *plan_of.PLACE_LINEAGE)))


def read_of_past(source: Source, plan: ChangePlan) -> Read:
    """What is read to tell of a window. Files are counted as they are at the end of it; some that
    are read may have gone before."""
    until, files = plan.window.until, tuple(plan.files)
    parts = [part for part in (plan.came, plan.went, plan.base) if part is not None]
    counted = source.session.plan(source.name, until, ReadRequest(counted=True))
    told = replace(
        counted,
        columns=plan.columns,
        output=tuple(column.name for column in plan.columns),
        files=files,
        inlined=tuple(inlined for part in parts for inlined in part.inlined),
        total_files=max(counted.total_files, len(files)),
        pruned=(),
    )
    return replace(source, snapshot_id=until), told


def _window(span: Span, touched: Sequence[DataFile], next_file: int) -> Window:
    """A snapshot that rewrote files moved rows only, if the files from which it took them are
    known: they are where the snapshot before it is left. Otherwise they may have gone with it."""
    rewrite = f"rewrite_delete:{span.facts.info.id}"
    there = {snapshot.snapshot_id for snapshot in span.known}
    rewrites = {
        snapshot.snapshot_id
        for snapshot in span.known
        if any(change.lower() == rewrite for change in snapshot.changes)
    }
    rewritten = {at for at in rewrites if at - 1 in there or at - 1 == span.after}
    ends = {file.end_snapshot for file in touched if file.end_snapshot is not None}
    unknown = {end for end in ends - there if span.after < end <= span.until}
    unknown |= rewrites - rewritten
    return Window(span.after, span.until, next_file, frozenset(rewritten), frozenset(unknown))


def define(job: Job, plan: ChangePlan) -> None:
    """The relations that a feed is made of."""
    job.scan(plan.named(plan_of.TIMES), plan.times)
    job.scan(plan.named(plan_of.CAME_FROM), plan.came)
    job.scan(plan.named(plan_of.WENT_FROM), plan.went)
    job.deletions(plan.named(plan_of.GONE), plan.lives)
    job.define(plan.named(plan_of.CAME), plan_of.came_sql(plan))
    if plan.window.unknown:
        job.define(plan.named(plan_of.WENT_BY), plan_of.went_sql(plan))
        job.define(plan.named(plan_of.SOONER), plan_of.sooner_sql(plan))
        job.define(plan.named(plan_of.WENT), plan_of.went_sooner_sql(plan))
        job.define(plan.named(plan_of.SAME), plan_of.same_sql(plan))
    else:
        job.define(plan.named(plan_of.WENT), plan_of.went_sql(plan))
    if plan.base is not None:
        job.scan(plan.named(plan_of.BASE), plan.base)
