"""How complete a right side is up to each left row's time: of the buckets of its entity that are
expected, from the first that is covered to the one that the time lies in, the share that is
covered.

Stretches of buckets are one more right side. Of the last one that begins before a left row it is
known how many buckets are expected before it, how many of them are covered, and for how long both
go on; the rest is arithmetic, done by DuckDB whichever the engine. Where no calendar is kept, all
buckets are expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import Any, TypeAlias

from tidelake.catalog.read import snapshots
from tidelake.coverage.lookup import SeriesCoverage, find_coverage
from tidelake.coverage.values.bitmaps import Buckets, runs
from tidelake.coverage.values.calendars import Calendars
from tidelake.coverage.values.clock import MONTHS
from tidelake.coverage.values.series import Series
from tidelake.engine import Job
from tidelake.engine.arrow_rows import ArrowRows
from tidelake.errors import Invalid, Unsupported
from tidelake.event_time.row_versions import BEGAN, SINCE, UNTIL
from tidelake.history.changes import span_of
from tidelake.join.plan import LEFT, JoinPass, JoinPlan
from tidelake.join.question import TimeComparison, clock_of, key_pair, knowledge_type
from tidelake.join.sides import Rows, Side
from tidelake.model import instant
from tidelake.model.changes_made import touched_tables
from tidelake.model.event_time import Knowledge
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.table import TableInfo
from tidelake.session.session import Session
from tidelake.session.source import Source

_BEGIN, _BEFORE, _PLACE, _LENGTH, _ROOM = (
    f"_tidelake_run_{name}" for name in ("begin", "before", "place", "length", "room")
)
_EVER = 1 << 62
_FARTHEST = 1 << 24
"""So many buckets after the last that is covered a calendar is asked about, and no more."""
_MEASURED = "_tidelake_measured"
_MOST_COMMITS = 500
"""So many commits of a table are looked at to tell what it covered at each."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the result that tells how complete a right side is. `plan` finds the stretches;
    there is none if nothing is kept of what the side covers."""

    name: str
    series: Series | None = None
    plan: JoinPlan | None = None

    def sql(self) -> str:
        """Over rows with what the plan found."""
        if self.series is None or self.plan is None:
            return "CAST(NULL AS DOUBLE)"
        begin, before, place, length, room = (
            quote(f"{name}_{self.plan.number}")
            for name in (_BEGIN, _BEFORE, _PLACE, _LENGTH, _ROOM)
        )
        steps = _steps(self.series, self.plan.clock, f"{_BEGIN}_{self.plan.number}")
        covered = f"({before} + least({steps} + 1, {length}))"
        expected = f"({place} + least({steps} + 1, {room}))"
        return (
            f"CASE WHEN {begin} IS NULL THEN 0.0 WHEN {expected} = 0 THEN 1.0"
            f" ELSE CAST({covered} AS DOUBLE) / CAST({expected} AS DOUBLE) END"
        )


def enter_measures(job: Job, steps: Sequence[JoinPass], measures: Sequence[Measure]) -> str:
    """The result over what all passes found, as SQL: its columns in their order, and the measures,
    which are computed row by row."""
    told = {measure.name: measure.sql() for measure in measures}
    runs = {measure.plan.number for measure in measures if measure.plan is not None}
    plans = sorted((p for step in steps for p in step.plans), key=lambda plan: plan.number)
    names = [column.name for column in steps[0].left]
    for plan in plans:
        if plan.number not in runs:
            names += [column.name for column in plan.result]
            names += [plan.completeness] if plan.completeness else []
    listed = [*names, *([ROW_NUMBER] if steps[0].ordered else [])]
    chosen = ", ".join(f"{told.get(name, quote(name))} AS {quote(name)}" for name in listed)
    job.define(_MEASURED, f"SELECT {chosen} FROM {LEFT}_{len(steps)}")
    order = f" ORDER BY {ROW_NUMBER}" if steps[0].ordered else ""
    return f"SELECT {', '.join(map(quote, names))} FROM {_MEASURED}{order}"


def _steps(series: Series, clock: TimeComparison, begin: str) -> str:
    """How many buckets lie between the one that begins a stretch and that of a left row."""
    later = clock.reading(clock.times.left)
    earlier = clock.reading(replace(clock.times.right, name=begin))
    width = series.clock.width
    if series.clock.kind == MONTHS:
        months = (f"CAST({time} AS TIMESTAMP)" for time in (earlier, later))
        return f"(date_diff('month', {', '.join(months)}) // {width})"
    if clock.kind == "date":
        return f"(CAST(date_diff('day', {earlier}, {later}) AS HUGEINT) * {instant.DAY} // {width})"
    if clock.kind == "number":
        return f"((CAST({later} AS HUGEINT) - CAST({earlier} AS HUGEINT)) // {width})"
    micros = f"(CAST(epoch_us({later}) AS HUGEINT) - epoch_us({earlier}))"
    return f"({micros} * 1000 // {width})"


def series_of(side: Side) -> Series | None:
    """The series that a right side is, if what it covers is kept."""
    if not isinstance(side, Rows):
        return None
    with side.session.reading() as reader:
        return Series.maybe(side.source.info(reader, side.source.at(reader)))


def runs_plan(plan: JoinPlan, series: Series, number: int) -> JoinPlan:
    """How the stretches of a series are found for the left rows of a join with its table."""
    lefts = {pair.right.name: pair.left for pair in plan.keys}
    lacking = [column.name for column in series.entity if column.name not in lefts]
    if lacking or not series.entity:
        told = f"by {lacking[0]!r}, which the join is not" if lacking else "of no entity"
        raise Invalid(
            f"completeness: the coverage is kept {told}",
            hint="declare it by columns of the key: t.set_coverage(…, entity=[…])",
        )
    columns = _columns(series)
    keys = [key_pair(lefts[c.name], columns[place]) for place, c in enumerate(series.entity)]
    stretch = columns[len(series.entity) :]
    clock = clock_of(plan.clock.times.left, stretch[0])
    brought = tuple((column, f"{column.name}_{number}") for column in stretch)
    return JoinPlan(
        brought=brought,
        keys=tuple(sorted(keys, key=lambda pair: pair.left.name)),
        clock=clock,
        known=plan.known,
        untied=True,
        number=number,
    )


def _columns(series: Series) -> list[Column]:
    """The columns of stretches: entity, begin, how many are covered and expected before, and from
    there on."""
    kind = series.time.type
    if kind.startswith("timestamp") and kind != "timestamptz":
        kind = "timestamp"
    own = [
        Column(0, f"_tidelake_entity_{place}", "varchar" if c.type == "uuid" else c.type)
        for place, c in enumerate(series.entity)
    ]
    numbers = (Column(0, name, "int64") for name in (_BEFORE, _PLACE, _LENGTH, _ROOM))
    return [*own, Column(0, _BEGIN, kind), *numbers]


Horizon: TypeAlias = Callable[[], object]
"""Gives the last time that is asked about, which is found out where a calendar is kept."""


def horizon_of(job: Job, plan: JoinPlan) -> Horizon:
    """The last time of the left side, found out once."""
    return cache(
        lambda: job.rows(f"SELECT max({quote(plan.clock.times.left.name)}) FROM {LEFT}_0")[0][0]
    )


def runs_now(source: Source, horizon: Horizon) -> ArrowRows:
    """The stretches of all entities as they are at the source's snapshot."""
    found = find_coverage(source.session, source.name, source.snapshot_id)
    every = _stretches(found, horizon).values()
    rows = [(*row, number) for number, row in enumerate(row for each in every for row in each)]
    types = {column.name: column.type for column in _columns(found.series)}
    return ArrowRows.of({**types, ROW_NUMBER: "int64"}, rows)


def _stretches(found: SeriesCoverage, horizon: Horizon) -> dict[str, list[tuple[Any, ...]]]:
    calendars = Calendars.of_tags(found.table.tags, found.series)
    return {
        text: list(_of_entity(found, text, ids, calendars, horizon))
        for text, ids in found.buckets.items()
        if ids
    }


def _of_entity(
    found: SeriesCoverage, text: str, ids: Buckets, calendars: Calendars, horizon: Horizon
) -> Iterator[tuple[Any, ...]]:
    series, known = found.series, found.series.entity_of(text)
    values = zip(series.entity, known, strict=True)
    entity = [str(value) if column.type == "uuid" else value for column, value in values]
    calendar = calendars.of(known)
    if calendar is None or calendar.is_always:
        steps = _steps_of(ids, [(ids.min(), ids.min() + _EVER)])
    else:
        expected = calendar.expected(series, ids.min(), _end(series, ids, horizon()))
        steps = _steps_of(ids & expected, runs(expected), ids.min())
    for first, *numbers in steps:
        yield (*entity, series.moment(series.clock.number_of(first)), *numbers)


def _steps_of(
    ids: Buckets, expected: Iterable[tuple[int, int]], start: int | None = None
) -> Iterator[tuple[int, int, int, int, int]]:
    """Where something begins: its bucket, how many are covered and expected before it, for how many
    buckets from there on they are covered, and for how many expected."""
    before = place = 0
    covered = iter(runs(ids))
    following = next(covered, None)
    for begin, end in expected:
        if start is not None and begin > start:
            yield start, 0, 0, 0, 0
        start = None
        if following is None or following[0] > begin:
            yield begin, before, place, 0, end - begin
        while following is not None and following[0] < end:
            first, stop = following
            yield first, before, place + first - begin, stop - first, end - first
            before += stop - first
            following = next(covered, None)
        place += end - begin
    if start is not None:
        yield start, 0, 0, 0, 0


def _end(series: Series, ids: Buckets, last: object) -> int:
    """Up to where a calendar is asked about: the last bucket of all."""
    clock, least = series.clock, int(ids.max()) + 1
    if last is None:
        return least
    end = max(least, clock.id(clock.number(series.position(last, "time"))) + 1)
    if end - least > _FARTHEST:
        raise Unsupported(
            f"completeness: the left side goes on until {last}, {end - least:,} buckets after the"
            " last that is covered",
            hint="join the rows that lie so far ahead by themselves, without completeness",
        )
    return end


def runs_then(source: Source, own: Column, horizon: Horizon) -> ArrowRows:
    """The stretches of all entities at every commit, with since and until when each was known."""
    kind, session = knowledge_type(own), source.session.committed
    info, commits = _commits(source, kind)
    lives = _Lives()
    for snapshot_id, moment in commits:
        lives.came(snapshot_id, moment, _stretches_at(session, info, snapshot_id, horizon))
    moments = {"BIGINT": "int64", "TIMESTAMP": "timestamp"}.get(kind, "timestamptz")
    types = {column.name: column.type for column in _columns(Series.of(info, commits[-1][0]))}
    types |= {SINCE: moments, UNTIL: moments, BEGAN: "int64", ROW_NUMBER: "int64"}
    return ArrowRows.of(types, [(*row, number) for number, row in enumerate(lives.all())])


@dataclass(frozen=True, slots=True)
class _Lives:
    """Stretches by entity: those that are known, since when, and those that have been."""

    there: dict[str, tuple[int, Any, list[tuple[Any, ...]]]] = field(default_factory=dict)
    gone: list[tuple[Any, ...]] = field(default_factory=list)

    def came(self, at: int, moment: Any, now: Mapping[str, list[tuple[Any, ...]]]) -> None:
        for text in [text for text, (_, _, was) in self.there.items() if now.get(text) != was]:
            began, since, was = self.there.pop(text)
            self.gone.extend((*row, since, moment, began) for row in was)
        for text in now.keys() - self.there.keys():
            self.there[text] = at, moment, now[text]

    def all(self) -> list[tuple[Any, ...]]:
        still = (
            (*row, since, None, began) for began, since, now in self.there.values() for row in now
        )
        return [*self.gone, *still]


def _commits(source: Source, kind: str) -> tuple[TableInfo, list[tuple[int, Any]]]:
    """The commits that changed a table's rows, each with the moment since when it was known."""
    session = source.session.committed
    with session.reading() as reader:
        span = span_of(session, reader, source.name, None, source.end())
        known = [snapshots.by_id(reader, span.after), *span.known]
    info = span.facts.info
    if kind != "BIGINT" and Knowledge.maybe(info) is not None:
        raise Unsupported(
            f"what {source.name} covered before the lake is not known",
            hint="leave completeness out, or have known_at name snapshots",
        )
    times = list(accumulate((each.time for each in known), max))
    if kind == "TIMESTAMP":
        times = [time.replace(tzinfo=None) for time in times]
    found = [
        (each.snapshot_id, each.snapshot_id if kind == "BIGINT" else time)
        for each, time in zip(known, times, strict=True)
        if each is known[0] or info.id in touched_tables(each.changes)
    ]
    if len(found) > _MOST_COMMITS:
        raise Unsupported(
            f"{source.name} has {len(found):,} commits, too many to tell what it covered at each",
            hint="leave completeness out, or give known_at one moment",
        )
    return info, found


def _stretches_at(
    session: Session, info: TableInfo, snapshot_id: int, horizon: Horizon
) -> dict[str, list[tuple[Any, ...]]]:
    with session.reading() as reader:
        name = dict(session.view.names(reader, snapshot_id, "table")).get(info.id)
    if name is None:
        return {}
    return _stretches(find_coverage(session, name, snapshot_id, seen_as=info), horizon)
