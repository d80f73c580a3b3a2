"""Point-in-time joins: two sides meet, on the engine that has them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.engine import Engine, Job, Reading
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.local.errors import refusal
from tidelake.errors import Invalid, TidelakeWarning, Unsupported
from tidelake.event_time import row_versions as lives
from tidelake.history import changes
from tidelake.join import sql as plan_of
from tidelake.join.question import (
    DIRECTIONS,
    checked_tolerance,
    clock_of,
    distance_within,
    key_pair,
    knowledge_type,
)
from tidelake.join.sides import Rows, Side, column_of, side_of
from tidelake.join.sql import LEFT, LEFT_ROWS, RIGHT, RIGHT_ROWS, JoinPlan
from tidelake.lake.scan import Scan
from tidelake.model.event_time import names
from tidelake.model.literal import sql_literal
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.snapshot import Snapshot
from tidelake.session.caches import Memory, Recent
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.session import Session

On = str | Sequence[str | tuple[str, str]] | Mapping[str, str]

_NOBODYS = LocalEngine()
"""Where frames meet that are in no lake. It opens its DuckDB when it is first needed."""


def asof_join(
    left: Any,
    right: Any,
    on: On | None = None,
    left_time: str | None = None,
    right_time: str | None = None,
    *,
    tolerance: timedelta | str | int | None = None,
    direction: str = "backward",
    known_at: int | str | datetime | None = None,
    allow_exact_matches: bool = True,
    suffix: str = "_right",
) -> AsofJoin:
    """To every row of `left` the row of `right` with the same keys that held at its time.

    Either side is a Table, a Scan, a query of `lake.sql`, a frame of pandas, Polars, Arrow or
    Spark, or dicts. `on` names the key columns (pairs or a dict where the sides call them
    differently), the table's own key if left out; `left_time` and `right_time` the times, a table's
    event time if left out. `direction` is "backward" (the last up to then), "forward" (the first
    from then on) or "nearest"; nothing further away than `tolerance` is taken. A tombstone is found
    as any fact is, and means that there is nothing.

    With `known_at`, `right` is what the lake knew then: at a snapshot, a time or a tag, or, by the
    name of a left column, at each row's own moment. Every left row is there exactly once; if
    the left side is a frame or dicts, in its order.
    """
    if direction not in DIRECTIONS:
        raise Invalid(f"direction={direction!r}", hint=f"one of {', '.join(DIRECTIONS)}")
    if not isinstance(suffix, str) or not suffix:
        raise Invalid(f"suffix={suffix!r} is no text to put behind a name", hint='"_right"')
    asked = _Asked(
        on=None if on is None else _pairs(on),
        left_time=left_time,
        right_time=right_time,
        tolerance=checked_tolerance(tolerance),
        direction=direction,
        known_at=known_at,
        exact=bool(allow_exact_matches),
        suffix=suffix,
    )
    return AsofJoin(side_of("left", left), side_of("right", right), asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    on: tuple[tuple[str, str], ...] | None
    left_time: str | None
    right_time: str | None
    tolerance: timedelta | int | None
    direction: str
    known_at: int | str | datetime | None
    exact: bool
    suffix: str


def _pairs(on: On) -> tuple[tuple[str, str], ...]:
    given: Sequence[Any] = (
        [on] if isinstance(on, str) else list(on.items()) if isinstance(on, Mapping) else list(on)
    )
    pairs = [(each, each) if isinstance(each, str) else each for each in given]
    for pair in pairs:
        if not isinstance(pair, tuple) or [type(name) for name in pair] != [str, str]:
            raise Invalid(
                f"on={on!r} does not name columns",
                hint='on="id", on=["id", "kind"], or with other names on the right {"id": "key"}',
            )
    if not pairs:
        raise Invalid("on=[] joins by nothing", hint="name at least one key column")
    return tuple(pairs)


class TieMemory(Memory):
    """Of which snapshots of tables it is known whether two rows have the same keys and time."""

    def __init__(self) -> None:
        self.known: Recent[bool] = Recent()


class AsofJoin(LazyRows):
    """The left side's rows with what held then. Immutable; every `to_*` plans afresh."""

    def __init__(self, left: Side, right: Side, asked: _Asked) -> None:
        self._left = left
        self._right = right
        self._asked = asked
        self._spark = next((s.spark for s in (left, right) if s.spark is not None), None)
        lakes = [side.session for side in (left, right) if side.session is not None]
        _check_together(lakes)
        self._own = lakes[0] if lakes else None
        self._here = self._own.local if self._own is not None else _NOBODYS

    def count(self) -> int:
        """How many rows: as many as the left side has."""
        job = self._default_engine().job("cannot count")
        self._prepare(job)
        return int(job.reading(f"SELECT * FROM {LEFT}").count())

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        job = engine.job("cannot join")
        plan = self._prepare(job, ordered=ordered and self._left.is_ordered)
        if job.in_process or not plan.is_native:
            job.define(LEFT_ROWS, plan_of.left_rows_sql(plan))
            job.define(RIGHT_ROWS, plan_of.right_rows_sql(plan))
        if job.in_process and plan.known is None and self._is_untied(job, plan):
            plan = replace(plan, untied=True)
        return job.reading(plan_of.joined_sql(plan, by_window=not job.in_process))

    def _prepare(self, job: Job, *, ordered: bool = False) -> JoinPlan:
        left = self._left.enter(job, LEFT, numbered=ordered)
        own = self._own_moment(left)
        if own is None:
            right = self._pinned()
            columns = right.enter(job, RIGHT, numbered=True)
            return replace(self._plan(left, right, columns), ordered=ordered)
        known, columns = _enter_lives(job, self._right, own)
        if job.in_process:
            _warn_if_early(job, self._right, own)
        return replace(self._plan(left, self._right, columns), known=known, ordered=ordered)

    def _own_moment(self, left: Sequence[Column]) -> Column | None:
        """The left column that `known_at` names, if it does."""
        name = self._asked.known_at
        if not isinstance(name, str) or fold(name) not in {fold(c.name) for c in left}:
            return None
        return column_of(self._left, left, name, "known_at")

    def _pinned(self) -> Side:
        moment = self._asked.known_at
        if moment is None:
            return self._right
        if not isinstance(self._right, Rows):
            raise Invalid(
                f"known_at={moment!r}: only a table of a lake can tell what it knew when",
                hint="give a Table as the right side, or a column of the left side",
            )
        scan = self._right.scan
        return Rows("right", Scan(scan.source.known_at(moment), scan.columns, scan.where))

    def _plan(self, left: Sequence[Column], side: Side, right: Sequence[Column]) -> JoinPlan:
        asked, event = self._asked, side.event
        pairs = asked.on or (tuple((name, name) for name in names(event.key)) if event else ())
        if not pairs:
            raise Invalid("on is missing, and the right side has no key", hint='on="id"')
        keys = tuple(
            key_pair(column_of(self._left, left, mine, "on"), column_of(side, right, theirs, "on"))
            for mine, theirs in pairs
        )
        clock = clock_of(
            _time(self._left, left, asked.left_time), _time(side, right, asked.right_time)
        )
        end = event.tombstone if event else None
        tombstone = None if end is None else column_of(side, right, end.name, "tombstone")
        unseen = {pair.right.name for pair in keys} | ({end.name} if end else set())
        brought = [column for column in right if column.name not in unseen]
        tolerance = asked.tolerance
        return JoinPlan(
            left=tuple(left),
            brought=_named(left, brought, asked.suffix),
            keys=keys,
            clock=clock,
            direction=asked.direction,
            exact=asked.exact,
            within=None if tolerance is None else distance_within(clock, tolerance),
            tombstone=tombstone,
        )

    def _is_untied(self, job: Job, plan: JoinPlan) -> bool:
        """Whether no two right rows have the same keys and time. What has been found out about a
        snapshot of a table remains so."""
        session, key = self._right.session, self._pinned().key
        kept = session.memory(TieMemory).known if session is not None else Recent[bool]()
        by = f"{key} {[*(p.right.name for p in plan.keys), plan.clock.times.right.name]}"
        found = None if key is None else kept.get(by)
        if found is None:
            found = not job.rows(plan_of.ties_sql(plan))[0][0]
            if key is not None:
                kept.keep(by, found)
        return found

    # Where it is computed.

    def _default_engine(self) -> Any:
        if self._spark is not None:
            return self._on_spark(self._spark)
        return self._here if self._own is None else self._own.engine

    def _local_engine(self) -> Any:
        return self._here

    def _on_spark(self, spark: Any) -> Any:
        if self._own is not None:
            return self._own.spark_engine(spark or self._spark)
        from tidelake.engine.spark.engine import SparkEngine

        return SparkEngine(spark or self._spark, self._here)

    def __repr__(self) -> str:
        return f"<AsofJoin {self._asked.direction} of {self._left!r} and {self._right!r}>"


def _check_together(sessions: Sequence[Session]) -> None:
    if len({session.engine_name for session in sessions}) > 1:
        raise Unsupported(
            "one side's lake is on the local engine, the other's on Spark",
            hint="open both lakes with the same engine",
        )
    if len({repr(sorted(session.local.options.items())) for session in sessions}) > 1:
        raise Unsupported(
            "the lakes of the two sides have different storage_options",
            hint="hand over one of them as a frame, for example with to_arrow()",
        )


def _time(side: Side, columns: Sequence[Column], name: str | None) -> Column:
    own = side.event
    if name is None and own is None:
        raise Invalid(
            f"{side.what}_time is missing, and the {side.what} side has no event time",
            hint=f'{side.what}_time="ts"',
        )
    wanted = own.time.name if name is None and own else name
    return column_of(side, columns, wanted, f"{side.what}_time")


def _named(
    left: Sequence[Column], brought: Sequence[Column], suffix: str
) -> tuple[tuple[Column, str], ...]:
    taken = {fold(column.name) for column in left}
    found = []
    for column in brought:
        name = column.name if fold(column.name) not in taken else f"{column.name}{suffix}"
        if fold(name) in taken:
            raise Invalid(
                f"two columns of the result would be called {name!r}",
                hint="rename one, or give another suffix",
            )
        taken.add(fold(name))
        found.append((column, name))
    return tuple(found)


def _enter_lives(job: Job, side: Side, own: Column) -> tuple[str, tuple[Column, ...]]:
    """All that the right side ever knew as a relation; how a left row tells what it knew, in SQL,
    and the columns of the relation."""
    now = isinstance(side, Rows) and side.source.snapshot_id is None and side.scan.where is None
    if not isinstance(side, Rows) or not now:
        raise Invalid(
            f"known_at={own.name!r} is a column: the right side must be a table as it is now",
            hint="give the Table itself, not pinned and without a condition",
        )
    if side.source.as_of is not None:
        raise Invalid(
            f"known_at={own.name!r} is a column: the right side cannot be as of a moment",
            hint="give the Table itself; left_time says as of when",
        )
    kind = knowledge_type(own)
    session, name = side.session.committed, side.source.name
    with session.reading() as reader:
        span = changes.span_of(session, reader, name, None, side.session.last)
        oldest = span.base.snapshot_id if span.base else 0
        whole = span.facts.info.id not in dict(read.names(reader, oldest, "table"))
        plan = changes.plan_changes(reader, span, _wanted(side, span.facts.info.schema.columns))
        known = _dated([snapshots.by_id(reader, oldest), *span.known])
    holes = lives.Holes.among(known, whole=whole)
    changes.define(job, plan)
    if kind == "BIGINT":
        job.define(RIGHT, lives.versions_sql(plan, holes))
    else:
        job.define(lives.VERSIONS, lives.versions_sql(plan, holes))
        job.scan(lives.KNOWN_TIMES, lives.times_plan(plan, known, kind))
        job.define(RIGHT, lives.dated_sql(plan))
    return _knowledge(own, kind, holes), plan.columns


def _warn_if_early(job: Job, side: Side, own: Column) -> None:
    """Warn if no left row can know anything: all of them are from before the right table."""
    kind = knowledge_type(own)
    if kind == "BIGINT" or not isinstance(side, Rows):
        return
    first = _first_known(side)
    moment = first.time if kind == "TIMESTAMPTZ" else first.time.replace(tzinfo=None)
    last = f"max(CAST({quote(own.name)} AS {kind}))"
    ((early,),) = job.rows(f"SELECT {last} < {sql_literal(moment)} FROM {LEFT}")
    if early:
        warnings.warn(
            f"known_at={own.name!r}: every left row is from before {first.time.isoformat()}, when"
            f" the lake first knew of {side.source.name}, so none has a match; if the history is"
            " older than the lake, have a column say when each row was known (docs:"
            " point-in-time.md, History from before the lake)",
            TidelakeWarning,
            stacklevel=5,
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


def _knowledge(own: Column, kind: str, holes: lives.Holes) -> str:
    same = own.duckdb_type == kind
    moment = quote(own.name) if same else f"CAST({quote(own.name)} AS {kind})"
    lost = holes.swallow(moment, kind)
    if lost is None:
        return moment
    text = refusal(
        f"a left row's {own.name!r} is of a time of which the snapshots have been expired: what was"
        " known then cannot be told",
        "leave such rows out; a tag keeps its snapshot, and keep_last the last ones",
    )
    return f"CASE WHEN {lost} THEN error({text_literal(text)}) ELSE {moment} END"
