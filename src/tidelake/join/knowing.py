"""What each left row could know of a right side: all versions that its rows ever had."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.engine import Job
from tidelake.engine.local.errors import refusal
from tidelake.errors import Invalid, TidelakeWarning
from tidelake.event_time import row_versions as lives
from tidelake.history import changes
from tidelake.join.question import knowledge_type
from tidelake.join.sides import Rows, Side
from tidelake.model.event_time import Knowledge, moment_text
from tidelake.model.literal import sql_literal
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.snapshot import Snapshot
from tidelake.session.source import Record


def enter_lives(job: Job, name: str, side: Side, own: Column) -> tuple[str, tuple[Column, ...]]:
    """All that a right side ever knew as a relation; how a left row tells what it knew, in SQL,
    and the columns of the relation."""
    if not isinstance(side, Rows) or side.where is not None:
        raise Invalid(
            f"known_at={own.name!r} is a column: the right side must be a table of a lake",
            hint="give the Table itself, without a condition",
        )
    if side.source.as_of is not None:
        raise Invalid(
            f"known_at={own.name!r} is a column: the right side cannot be as of a moment",
            hint="give the Table itself; left_time says as of when",
        )
    kind = knowledge_type(own)
    session, table = side.session.committed, side.source.name
    record = None
    with session.reading() as reader:
        span = changes.span_of(session, reader, table, None, side.source.end())
        oldest = span.base.snapshot_id if span.base else 0
        whole = span.facts.info.id not in dict(read.names(reader, oldest, "table"))
        columns = _wanted(side, span.facts.info.schema.columns)
        if kind != "BIGINT":
            record = Record.maybe(reader, span.facts.info)
        more = () if record is None or record.column in columns else (record.column,)
        plan = changes.plan_changes(reader, span, (*columns, *more))
        known = _dated([snapshots.by_id(reader, oldest), *span.known])
    holes = lives.Holes.among(known, whole=whole)
    plan = replace(plan, suffix=name)
    early = None if record is None else _early(record, kind)
    changes.define(job, plan)
    if kind == "BIGINT":
        job.define(name, lives.versions_sql(plan, holes))
    else:
        job.define(plan.named(lives.VERSIONS), lives.versions_sql(plan, holes))
        if early is not None:
            job.define(plan.named(lives.EARLY_VERSIONS), early.known_sql(plan))
        job.scan(plan.named(lives.KNOWN_TIMES), lives.times_plan(plan, known, kind))
        job.define(name, lives.dated_sql(plan, columns, early))
    return _knowledge(own, kind, holes, early), columns


def _early(record: Record, kind: str) -> lives.Early:
    since = f"CAST('{moment_text(record.since)}' AS {kind})"
    first = None if record.first is None else record.first.snapshot_id
    return lives.Early(record.column, kind, since, first)


def warn_if_early(job: Job, left: str, side: Side, own: Column) -> None:
    """Warn if no left row can know anything: all of them are from before the right table."""
    kind = knowledge_type(own)
    if kind == "BIGINT" or not isinstance(side, Rows):
        return
    first = _first_known(side)
    if Knowledge.maybe(side.session.newest_info(side.source.name)) is not None:
        return
    moment = first.time if kind == "TIMESTAMPTZ" else first.time.replace(tzinfo=None)
    last = f"max(CAST({quote(own.name)} AS {kind}))"
    ((early,),) = job.rows(f"SELECT {last} < {sql_literal(moment)} FROM {left}")
    if early:
        warnings.warn(
            f"known_at={own.name!r}: every left row is from before {first.time.isoformat()}, when"
            f" the lake first knew of {side.source.name}, so none has a match; if the history is"
            " older than the lake, have a column say when each row was known (docs:"
            " point-in-time.md, History from before the lake)",
            TidelakeWarning,
            stacklevel=7,
        )


def _first_known(side: Rows) -> Snapshot:
    """The first snapshot, of those that are left, in which the table was there."""
    with side.session.committed.reading() as reader:
        began = min(snapshots.of_table(reader, side.session.newest_info(side.source.name).id))
        return snapshots.after(reader, began - 1, limit=1)[0]


def _wanted(side: Rows, columns: Sequence[Column]) -> tuple[Column, ...]:
    wanted = set(side.planned(numbered=True).output) - {ROW_NUMBER}
    return tuple(column for column in columns if column.name in wanted)


def _dated(known: Sequence[Snapshot]) -> list[Snapshot]:
    """Snapshots with times that do not go back: nothing is known before what came before it."""
    times = accumulate((snapshot.time for snapshot in known), max)
    return [replace(snapshot, time=time) for snapshot, time in zip(known, times, strict=True)]


def _knowledge(own: Column, kind: str, holes: lives.Holes, early: lives.Early | None) -> str:
    """How a left row tells what it knew. Of a time before the lake's own record nothing has been
    expired."""
    same = own.duckdb_type == kind
    moment = quote(own.name) if same else f"CAST({quote(own.name)} AS {kind})"
    lost = holes.swallow(moment, kind)
    if lost is None:
        return moment
    if early is not None:
        lost = f"({lost}) AND {moment} >= {early.since}"
    text = refusal(
        f"a left row's {own.name!r} is of a time of which the snapshots have been expired: what was"
        " known then cannot be told",
        "leave such rows out; a tag keeps its snapshot, and keep_last the last ones",
    )
    return f"CASE WHEN {lost} THEN error({text_literal(text)}) ELSE {moment} END"
