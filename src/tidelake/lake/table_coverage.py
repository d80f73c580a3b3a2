"""What a table answers about its coverage: the part of its face that does so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from tidelake.model.forms import Bound, Entities
from tidelake.session.source import Source

if TYPE_CHECKING:
    from tidelake.coverage.answer import Coverage, Known
    from tidelake.coverage.frame import Intervals
    from tidelake.coverage.values.calendar import Calendar
    from tidelake.coverage.values.calendars import Calendars
    from tidelake.coverage.values.interval import Interval, Length
    from tidelake.coverage.values.series import Entity, Moment, Series


def _known_at(source: Source, moment: Known | None) -> Source:
    found = source if moment is None else source.known_at(moment)
    found.check_recorded("coverage")
    return found


class TableCoverage:
    """The part of a table that is asked about its coverage, at the moment that it is pinned to."""

    source: Source

    def _check_required(self) -> None:
        """Raise Incomplete unless there is as much as the source itself requires."""
        if self.source.required is None:
            return
        from tidelake.coverage.requirement import check_required

        check_required(self.source)

    def coverage(
        self,
        entity: Entities = None,
        start: Bound | None = None,
        end: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Coverage:
        """Which buckets of time from `start` until before `end` the series covers: of one entity,
        a list of them or all, as the lake knew it at `known_at`. Only buckets that a calendar
        expects count: the one that is given, else those that the table keeps.

        Without `start`, from the first bucket that there is; without `end`, to the last, or where
        the table keeps a calendar to the last that is over by now (of a pinned table, by the time
        of its snapshot). Of a table as of a moment, up to the bucket that this lies in."""
        from tidelake.coverage.question import Question, coverage

        source = _known_at(self.source, known_at)
        question = Question(entity, start, end, calendar, source.as_of, source.now)
        return coverage(source.session, source.name, source.snapshot_id, question)

    def gaps(
        self,
        min_length: Length | None = None,
        entity: Entities = None,
        start: Bound | None = None,
        end: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Intervals:
        """The gaps, entity by entity and in the order of time. `min_length` leaves out shorter
        ones: a number of buckets, a timedelta, or a text such as "15m".
        """
        found = self.coverage(entity, start, end, known_at, calendar)
        return found.gaps if min_length is None else found.gaps_of(min_length)

    def missing(
        self,
        entity: Entities = None,
        start: Bound | None = None,
        end: Bound | None = None,
        calendar: Calendar | None = None,
        known_at: Known | None = None,
        batch: int = 100,
        max_length: Length | None = None,
    ) -> Iterator[list[tuple[Entity, Interval]]]:
        """The work list of a backfill, in batches of up to `batch` entities, with what to fetch for
        each. Gaps longer than `max_length` (buckets, a timedelta, or "1d") are cut into pieces.
        `entity` may name some that the table has never seen.
        """
        return self.coverage(entity, start, end, known_at, calendar).missing(batch, max_length)

    def first_covered(
        self,
        entity: Entities = None,
        start: Bound | None = None,
        end: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """The start of the first covered bucket, of any of the entities."""
        return self.coverage(entity, start, end, known_at, calendar).first

    def last_covered(
        self,
        entity: Entities = None,
        start: Bound | None = None,
        end: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """The start of the last covered bucket, of any of the entities."""
        return self.coverage(entity, start, end, known_at, calendar).last

    def last_complete_window(
        self,
        n: int,
        entity: Entities = None,
        end: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Interval | None:
        """The last n covered buckets in a row that end at or before `end`: of the entity, or of all
        at once. With a calendar, n in a row of those that it expects.
        """
        from tidelake.coverage.question import Question, last_complete_window

        source = _known_at(self.source, known_at)
        question = Question(entity, None, end, calendar, source.as_of, source.now)
        return last_complete_window(source.session, source.name, source.snapshot_id, question, n)

    def complete_through(
        self,
        entity: Entities = None,
        start: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """The watermark of an entity: every expected bucket before it is there. It is the start of
        the first missing bucket, else the end of the range. The range begins with `start`, else
        with the entity's first bucket. For several entities, or all, it is the earliest watermark;
        None if one of them has no rows.
        """
        series, found = self._watermarks(entity, start, known_at, calendar)
        listed = list(found.values())
        reached = [each for each in listed if each is not None]
        if not reached or len(reached) < len(listed):
            return None
        return series.moment(series.clock.number_of(min(reached)))

    def complete_through_each(
        self,
        entity: Entities = None,
        start: Bound | None = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> dict[Entity, Moment | None]:
        """`complete_through`, for each entity by itself."""
        series, found = self._watermarks(entity, start, known_at, calendar)
        return {
            entity: None if reached is None else series.moment(series.clock.number_of(reached))
            for entity, reached in found.items()
        }

    def _watermarks(
        self,
        entity: Entities,
        start: Bound | None,
        known_at: Known | None,
        calendar: Calendar | None,
    ) -> tuple[Series, dict[Entity, int | None]]:
        from tidelake.coverage.question import Question, watermarks

        source = _known_at(self.source, known_at)
        question = Question(entity, start, None, calendar, source.as_of, source.now)
        return watermarks(source.session, source.name, source.snapshot_id, question)

    @property
    def completeness(self) -> float | None:
        """Which share of the expected buckets is there, from 0 to 1: from the first bucket up to
        the moment of `as_of`, else up to now. None if no coverage is kept.
        """
        from tidelake.coverage.requirement import completeness

        return completeness(self.source)

    @property
    def calendars(self) -> Calendars:
        """The calendars that the table keeps: `default`, and by entity those of their `own`."""
        from tidelake.coverage.values.calendars import Calendars
        from tidelake.coverage.values.series import Series

        found = self.source.declared()
        series = Series.maybe(found)
        return Calendars() if series is None else Calendars.of_tags(found.tags, series)

    def wait_complete(
        self,
        until: Bound | None = None,
        timeout: float | str | timedelta | None = None,
        *,
        entity: Entities = None,
        start: Bound | None = None,
        require: float | bool = 1.0,
        poll: float | str | timedelta = 1.0,
    ) -> Coverage:
        """Wait until every bucket expected before `until` (None: by now) is there, or the share
        that `require` names. Returns the coverage. Raises Incomplete after `timeout`: seconds, a
        timedelta, or a text such as "10m"; None waits for ever. The catalog is asked for a new
        snapshot every `poll`.
        """
        from tidelake.coverage.question import Question
        from tidelake.coverage.wait import wait_complete

        question = Question(entity, start, until)
        return wait_complete(self.source, question, require, timeout, poll)
