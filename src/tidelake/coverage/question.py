"""Asking a table what it covers: of whom, of which range, as of when and as known when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tidelake.catalog.read import snapshots
from tidelake.coverage.answer import Coverage, Known
from tidelake.coverage.lookup import SeriesCoverage, find_coverage
from tidelake.coverage.values.bitmaps import Buckets, within
from tidelake.coverage.values.calendar import Calendar
from tidelake.coverage.values.calendars import Calendars
from tidelake.coverage.values.clock import COUNT, SIGN, Clock
from tidelake.coverage.values.extent import Expected, Extent
from tidelake.coverage.values.interval import Interval, Range
from tidelake.coverage.values.kept_sets import KeptSet, KeptSets
from tidelake.coverage.values.series import Entity, Series
from tidelake.errors import Invalid
from tidelake.model.event_time import as_moment, moment_text
from tidelake.model.names import TableName
from tidelake.session.session import Session


@dataclass(frozen=True, slots=True)
class Question:
    """`entity` is one as callers spell it, several, or None for all; `as_of` is the moment up to
    which the answer is to be complete. Without a `calendar` those of the table hold.

    Where one of these does, a range without an `end` goes to the last bucket that is over; with
    `until_now`, also where none does. `now` is when that is, if it is not the clock's time or, of
    a pinned table, that of its snapshot. `over`: the bucket that `end` lies in does not count."""

    entity: Any = None
    start: Any = None
    end: Any = None
    calendar: Calendar | None = None
    as_of: int | None = None
    now: int | None = None
    until_now: bool = False
    over: bool = False


_Set = Buckets | KeptSet


@dataclass(frozen=True, slots=True)
class _Sight:
    """What entities cover, of all time, what is expected of them, and the first bucket that a range
    without an end does not have, if time says so."""

    found: SeriesCoverage
    known: KeptSets[Entity]
    calendars: Calendars
    limit: int | None
    question: Question

    def range_of(self, known: Collection[_Set]) -> Range | None:
        return _range(self.found.series, known, self.question, self.limit)

    def expected(self, chosen: Range) -> tuple[Expected, dict[Entity, Expected]]:
        """Of all entities, and of those that have calendars of their own."""
        asked: dict[int, Expected] = {}

        def of(calendar: Calendar | None) -> Expected:
            if calendar is None or calendar.is_always:
                return None
            if id(calendar) not in asked:  # many entities share one
                found = calendar.expected(self.found.series, chosen.first, chosen.end)
                asked[id(calendar)] = found
            return asked[id(calendar)]

        special = {e: each for e, each in self.calendars.own.items() if e in self.known}
        return of(self.calendars.default), {e: of(each) for e, each in special.items()}


def coverage(
    session: Session, name: TableName, snapshot_id: int | None, question: Question
) -> Coverage:
    seen = _sight(session, name, snapshot_id, question)
    extent = _extent(seen)
    if extent.range is not None:
        extent = extent.under(*seen.expected(extent.range))
    return _answer(session, seen.found, extent)


def last_complete_window(
    session: Session, name: TableName, snapshot_id: int | None, question: Question, n: int
) -> Interval | None:
    """As of a coverage, but it ends at or before the end; and calendars are asked only about times
    when all cover something, or of entities with different ones, when any does."""
    seen = _sight(session, name, snapshot_id, replace(question, over=True))
    extent = _extent(seen)
    differ = any(entity in seen.known for entity in seen.calendars.own)
    shared = (extent.any() if differ else extent.all()).buckets[()]
    if shared:
        hull = Range(shared.min(), shared.max() + 1)
        inside = Extent(_inside(KeptSets.made(extent.buckets), hull), hull)
        extent = inside.under(*seen.expected(hull))
    return _answer(session, seen.found, extent).last_complete_window(n)


def watermarks(
    session: Session, name: TableName, snapshot_id: int | None, question: Question
) -> tuple[Series, dict[Entity, int | None]]:
    """Of every entity the first bucket that is expected of it and missing, or where its range has
    ended; None if there is nothing of it. Without a start, each begins with its own first."""
    seen = _sight(session, name, snapshot_id, question)
    ranges = {entity: seen.range_of([ids]) for entity, ids in seen.known.items()}
    there = [each for each in ranges.values() if each is not None]
    if not there:
        return seen.found.series, dict.fromkeys(ranges)
    hull = Range(min(each.first for each in there), max(each.end for each in there))
    expected, own = seen.expected(hull)
    return seen.found.series, {
        entity: None
        if chosen is None
        else _first_missing(seen.known[entity], chosen, own.get(entity, expected))
        for entity, chosen in ranges.items()
    }


def _first_missing(ids: Buckets, chosen: Range, expected: Expected) -> int:
    if expected is not None:
        expected = within(expected, chosen.first, chosen.end)
    extent = Extent({(): within(ids, chosen.first, chosen.end)}, chosen).under(expected)
    first, _ = next(extent.missing(()), (chosen.end, None))
    return first


def _sight(
    session: Session, name: TableName, snapshot_id: int | None, question: Question
) -> _Sight:
    if question.calendar is not None and not isinstance(question.calendar, Calendar):
        raise Invalid(
            f"calendar={question.calendar!r} is no calendar",
            hint="tidelake.Calendar.weekdays(), .sessions(…) or .of(…)",
        )
    wanted = several(question.entity)
    session.note_rows(name, snapshot_id)
    found = find_coverage(session, name, snapshot_id, wanted)
    known = _by_entity(found, wanted)
    if question.calendar is not None:
        calendars, kept = Calendars(question.calendar), False
    else:
        calendars = Calendars.of_tags(found.table.tags, found.series)
        kept = any(calendars.of(entity) is not None for entity in known)
    limit = None
    if (kept or question.until_now) and found.series.clock.kind != COUNT:
        clock = found.series.clock
        limit = clock.id(clock.number(_now(session, snapshot_id, found.at, question)))
    return _Sight(found, known, calendars, limit, question)


def _now(session: Session, snapshot_id: int | None, at: int, question: Question) -> int:
    if question.now is not None:
        return question.now
    if snapshot_id is None and session.pinned is None:
        return as_moment(datetime.now(UTC))
    with session.reading() as reader:
        return as_moment(snapshots.by_id(reader, at).time)


def _extent(seen: _Sight) -> Extent:
    """What is covered in the range that is asked about."""
    chosen = seen.range_of(seen.known.sets.values())
    if chosen is None:
        return Extent({entity: Buckets() for entity in seen.known}, None)
    return Extent(_inside(seen.known, chosen), chosen)


def _answer(session: Session, found: SeriesCoverage, extent: Extent) -> Coverage:
    return Coverage(
        found.series,
        extent,
        table=str(found.table.name),
        then=lambda known_at: _past(session.committed, found, extent, known_at),
    )


def _past(session: Session, found: SeriesCoverage, now: Extent, known_at: Known) -> Coverage:
    """What the same entities covered at another snapshot, as the series counts now."""
    then: Mapping[Entity, Buckets] = {}
    with session.reading() as reader:
        at = session.resolve(reader, known_at).snapshot_id
        named = dict(session.view.names(reader, at, "table")).get(found.table.id)
    if named is not None and now.range is not None:
        past = find_coverage(session, named, at, list(now.buckets), seen_as=found.table)
        then = _inside(_by_entity(past, list(now.buckets)), now.range)
    extent = replace(now, buckets={entity: then.get(entity, Buckets()) for entity in now.buckets})
    if now.expected is not None or now.own:
        extent = extent.under(now.expected, now.own)
    return _answer(session, found, extent)


def several(entity: object) -> list[Any] | None:
    """Entities as callers spell them: a tuple or a dict is one, any other collection is several."""
    if entity is None:
        return None
    one = isinstance(entity, str | bytes | tuple | Mapping) or not isinstance(entity, Iterable)
    return [entity] if one else list(entity)  # type: ignore[call-overload]


def _by_entity(found: SeriesCoverage, wanted: Collection[object] | None) -> KeptSets[Entity]:
    """Those that are wanted, in that order, else all in their own."""
    series = found.series
    known = {series.entity_of(text): each for text, each in found.buckets.sets.items()}
    if wanted is not None:
        listed = [series.given(each) for each in wanted]
        return KeptSets({entity: known.get(entity) or KeptSet([]) for entity in listed})
    if not series.entity:
        return KeptSets(known or {(): KeptSet([])})
    return KeptSets(dict(sorted(known.items(), key=lambda item: series.rank(item[0]))))


def _inside(known: KeptSets[Entity], chosen: Range) -> KeptSets[Entity]:
    return known.changed(
        lambda ids: not ids or (chosen.first <= ids.min() and ids.max() < chosen.end),
        lambda ids: within(ids, chosen.first, chosen.end),
    )


def _range(
    series: Series,
    known: Collection[_Set],
    question: Question,
    limit: int | None = None,
) -> Range | None:
    """The buckets that a range touches; what is not given of it is as far as there are any, or as
    time has come."""
    clock = series.clock
    begin, stop = _position(series, question.start, "start"), _position(series, question.end, "end")
    if begin is not None and stop is not None and begin > stop:
        raise Invalid(
            f"start={question.start!r} is after end={question.end!r}", hint="exchange them"
        )
    first = None if begin is None else clock.id(clock.number(begin))
    rounded = clock.number if question.over else clock.ceiling
    end = None if stop is None else clock.id(rounded(stop))
    if begin is not None and begin == stop:
        end = first
    if question.as_of is not None:
        end = _until(clock, question, first, end)
    if limit is not None and stop is None:
        end = limit if end is None else min(end, limit)
        end = end if first is None else max(first, end)
    return _filled(known, first, end)


def _filled(known: Collection[_Set], first: int | None, end: int | None) -> Range | None:
    there = [ids for ids in known if ids]
    if end is not None and first is None:
        there = [ids for ids in there if ids.min() < end]
    if first is not None and end is None:
        there = [ids for ids in there if ids.max() >= first]
    if first is None and there:
        first = min(ids.min() for ids in there)
    if end is None and there:
        end = max(ids.max() for ids in there) + 1
    return None if first is None or end is None else Range(first, end)


def _position(series: Series, value: object, what: str) -> int | None:
    if value is None:
        return None
    found = series.position(value, what)
    least = -SIGN if series.clock.signed else 0
    if series.clock.kind == COUNT and not least <= found <= least + 2 * SIGN:
        raise Invalid(
            f"{what}={value!r} is beyond what {series.time.name!r} can hold",
            hint=f"the column is {series.time.duckdb_type}",
        )
    return found


def _until(clock: Clock, question: Question, first: int | None, end: int | None) -> int:
    """Until after the bucket that the moment lies in, as of which is asked."""
    assert question.as_of is not None
    last = clock.id(clock.number(question.as_of)) + 1
    if first is not None and first >= last:
        raise Invalid(
            f"start={question.start!r} is after {moment_text(question.as_of)},"
            " as of which is asked",
            hint="ask as of a later moment",
        )
    return last if end is None else min(end, last)
