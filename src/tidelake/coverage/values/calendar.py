"""Calendars: which buckets are expected to be covered.

Times of day in a zone, and the moments that they are on a day.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from operator import and_, or_, sub
from typing import Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from tidelake.coverage.values.bitmaps import Buckets, Stretches, runs, within
from tidelake.coverage.values.clock import COUNT, Clock
from tidelake.coverage.values.interval import Interval, whole
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.event_time import as_moment

_EPOCH = datetime(1970, 1, 1)
_ZONE = 'give a name such as "Europe/London" or "UTC"; where none is known: pip install tzdata'


def zone_of(given: object) -> tzinfo:
    """The zone with that name; Invalid if this machine does not know it."""
    if isinstance(given, ZoneInfo | timezone):
        return given
    if given == "UTC":
        return UTC
    try:
        return ZoneInfo(str(given))
    except (LookupError, ValueError, OSError):
        raise Invalid(f"tz={given!r} is no time zone that is known here", hint=_ZONE) from None


def time_of(given: object, what: str) -> time:
    """A time of day, as such or as text."""
    try:
        found = time.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        found = None
    if not isinstance(found, time) or found.tzinfo is not None:
        raise Invalid(f"{what}={given!r} is no time of day", hint='give it as "09:30"')
    return found


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


Span = tuple[int, int]
"""Positions of a clock: from one on, until before another."""

MOST_DAYS = 1000 * 366
"""What a calendar of sessions lists at once."""
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_EARLIEST = instant.of_date(date.min)
_LATEST = instant.of_date(date.max) + instant.DAY
_DAYS_HINT = 'give it as "mon-fri", "mon,wed" or numbers from 0, which is Monday, to 6'
_OF_HINT = "give a coverage, intervals, pairs of start and end, or ids of buckets"


@runtime_checkable
class CalendarSource(Protocol):
    """What covers buckets of a clock, as a Coverage does."""

    def __calendar__(self) -> tuple[Clock, Buckets]: ...


class Calendar(ABC):
    """A rule for which buckets are expected. A bucket is, if any part of it is in a session.

    `&`, `|` and `-` put calendars together, bucket by bucket.
    """

    def __new__(cls, *_: Any, **__: Any) -> Calendar:
        if cls is Calendar:
            raise Invalid(
                "a calendar needs a rule",
                hint="Calendar.weekdays(…), Calendar.sessions(…) or Calendar.of(…) make one",
            )
        return super().__new__(cls)

    @staticmethod
    def weekdays(holidays: Iterable[date | str] = (), tz: str | tzinfo = "UTC") -> Calendar:
        """Monday to Friday, from midnight to midnight in a time zone, without holidays."""
        return Calendar.sessions("00:00", "00:00", tz=tz, holidays=holidays)

    @staticmethod
    def sessions(
        open: str | time,  # noqa: A002
        close: str | time,
        *,
        tz: str | tzinfo = "UTC",
        days: int | str | Iterable[int | str] = "mon-fri",
        holidays: Iterable[date | str] = (),
    ) -> Calendar:
        """From `open` until before `close`, local times of `tz`, on these days; if `close` is not
        after `open`, until the next day. Holidays are dates on which no session opens.

        A local time that comes twice opens at the first and closes at the second, and one that is
        skipped is the moment of the change.
        """
        return _Sessions(
            time_of(open, "open"),
            time_of(close, "close"),
            zone_of(tz),
            _days(days),
            _holidays(holidays),
        )

    @staticmethod
    def of(given: Any) -> Calendar:
        """What a coverage covers, by any of its entities; or intervals, pairs of start and end,
        or ids of buckets as they are in bitmaps."""
        if isinstance(given, Calendar):
            return given
        if isinstance(given, CalendarSource):
            return _Buckets(*given.__calendar__())
        if isinstance(given, Buckets):
            return _Buckets(None, given)
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise Invalid(f"{given!r} is no calendar", hint=_OF_HINT)
        listed = list(given)
        ids = [number for each in listed if (number := whole(each)) is not None]
        if ids and len(ids) == len(listed):
            return _Buckets(None, _ids(ids))
        return _Spans(tuple(_span(each) for each in listed))

    @abstractmethod
    def expected(self, series: Series, first: int, end: int) -> Buckets:
        """The ids that are expected from one on and before another."""

    def __and__(self, other: Calendar) -> Calendar:
        return self._with(other, and_)

    def __or__(self, other: Calendar) -> Calendar:
        return self._with(other, or_)

    def __sub__(self, other: Calendar) -> Calendar:
        return self._with(other, sub)

    def _with(self, other: Calendar, operation: Callable[[Buckets, Buckets], Buckets]) -> Calendar:
        if not isinstance(other, Calendar):
            return NotImplemented
        return _Both(self, other, operation)


@dataclass(frozen=True, slots=True)
class _Both(Calendar):
    left: Calendar
    right: Calendar
    operation: Callable[[Buckets, Buckets], Buckets]

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        one, other = (each.expected(series, first, end) for each in (self.left, self.right))
        return self.operation(one, other)


@dataclass(frozen=True, slots=True)
class _Buckets(Calendar):
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
class _Spans(Calendar):
    """Positions of integers or of time. Requires all of one kind."""

    spans: tuple[tuple[Span, bool], ...]

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        for counts in {counts for _, counts in self.spans}:
            _check_kind(series, counts=counts)
        return _touched(series.clock, (span for span, _ in self.spans), first, end)


@dataclass(frozen=True, slots=True)
class _Sessions(Calendar):
    open: time
    close: time
    zone: tzinfo
    days: frozenset[int]
    holidays: frozenset[date]

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        clock = series.clock
        if clock.kind == COUNT:
            raise Invalid(
                f"sessions are times of day, and {series.time.name!r} is an {series.time.type}",
                hint="use Calendar.of([(start, end), …]) with values of the column",
            )
        start, stop = (clock.start(clock.number_of(each)) for each in (first, end))
        return _touched(clock, self._between(start, stop), first, end)

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


def _touched(clock: Clock, spans: Iterable[Span], first: int, end: int) -> Buckets:
    """The buckets from one id on and before another in which any part of a span is."""
    start, stop = (clock.start(clock.number_of(each)) for each in (first, end))
    if clock.kind != COUNT:
        start, stop = max(start, _EARLIEST), min(stop, _LATEST)
    found = Stretches()
    for begin, until in spans:
        begin, until = max(begin, start), min(until, stop)
        if begin < until:
            found.add(clock.id(clock.number(begin)), clock.id(clock.number(until - 1)) + 1)
    return found.buckets


def _numbers(clock: Clock, ids: Buckets) -> Iterator[tuple[int, int]]:
    for first, end in runs(ids):
        yield clock.number_of(first), clock.number_of(end)


def _check_kind(series: Series, *, counts: bool) -> None:
    if counts is not (series.clock.kind == COUNT):
        spoken = "integers" if counts else "time"
        raise Invalid(
            f"the calendar is one of {spoken}, and {series.time.name!r} is a {series.time.type}",
            hint="give values of that column",
        )


def _span(given: Any) -> tuple[Span, bool]:
    """Positions, and whether they are of integers."""
    if isinstance(given, Interval):
        given = (given.start, given.end)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise Invalid(f"{given!r} is no interval", hint=_OF_HINT)
    start, end = (whole(each) for each in given)
    counts = start is not None and end is not None
    if start is None or end is None:
        start, end = as_moment(given[0], "start"), as_moment(given[1], "end")
    if start > end:
        raise Invalid(f"start={given[0]!r} is after end={given[1]!r}", hint="exchange them")
    return (start, end), counts


def _ids(listed: list[int]) -> Buckets:
    try:
        return Buckets(listed)
    except (OverflowError, TypeError):
        raise Invalid("ids of buckets are from 0 to 2**64 - 1", hint=_OF_HINT) from None


def _day(number: int) -> date | None:
    try:
        return date(1970, 1, 1) + timedelta(days=number)
    except OverflowError:
        return None


def _days(given: int | str | Iterable[int | str]) -> frozenset[int]:
    parts = given.split(",") if isinstance(given, str) else given
    listed = parts if isinstance(parts, Iterable) else [parts]
    found = frozenset(day for part in listed for day in _days_in(part))
    if not found:
        raise Invalid("days has no day", hint=_DAYS_HINT)
    return found


def _days_in(part: int | str) -> Iterator[int]:
    number = whole(part)
    if number is not None and 0 <= number <= 6:
        yield number
        return
    first, _, last = str(part).strip().lower().partition("-")
    begin = _weekday(first.strip(), part)
    end = _weekday(last.strip(), part) if last else begin
    for step in range((end - begin) % 7 + 1):
        yield (begin + step) % 7


def _weekday(name: str, given: object) -> int:
    for number, full in enumerate(_DAYS):
        if len(name) >= 3 and full.startswith(name):
            return number
    raise Invalid(f"days={given!r} is no day of the week", hint=_DAYS_HINT)


def _holidays(given: Iterable[date | str]) -> frozenset[date]:
    listed = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    return frozenset(_holiday(each) for each in listed)


def _holiday(given: date | str) -> date:
    """A date, or its midnight, as pandas has it."""
    try:
        found = date.fromisoformat(given) if isinstance(given, str) else given
        if isinstance(found, datetime) and found == datetime.combine(found, time()):
            found = found.date()
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, date) or isinstance(found, datetime):
        raise Invalid(f"{given!r} is no date of a holiday", hint='give it as "2024-12-25"')
    return found
