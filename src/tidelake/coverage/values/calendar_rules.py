"""What calendars are made of: rules for which buckets are expected.

A rule is a plain value: two that say the same are equal, and each can be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from operator import and_, or_, sub
from typing import Protocol

from tidelake.coverage.values.bitmaps import Buckets, Stretches, runs, within
from tidelake.coverage.values.clock import COUNT, Clock
from tidelake.coverage.values.exchange import trading_times
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model import instant

Span = tuple[int, int]
"""Positions of a clock: from one on, until before another."""

MOST_DAYS = 1000 * 366
"""What a calendar of sessions lists at once."""
OPERATIONS: Mapping[str, Callable[[Buckets, Buckets], Buckets]] = {
    "and": and_,
    "or": or_,
    "minus": sub,
}
_EPOCH = datetime(1970, 1, 1)
_EARLIEST = instant.of_date(date.min)
_LATEST = instant.of_date(date.max) + instant.DAY


class Rule(Protocol):
    """What is expected. A bucket is, if any part of it is."""

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        """The ids that are expected from one on and before another."""


@dataclass(frozen=True, slots=True)
class Always:
    """Every bucket."""

    def expected(self, series: Series, first: int, end: int) -> Buckets:  # noqa: ARG002
        found = Stretches()
        if first < end:
            found.add(first, end)
        return found.buckets


@dataclass(frozen=True, slots=True)
class Both:
    """Two rules, put together bucket by bucket by one of the OPERATIONS."""

    operation: str
    left: Rule
    right: Rule

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        one, other = (each.expected(series, first, end) for each in (self.left, self.right))
        return OPERATIONS[self.operation](one, other)


@dataclass(frozen=True, slots=True)
class BucketSet:
    """Buckets of a clock, or of whichever is asked about."""

    clock: Clock | None
    ids: Buckets

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        clock = self.clock
        if clock is None or clock == series.clock:
            return within(self.ids, first, end)
        _check_kind(series, counts=clock.kind == COUNT)
        spans = ((clock.start(a), clock.start(b)) for a, b in _numbers(clock, self.ids))
        return _touched(series.clock, spans, first, end)


@dataclass(frozen=True, slots=True)
class Spans:
    """Positions of integers or of time. Requires all of one kind."""

    spans: tuple[tuple[Span, bool], ...]

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        for counts in {counts for _, counts in self.spans}:
            _check_kind(series, counts=counts)
        return _touched(series.clock, (span for span, _ in self.spans), first, end)


@dataclass(frozen=True, slots=True)
class Exchange:
    """When an exchange is open, by its name in the library of exchanges."""

    name: str

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        _check_time(series)
        if first >= end:
            return Buckets()
        start, stop = _bounds(series.clock, first, end)
        return _touched(series.clock, trading_times(self.name, start, stop), first, end)


@dataclass(frozen=True, slots=True)
class Sessions:
    open: time
    close: time
    zone: tzinfo
    days: frozenset[int]
    holidays: frozenset[date]

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        _check_time(series)
        start, stop = _bounds(series.clock, first, end)
        return _touched(series.clock, self._between(start, stop), first, end)

    def _between(self, start: int, stop: int) -> Iterator[Span]:
        """The sessions that may be between two moments, and some around."""
        begin, last = (
            max(start, _EARLIEST) // instant.DAY - 2,
            min(stop, _LATEST) // instant.DAY + 2,
        )
        if last - begin > MOST_DAYS:
            raise Invalid(
                f"sessions on {last - begin:,} days are too many to be listed",
                hint="give a start and an end that are less than 1,000 years apart",
            )
        for number in range(begin, last):
            day = _day(number)
            if day is not None and day.weekday() in self.days and day not in self.holidays:
                yield self._session(day, number)

    def _session(self, day: date, number: int) -> Span:
        opened, _ = moments(self.zone, day, self.open)
        over = self.close <= self.open
        evening = _day(number + 1) if over else day
        if evening is None:
            return opened, _LATEST
        return opened, moments(self.zone, evening, self.close)[1]


def moments(zone: tzinfo, day: date, at: time) -> tuple[int, int]:
    """When it is that time on a day, in nanoseconds since 1970: the first time and the last, which
    differ if clocks are turned back. A time that they skip is at the moment of the change."""
    local = datetime.combine(day, at)
    position = instant.of_date(local)
    early, late = (_offset(zone, local.replace(fold=fold)) for fold in (0, 1))
    if early < late:
        change = _change(zone, position - late, position - early)
        return change, change
    return position - early, position - late


def _offset(zone: tzinfo, local: datetime) -> int:
    found = zone.utcoffset(local)
    assert found is not None
    return found // timedelta(microseconds=1) * 1000


def _change(zone: tzinfo, before: int, after: int) -> int:
    """The second after one moment, and up to another, at which clocks are put forward."""
    old = _offset_at(zone, before)
    low, high = before // instant.SECOND, -(-after // instant.SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_at(zone, middle * instant.SECOND) == old:
            low = middle
        else:
            high = middle
    return high * instant.SECOND


def _offset_at(zone: tzinfo, moment: int) -> timedelta | None:
    utc = _EPOCH + timedelta(microseconds=moment // 1000)
    return utc.replace(tzinfo=UTC).astimezone(zone).utcoffset()


def _bounds(clock: Clock, first: int, end: int) -> Span:
    """Where the one bucket begins, and the other."""
    return clock.start(clock.number_of(first)), clock.start(clock.number_of(end))


def _touched(clock: Clock, spans: Iterable[Span], first: int, end: int) -> Buckets:
    """The buckets from one id on and before another in which any part of a span is."""
    start, stop = _bounds(clock, first, end)
    if clock.kind != COUNT:
        start, stop = max(start, _EARLIEST), min(stop, _LATEST)
    found = Stretches()
    for begin, until in spans:
        begin, until = max(begin, start), min(until, stop)
        if begin < until:
            found.add(clock.id(clock.number(begin)), clock.id(clock.number(until - 1)) + 1)
    return found.buckets


def _numbers(clock: Clock, ids: Buckets) -> Iterator[Span]:
    for first, end in runs(ids):
        yield clock.number_of(first), clock.number_of(end)


def _check_time(series: Series) -> None:
    if series.clock.kind == COUNT:
        raise Invalid(
            f"sessions are times of day, and {series.time.name!r} is an {series.time.type}",
            hint="use Calendar.of([(start, end), …]) with values of the column",
        )


def _check_kind(series: Series, *, counts: bool) -> None:
    if counts is not (series.clock.kind == COUNT):
        spoken = "integers" if counts else "time"
        raise Invalid(
            f"the calendar is one of {spoken}, and {series.time.name!r} is a {series.time.type}",
            hint="give values of that column",
        )


def _day(number: int) -> date | None:
    try:
        return date(1970, 1, 1) + timedelta(days=number)
    except OverflowError:
        return None
