"""Stretches of a series: gaps and runs, as people see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidelake.model.buckets import Buckets, runs
from tidelake.model.series import Entity, Moment, Series


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
        if isinstance(self.end, int):
            return self.end - self.start  # type: ignore[operator]
        return self.end - self.start  # type: ignore[operator]


def interval(series: Series, first: int, end: int, entity: Entity | None) -> Interval:
    """Buckets from one id on and before another."""
    clock = series.clock
    start, stop = (series.moment(clock.number_of(each)) for each in (first, end))
    return Interval(start, stop, end - first, entity)


def intervals(series: Series, buckets: Buckets, entity: Entity | None = None) -> list[Interval]:
    """The stretches that buckets make."""
    return [interval(series, first, end, entity) for first, end in runs(buckets)]


def spaces(buckets: Buckets, first: int, end: int) -> list[tuple[int, int]]:
    """What is not covered from one id on and before another. Requires buckets within these. It
    costs as much as there are runs, however long they are and the range is."""
    found = []
    for begin, stop in runs(buckets):
        if first < begin:
            found.append((first, begin))
        first = stop
    return [*found, (first, end)] if first < end else found
