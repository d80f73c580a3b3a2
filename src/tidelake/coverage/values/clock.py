"""Buckets of time: equal stretches of a clock, numbered from 1970, or of integers, from zero.

Buckets of time are aligned to UTC; weeks begin on Monday, months on their first day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.span import Span, text_of
from tidelake.model.types import INTEGERS, TICKS, TIMESTAMPS

TIME, MONTHS, COUNT = "time", "months", "count"
SIGN = 1 << 63
"""Ids are numbers with this bit flipped, so that they keep their order without a sign."""

_UNITS = {
    instant.DAY: "days",
    instant.SECOND: "seconds",
    instant.SECOND // 1000: "milliseconds",
    instant.SECOND // 1_000_000: "microseconds",
}
"""What some types count in, which is longer than the shortest buckets."""
_NUMBER = re.compile(r"[1-9]\d{0,17}", re.ASCII)
_MONDAY = 4 * instant.DAY
_LONGEST = 3000 * 366 * instant.DAY
_HINT = 'for example "1m", "15 minutes", "1h", "1d" or "1mo", and for an integer clock a number'


@dataclass(frozen=True, slots=True)
class Clock:
    """`kind` says what `width` counts: nanoseconds, months, or values of an integer. `origin` is
    a position at which a bucket begins, `signed` whether positions may be less than zero, and
    `given` how the width was spelled."""

    kind: str
    width: int
    origin: int = 0
    signed: bool = True
    given: str = field(default="", compare=False)

    @staticmethod
    def of(width: str | int | timedelta, kind: str) -> Clock:
        """Buckets of a column of that type; Invalid if it cannot have such."""
        given = text_of(width) if isinstance(width, timedelta) else str(width).strip()
        if not isinstance(width, bool) and _NUMBER.fullmatch(given):
            return replace(_of_number(width, int(given), kind), given=given)
        span = None if isinstance(width, bool) else Span.maybe(width)
        if span is None or (span.months, span.nanoseconds) <= (0, 0):
            raise Invalid(f"bucket={width!r} is no width", hint=_HINT)
        return replace(_of_span(width, span, kind), given=given)

    def number(self, position: int) -> int:
        """The bucket that a position lies in."""
        if self.kind == MONTHS:
            return _month(position) // self.width
        return (position - self.origin) // self.width

    def ceiling(self, position: int) -> int:
        """The first bucket that does not begin before a position."""
        number = self.number(position)
        return number if self.start(number) == position else number + 1

    def start(self, number: int) -> int:
        """The position at which a bucket begins."""
        if self.kind == MONTHS:
            return _of_month(number * self.width)
        return number * self.width + self.origin

    def id(self, number: int) -> int:
        """What the bucket is called in bitmaps."""
        return number + SIGN if self.signed else number

    def number_of(self, bucket: int) -> int:
        return bucket - SIGN if self.signed else bucket

    @property
    def key(self) -> list[object]:
        """The same for all spellings of one width."""
        return [self.kind, self.width, self.origin, self.signed]


def _of_number(width: object, count: int, kind: str) -> Clock:
    if kind not in INTEGERS:
        raise Invalid(f"bucket={width!r} does not fit a {kind}", hint=_HINT)
    return Clock(COUNT, count, signed=not kind.startswith("u"))


def _of_span(width: object, span: Span, kind: str) -> Clock:
    if kind in INTEGERS:
        raise Invalid(
            f"bucket={width!r} is a length of time, but the clock is an {kind}",
            hint="give a number, such as bucket=1000",
        )
    if kind not in TIMESTAMPS | {"date"}:
        raise Invalid(f"bucket={width!r} does not fit a {kind}", hint=_HINT)
    if not span.months:
        return _of_time(width, span.nanoseconds, kind, weeks=span.in_weeks)
    if span.nanoseconds:
        raise Invalid(
            f"bucket={width!r} has months and days, so buckets would differ",
            hint="give months and years alone, or none of them",
        )
    return Clock(MONTHS, span.months)


def _of_time(given: object, width: int, kind: str, *, weeks: bool) -> Clock:
    if width > _LONGEST:
        raise Invalid(f"bucket={given!r} is longer than all of history", hint=_HINT)
    tick = TICKS[kind]
    if width % tick:
        what = _UNITS[tick]
        raise Invalid(
            f"bucket={given!r} divides {what}, and the clock is a {kind}",
            hint=f'for example "10 {what}"',
        )
    return Clock(TIME, width, _MONDAY if weeks else 0)


def _month(position: int) -> int:
    """By the days since March of the year 0: then a leap day is the last of its year, and a cycle
    of 400 years is as long as any other."""
    cycle, day = divmod(position // instant.DAY + _SINCE_MARCH, _CYCLE)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    since_march = (5 * (day - (365 * year + year // 4 - year // 100)) + 2) // 153
    return (cycle * 400 + year - 1970) * 12 + since_march + 2


def _of_month(month: int) -> int:
    year, rest = divmod(month, 12)
    day = instant.day_number(year + 1970, rest + 1, 1)
    assert day is not None
    return day * instant.DAY


_CYCLE = 146_097
_SINCE_MARCH = 719_468
