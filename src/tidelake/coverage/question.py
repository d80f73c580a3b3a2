"""Asking a table what it covers: of whom, of which range, as of when and as known when.

What a table answers about its coverage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidelake.coverage.answer import Coverage, Known
from tidelake.coverage.frame import Intervals
from tidelake.coverage.lookup import SeriesCoverage, find_coverage
from tidelake.coverage.values.bitmaps import Buckets, within
from tidelake.coverage.values.calendar import Calendar
from tidelake.coverage.values.clock import COUNT, SIGN, Clock
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Interval, Length, Range
from tidelake.coverage.values.series import Entity, Moment, Series
from tidelake.errors import Invalid
from tidelake.model.event_time import moment_text
from tidelake.model.names import TableName
from tidelake.session.session import Session
from tidelake.session.source import Source


@dataclass(frozen=True, slots=True)
class Question:
    """`entity` is one as callers spell it, several, or None for all; `as_of` is the moment up to
    which the answer is to be complete."""

    entity: Any = None
    start: Any = None
    end: Any = None
    calendar: Calendar | None = None
    as_of: int | None = None


def coverage(
    session: Session, name: TableName, snapshot_id: int | None, question: Question
) -> Coverage:
    found, extent = _known(session, name, snapshot_id, question)
    if question.calendar is not None and extent.range is not None:
        extent = extent.under(_expected(question.calendar, found.series, extent.range))
    return _answer(session, found, extent)


def last_complete_window(
    session: Session, name: TableName, snapshot_id: int | None, question: Question, n: int
) -> Interval | None:
    """As of a coverage; but a calendar is asked only about times when all cover something."""
    found, extent = _known(session, name, snapshot_id, question)
    shared = extent.all().buckets[()]
    if question.calendar is not None and shared:
        hull = Range(shared.min(), shared.max() + 1)
        extent = replace(extent, range=hull).under(_expected(question.calendar, found.series, hull))
    return _answer(session, found, extent).last_complete_window(n)


def _known(
    session: Session, name: TableName, snapshot_id: int | None, question: Question
) -> tuple[SeriesCoverage, Extent]:
    """What is covered in the range that is asked about."""
    if question.calendar is not None and not isinstance(question.calendar, Calendar):
        raise Invalid(
            f"calendar={question.calendar!r} is no calendar",
            hint="tidelake.Calendar.weekdays(), .sessions(…) or .of(…)",
        )
    wanted = _several(question.entity)
    session.note_rows(name, snapshot_id)
    found = find_coverage(session, name, snapshot_id, wanted)
    known = _by_entity(found, wanted)
    chosen = _range(found.series, known.values(), question)
    if chosen is None:
        return found, Extent({entity: Buckets() for entity in known}, None)
    return found, Extent(_inside(known, chosen), chosen)


def _answer(session: Session, found: SeriesCoverage, extent: Extent) -> Coverage:
    return Coverage(
        found.series,
        extent,
        table=str(found.table.name),
        then=lambda known_at: _past(session.committed, found, extent, known_at),
    )


def _past(session: Session, found: SeriesCoverage, now: Extent, known_at: Known) -> Coverage:
    """What the same entities covered at another snapshot, as the series counts now."""
    then: dict[Entity, Buckets] = {}
    with session.reading() as reader:
        at = session.resolve(reader, known_at).snapshot_id
        named = dict(session.view.names(reader, at, "table")).get(found.table.id)
    if named is not None and now.range is not None:
        past = find_coverage(session, named, at, list(now.buckets), seen_as=found.table)
        then = _inside(_by_entity(past, list(now.buckets)), now.range)
    extent = replace(now, buckets={entity: then.get(entity, Buckets()) for entity in now.buckets})
    if now.expected is not None:
        extent = extent.under(now.expected)
    return _answer(session, found, extent)


def _several(entity: object) -> list[Any] | None:
    """Entities as callers spell them: a tuple or a dict is one, any other collection is several."""
    if entity is None:
        return None
    one = isinstance(entity, str | bytes | tuple | Mapping) or not isinstance(entity, Iterable)
    return [entity] if one else list(entity)  # type: ignore[call-overload]


def _by_entity(found: SeriesCoverage, wanted: Collection[object] | None) -> dict[Entity, Buckets]:
    """Those that are wanted, in that order, else all in their own."""
    series = found.series
    known = {series.entity_of(text): ids for text, ids in found.buckets.items()}
    if wanted is not None:
        listed = [series.given(each) for each in wanted]
        return {entity: known.get(entity, Buckets()) for entity in listed}
    if not series.entity:
        return known or {(): Buckets()}
    return dict(sorted(known.items(), key=lambda item: series.rank(item[0])))


def _inside(known: Mapping[Entity, Buckets], chosen: Range) -> dict[Entity, Buckets]:
    return {entity: within(ids, chosen.first, chosen.end) for entity, ids in known.items()}


def _expected(calendar: Calendar, series: Series, chosen: Range) -> Buckets:
    return calendar.expected(series, chosen.first, chosen.end)


def _range(series: Series, known: Collection[Buckets], question: Question) -> Range | None:
    """The buckets that a range touches; what is not given of it is as far as there are any."""
    clock = series.clock
    begin, stop = _position(series, question.start, "start"), _position(series, question.end, "end")
    if begin is not None and stop is not None and begin > stop:
        raise Invalid(
            f"start={question.start!r} is after end={question.end!r}", hint="exchange them"
        )
    first = None if begin is None else clock.id(clock.number(begin))
    end = None if stop is None else clock.id(clock.ceiling(stop))
    if begin is not None and begin == stop:
        end = first
    if question.as_of is not None:
        end = _until(clock, question, first, end)
    return _filled(known, first, end)


def _filled(known: Collection[Buckets], first: int | None, end: int | None) -> Range | None:
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


def _known_at(source: Source, moment: Known | None) -> Source:
    found = source if moment is None else source.known_at(moment)
    found.check_recorded("coverage")
    return found


class TableCoverage:
    """The part of a table that is asked about its coverage, at the moment that it is pinned to."""

    source: Source

    def coverage(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Coverage:
        """Which buckets of time from `start` until before `end` the series covers: of one entity,
        a list of them or all, as the lake knew it at `known_at`. Without bounds, from the first
        bucket to the last that there is. Of a table as of a moment, up to the bucket that this
        lies in. With a calendar, only buckets that it expects count."""
        source = _known_at(self.source, known_at)
        question = Question(entity, start, end, calendar, source.as_of)
        return coverage(source.session, source.name, source.snapshot_id, question)

    def gaps(
        self,
        min_length: Length | None = None,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Intervals:
        """What is not covered, entity by entity and in the order of time; only gaps of so many
        buckets, or so long (a timedelta, or "15m"), or longer."""
        found = self.coverage(entity, start, end, known_at, calendar)
        return found.gaps if min_length is None else found.gaps_of(min_length)

    def missing(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        calendar: Calendar | None = None,
        known_at: Known | None = None,
        batch: int = 100,
        max_length: Length | None = None,
    ) -> Iterator[list[tuple[Entity, Interval]]]:
        """The gaps as work to do, in lists of up to `batch`: entities, and what to fetch of each.
        Gaps that are longer than `max_length` (buckets, a timedelta, or "1d") come in several. A
        list of entities may name such that the table has never seen."""
        return self.coverage(entity, start, end, known_at, calendar).missing(batch, max_length)

    def first_covered(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """When the first bucket begins that is covered, by any of the entities."""
        return self.coverage(entity, start, end, known_at, calendar).first

    def last_covered(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """When the last bucket begins that is covered, by any of the entities."""
        return self.coverage(entity, start, end, known_at, calendar).last

    def last_complete_window(
        self,
        n: int,
        entity: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Interval | None:
        """The last n buckets before `end` that follow each other and are all covered: by the
        entity, or by all at once. With a calendar, they follow each other among those that it
        expects."""
        source = _known_at(self.source, known_at)
        question = Question(entity, None, end, calendar, source.as_of)
        return last_complete_window(source.session, source.name, source.snapshot_id, question, n)
