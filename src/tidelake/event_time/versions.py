"""What a table held, or answered, and from when to when the lake knew it so: ranges of system time.

Without event time these are the versions of its rows. Of a state as of a moment they are the
answers for that moment; of a range of event time they are rectangles, of times and times of
knowing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.engine import Engine, Job, Reading
from tidelake.errors import Invalid
from tidelake.event_time import history_sql as plan_of
from tidelake.event_time import row_versions
from tidelake.event_time.history import define_lives, define_told
from tidelake.event_time.history_sql import HistoryPlan, Outline
from tidelake.event_time.periods_sql import tests_within
from tidelake.event_time.plan_as_of import plan_unplaced
from tidelake.event_time.row_versions import Holes
from tidelake.event_time.state import check_placed
from tidelake.event_time.values.ranges import SystemRange, ValidRange
from tidelake.history.changes import Span, plan_changes, read_of_past, span_of
from tidelake.history.changes_sql import ChangePlan, free_names
from tidelake.model.event_time import EventTime
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER
from tidelake.model.snapshot import Snapshot
from tidelake.model.tag import parse_moment
from tidelake.plan.as_of import by_keys, together
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.readable import Read
from tidelake.session.session import Session
from tidelake.session.source import Source

_CHOSEN = "_tidelake_chosen"
_NEVER = (0, -1)
"""From a snapshot to one before it: nothing was held then."""


class Versions(LazyRows):
    """What a table held at some time of a range of system time: its columns, for a range of event
    time `valid_from` and `valid_to`, then `known_from` and `known_to`, between which the lake held
    it so; NULL is a bound that has not come yet. Of a table as of a moment these are its answers
    for that moment. What is uncommitted is not in it; rows of the oldest snapshot that is left
    count as known since that. Immutable; every `to_*` plans afresh."""

    def __init__(
        self, source: Source, known: SystemRange, within: ValidRange | None = None
    ) -> None:
        if within is not None and source.as_of is not None:
            raise Invalid(
                f"{source.name} is asked for a moment and for a range of event time",
                hint="leave out one of them",
            )
        self._until = source.end()
        self._source = source
        self._session = source.session.committed
        self._known = known
        self._within = within

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        job = engine.job(f"cannot read the versions of {self._source.name}")
        if self._within is None and self._source.as_of is None:
            return job.reading(self._rows_sql(job, ordered))
        with self._session.reading() as reader:
            plan, doubtful = self._answers(reader)
        check_placed(self._session, doubtful, plan.outline.event)
        define_told(job, plan, one_key=False)
        job.define(_CHOSEN, _chosen_sql(plan.outline, self._within))
        return job.reading(_answers_sql(plan.outline, self._within, ordered=ordered))

    def reads(self) -> Iterator[Read]:
        """The table, and every file that may tell of its past."""
        with self._session.reading() as reader:
            if self._within is None and self._source.as_of is None:
                span, _ = self._span(reader)
                plan = plan_changes(reader, span, span.facts.info.schema.columns)
            else:
                plan = self._answers(reader)[0].changes
        yield read_of_past(replace(self._source, session=self._session), plan)

    def _span(self, reader: Reader) -> tuple[Span, tuple[Snapshot, ...]]:
        """The whole life of the table, and the snapshots of it that are left."""
        span = span_of(self._session, reader, self._source.name, None, self._until)
        return span, (snapshots.by_id(reader, span.after), *span.known)

    def _rows_sql(self, job: Job, ordered: bool) -> str:
        with self._session.reading() as reader:
            span, left = self._span(reader)
            first, last = _seen(self._session, reader, self._known, left)
            plan = plan_changes(reader, span, span.facts.info.schema.columns)
        define_lives(job, plan, None)
        holes = Holes.among(left, whole=True)
        job.define(row_versions.VERSIONS, row_versions.lived_sql(plan, plan_of.LIVES, holes))
        times = row_versions.times_plan(plan, left, "TIMESTAMPTZ")
        job.scan(row_versions.KNOWN_TIMES, times)
        ids = (left[first].snapshot_id, left[last].snapshot_id) if first <= last else _NEVER
        return _named_sql(plan, ids, ordered=ordered)

    def _answers(self, reader: Reader) -> tuple[HistoryPlan, ScanPlan | None]:
        span, left = self._span(reader)
        info, moment = span.facts.info, self._source.as_of
        event = EventTime.of(info, span.until)
        where = None if moment is None else together([event.holds_at(moment)])
        changes = plan_changes(reader, span, info.schema.columns, where)
        outline = Outline(
            changes.columns,
            event,
            tuple((each.snapshot_id, each.time) for each in left),
            seen=_seen(self._session, reader, self._known, left),
            is_state=moment is not None,
        )
        plan = HistoryPlan(changes, None if where is None else where.sql, outline)
        return plan, plan_unplaced(reader, span.until, span.facts, event)

    def __repr__(self) -> str:
        return f"<Versions of {self._source.name}>"


def _seen(
    session: Session, reader: Reader, known: SystemRange, left: Sequence[Snapshot]
) -> tuple[int, int]:
    """The places, among the snapshots that are left, of the first and the last that was the newest
    one at some time of a range."""
    start, end = known.start, known.end
    if known.is_empty:
        return _NEVER
    first, last = 0, len(left) - 1
    if start is not None:
        first = max(0, _place(session, reader, start, left))
    if end is not None:
        last = _place(session, reader, end, left, before=not known.closed)
    return (first, last) if first <= last else _NEVER


def _place(
    session: Session,
    reader: Reader,
    moment: int | str | date,
    left: Sequence[Snapshot],
    *,
    before: bool = False,
) -> int:
    """The place of the last snapshot at a moment, or `before` it; -1 if there is none."""
    wanted = parse_moment(moment)
    if isinstance(wanted, datetime):
        instant = snapshots.as_instant(wanted)
        found = [
            n
            for n, each in enumerate(left)
            if each.time < instant or (each.time == instant and not before)
        ]
    else:
        at = session.resolve(reader, wanted).snapshot_id
        found = [n for n, s in enumerate(left) if s.snapshot_id <= at - before]
    return max(found, default=-1)


def _named_sql(plan: ChangePlan, ids: tuple[int, int], *, ordered: bool) -> str:
    """The versions of rows that were there at a snapshot of those from one to another."""
    first, last = ids
    since, until = row_versions.SINCE, row_versions.UNTIL
    listed = ", ".join(quote(column.name) for column in plan.columns)
    known_from, known_to = map(quote, free_names(("known_from", "known_to"), plan.columns))
    held = (
        f"SELECT * FROM {row_versions.VERSIONS} WHERE {since} <= {last}"
        f" AND ({until} IS NULL OR ({until} > {first} AND {until} > {since}))"
    )
    dated = row_versions.dated_sql(plan, plan.columns, relation=f"({held})")
    order = f" ORDER BY {since}, {ROW_NUMBER}" if ordered else ""
    return (
        f"SELECT {listed}, {since} AS {known_from}, {until} AS {known_to}"
        f" FROM ({dated}) AS _tidelake_dated{order}"
    )


def _answers_sql(outline: Outline, within: ValidRange | None, *, ordered: bool) -> str:
    """The answers, of a range of event time or without their times."""
    valid_from, _, known_from, known_to = outline.names
    own = [column.name for column in outline.columns]
    names = [*own, *((known_from, known_to) if within is None else outline.names)]
    times = [known_from, *(() if within is None else (valid_from,))]
    by = ", ".join([by_keys(outline.event.key), *map(quote, times)])
    order = f" ORDER BY {by}" if ordered else ""
    return f"SELECT {', '.join(map(quote, names))} FROM {_CHOSEN}{order}"


def _chosen_sql(outline: Outline, within: ValidRange | None) -> str:
    """The answers for some time of the range."""
    if within is None:
        return f"SELECT * FROM {plan_of.TOLD}"
    valid_from, valid_to, *_ = outline.names
    tests = tests_within(outline.event, (valid_from, valid_to), within)
    return f"SELECT * FROM {plan_of.TOLD} WHERE {' AND '.join(tests)}"
