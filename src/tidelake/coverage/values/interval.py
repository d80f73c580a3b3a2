"""Stretches of a series: ranges that are asked about, gaps and runs as people see them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from itertools import repeat
from math import ceil, floor
from operator import index, sub
from typing import SupportsIndex

from tidelake.coverage.values.bitmaps import Bounds, Buckets, bounds
from tidelake.coverage.values.clock import COUNT, MONTHS, TIME, Clock
from tidelake.coverage.values.series import Entity, Moment, Series
from tidelake.drawing.amounts import quantity
from tidelake.errors import Invalid

Length = int | str | timedelta
"""A number of buckets, or a length of time, also as text: "15m"."""

_MICROSECOND = timedelta(microseconds=1)
_LENGTH = 'give a number of buckets, a timedelta or a text such as "15m"'


@dataclass(frozen=True, slots=True)
class Range:
    """Buckets by id, from `first` until before `end`."""

    first: int
    end: int

    @property
    def buckets(self) -> int:
        return self.end - self.first

    def shared(self, other: Range) -> Range | None:
        """What is in both; None if they have nothing in common though each has something."""
        first, end = max(self.first, other.first), min(self.end, other.end)
        if first < end:
            return Range(first, end)
        return None if self.buckets and other.buckets else Range(first, first)

    def hull(self, other: Range) -> Range:
        return Range(min(self.first, other.first), max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start` until before `end`, in values of the series' clock; so many `buckets` long.
    `entity` is whose it is, None if it is nobody's in particular."""

    start: Moment
    end: Moment
    buckets: int
    entity: Entity | None = None

    @property
    def length(self) -> timedelta | int:
        """How long it is; of an integer clock, how many values."""
        return self.end - self.start  # type: ignore[operator]

    def __str__(self) -> str:
        whose = f" of {', '.join(map(str, self.entity))}" if self.entity else ""
        many = quantity(self.buckets, "bucket")
        return f"{self.start} to {self.end}{whose}, {many}"


def interval(
    series: Series, first: int, end: int, entity: Entity | None, buckets: int | None = None
) -> Interval:
    """Buckets from one id on and before another; so many of them, if it is not all."""
    number_of = series.clock.number_of
    start, stop = series.moment(number_of(first)), series.moment(number_of(end))
    return Interval(start, stop, end - first if buckets is None else buckets, entity)


def intervals(series: Series, stretches: Bounds, entity: Entity | None) -> list[Interval]:
    """Many stretches of ids that follow each other as intervals, each as if it were alone."""
    firsts, ends = stretches
    made = list(map(object.__new__, repeat(Interval, len(firsts))))
    lengths = list(map(sub, ends, firsts))
    starts, stops = series.moments_of(firsts, ends, lengths)
    for put, values in (
        (_START, starts),
        (_END, stops),
        (_BUCKETS, lengths),
        (_ENTITY, repeat(entity)),
    ):
        deque(map(put, made, values), maxlen=0)
    return made


# What fills a slot of an interval that nobody has seen yet: three times as fast as one at a time.
_START, _END, _BUCKETS, _ENTITY = (
    getattr(Interval, name).__set__ for name in ("start", "end", "buckets", "entity")
)


def spaces(buckets: Buckets, first: int, end: int) -> Bounds:
    """What is not covered from one id on and before another. Requires buckets within these. It
    costs as much as there are runs, however long they are and the range is."""
    begins, stops = bounds(buckets)
    firsts, ends = [first, *stops], [*begins, end]
    if firsts[-1] >= ends[-1]:
        del firsts[-1], ends[-1]
    if firsts and firsts[0] >= ends[0]:
        del firsts[0], ends[0]
    return firsts, ends


def whole(value: object) -> int | None:
    """The value, if it is a whole number: Python's, or one of another library."""
    if type(value) is int:  # nearly always, and far cheaper than asking for a protocol
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    return index(value)


def at_least(clock: Clock, length: Length, what: str) -> int:
    """How many buckets are as long as that, or longer."""
    return ceil(_in_buckets(clock, length, what))


def at_most(clock: Clock, length: Length, what: str) -> int:
    """How many buckets fit into that."""
    found = floor(_in_buckets(clock, length, what))
    if found < 1:
        raise Invalid(
            f"{what}={length!r} is shorter than a bucket, which is {clock.given}",
            hint="a bucket cannot be divided: give more",
        )
    return found


def _in_buckets(clock: Clock, length: Length, what: str) -> Fraction:
    if (number := whole(length)) is not None:
        found = Fraction(number)
    elif isinstance(length, timedelta) and clock.kind == TIME:
        found = Fraction(length // _MICROSECOND * 1000, clock.width)
    elif isinstance(length, str):
        found = _of_text(clock, length, what)
    else:
        raise _unfit(clock, length, what)
    if found < 0:
        raise Invalid(f"{what}={length!r} is less than nothing", hint=_LENGTH)
    return found


def _of_text(clock: Clock, length: str, what: str) -> Fraction:
    try:
        given = Clock.of(length, "timestamp")
    except Invalid:
        raise Invalid(f"{what}={length!r} is no length", hint=_LENGTH) from None
    if given.kind != clock.kind:
        raise _unfit(clock, length, what)
    return Fraction(given.width, clock.width)


def _unfit(clock: Clock, length: object, what: str) -> Invalid:
    hints = {COUNT: "give a number of buckets", MONTHS: 'give a number of buckets, or "3mo"'}
    return Invalid(
        f"{what}={length!r} cannot be told in buckets of {clock.given}",
        hint=hints.get(clock.kind, _LENGTH),
    )
