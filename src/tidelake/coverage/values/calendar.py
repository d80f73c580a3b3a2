"""Calendars: which buckets are expected to be covered, as callers spell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timezone, tzinfo
from typing import Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.calendar_rules import (
    Always,
    Both,
    BucketSet,
    Exchange,
    Rule,
    Sessions,
    Span,
    Spans,
)
from tidelake.coverage.values.clock import Clock
from tidelake.coverage.values.exchange import exchange_name
from tidelake.coverage.values.interval import Interval, whole
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model.event_time import as_moment
from tidelake.model.forms import Bound
from tidelake.model.misfit import naming_misfits

_ZONE = 'give a name such as "Europe/London" or "UTC"; where none is known: pip install tzdata'
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_HINT = 'give it as "mon-fri", "mon,wed" or numbers from 0, which is Monday, to 6'
_OF_HINT = "give a coverage, intervals, pairs of start and end, or ids of buckets"


@runtime_checkable
class CalendarSource(Protocol):
    """What covers buckets of a clock, as a Coverage does."""

    def __calendar__(self) -> tuple[Clock, Buckets]: ...


@naming_misfits
class Calendar:
    """A rule for which buckets are expected: those of which any part is in a session.

    `&`, `|` and `-` put calendars together, bucket by bucket. Calendars that say the same are
    equal.
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Rule | None = None) -> None:
        if not hasattr(rule, "expected"):
            raise Invalid(
                "a calendar needs a rule",
                hint="Calendar.weekdays(…), .sessions(…), .exchange(…) or .of(…) make one",
            )
        self.rule: Rule = rule  # type: ignore[assignment]

    @staticmethod
    def always() -> Calendar:
        """Every bucket is expected: as if there were no calendar."""
        return Calendar(Always())

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
        return Calendar(
            Sessions(
                time_of(open, "open"),
                time_of(close, "close"),
                zone_of(tz),
                _days(days),
                _holidays(holidays),
            )
        )

    @staticmethod
    def exchange(name: str) -> Calendar:
        """When an exchange trades, by its code ("XNYS", "XLON") or another name that the library
        `exchange_calendars` has for it: with holidays, half days and breaks. Needs the extra
        `calendars`."""
        return Calendar(Exchange(exchange_name(name)))

    @staticmethod
    def of(
        given: Calendar | CalendarSource | Buckets | Iterable[int | Interval | Sequence[Bound]],
    ) -> Calendar:
        """What a coverage covers, by any of its entities; or intervals, pairs of start and end,
        or ids of buckets as they are in bitmaps."""
        if isinstance(given, Calendar):
            return given
        if isinstance(given, CalendarSource):
            return Calendar(BucketSet(*given.__calendar__()))
        if isinstance(given, Buckets):
            return Calendar(BucketSet(None, given))
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise Invalid(f"{given!r} is no calendar", hint=_OF_HINT)
        listed = list(given)
        ids = [number for each in listed if (number := whole(each)) is not None]
        if ids and len(ids) == len(listed):
            return Calendar(BucketSet(None, _ids(ids)))
        return Calendar(Spans(tuple(_span(each) for each in listed)))

    @property
    def is_always(self) -> bool:
        """Whether this is the calendar that expects every bucket."""
        return isinstance(self.rule, Always)

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        """The ids that are expected from one on and before another."""
        return self.rule.expected(series, first, end)

    def check_fits(self, series: Series) -> None:
        """Raise Invalid if it cannot say anything about such a clock."""
        zero = series.clock.id(series.clock.number(0))
        self.expected(series, zero, zero)

    def __and__(self, other: Calendar) -> Calendar:
        return self._with(other, "and")

    def __or__(self, other: Calendar) -> Calendar:
        return self._with(other, "or")

    def __sub__(self, other: Calendar) -> Calendar:
        return self._with(other, "minus")

    def _with(self, other: Calendar, operation: str) -> Calendar:
        if not isinstance(other, Calendar):
            return NotImplemented
        return Calendar(Both(operation, self.rule, other.rule))

    def __eq__(self, other: object) -> bool:
        return self.rule == other.rule if isinstance(other, Calendar) else NotImplemented

    def __repr__(self) -> str:
        return f"<Calendar {self.rule!r}>"


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
