"""What entities cover of a range, as sets: to be counted, looked at for gaps, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_, sub

from tidelake.coverage.values.bitmaps import (
    Buckets,
    Stretches,
    count_runs,
    last_window,
    runs,
    union,
    within,
)
from tidelake.coverage.values.interval import Range, spaces
from tidelake.coverage.values.series import Entity

Operation = Callable[[Buckets, Buckets], Buckets]


@dataclass(frozen=True, slots=True)
class Extent:
    """Requires buckets that are in the range and expected. Without a range there are none, and
    without `expected` all of the range are expected."""

    buckets: Mapping[Entity, Buckets]
    range: Range | None
    expected: Buckets | None = None

    @property
    def expected_of_each(self) -> int:
        if self.expected is not None:
            return len(self.expected)
        return 0 if self.range is None else self.range.buckets

    def ratio_of(self, entity: Entity) -> float:
        """How much of what is expected of an entity there is: all, where nothing is expected, and
        nothing, where there is no range."""
        if self.range is None or not self.expected_of_each:
            return 0.0 if self.range is None else 1.0
        return len(self.buckets[entity]) / self.expected_of_each

    def missing(self, entity: Entity) -> Iterator[tuple[int, int]]:
        """Stretches that are expected of an entity and not covered: the first id of each, and the
        one after its last."""
        if self.range is None:
            return iter(())
        if self.expected is not None:
            return iter(runs(self.expected - self.buckets[entity]))
        return spaces(self.buckets[entity], self.range.first, self.range.end)

    def count_missing(self, entity: Entity) -> int:
        """How many such stretches there are, without listing them."""
        if self.range is None or not self.range.buckets:
            return 0
        ids = self.buckets[entity]
        if self.expected is not None:
            return count_runs(self.expected - ids)
        ends = (self.range.first in ids) + (self.range.end - 1 in ids)
        return count_runs(ids) + 1 - ends

    def last_window(self, count: int) -> tuple[int, int] | None:
        """The last place where all entities cover so many that follow each other."""
        return last_window(self.all().buckets[()], self.expected, count)

    def all(self) -> Extent:
        """What all entities cover at once, as if it were of one."""
        found = reduce(and_, self.buckets.values()) if self.buckets else Buckets()
        return replace(self, buckets={(): found})

    def any(self) -> Extent:
        return replace(self, buckets={(): union(self.buckets.values())})

    def of(self, entity: Entity) -> Extent:
        return replace(self, buckets={entity: self.buckets[entity]})

    def under(self, expected: Buckets) -> Extent:
        """The same, as far as it is expected."""
        found = {entity: ids & expected for entity, ids in self.buckets.items()}
        return replace(self, buckets=found, expected=expected)

    def __and__(self, other: Extent) -> Extent:
        chosen = self.range and other.range and self.range.shared(other.range)
        known = [each.expected for each in (self, other) if each.expected is not None]
        expected = None
        if chosen is not None and known:
            expected = within(reduce(and_, known), chosen.first, chosen.end)
        return Extent(self._paired(other, and_), chosen, expected)

    def __or__(self, other: Extent) -> Extent:
        if self.range is None or other.range is None:
            known = other if self.range is None else self
            return replace(known, buckets=self._paired(other, or_))
        chosen = self.range.hull(other.range)
        return Extent(self._paired(other, or_), chosen, _either(self, other, chosen))

    def __sub__(self, other: Extent) -> Extent:
        return replace(self, buckets=self._paired(other, sub))

    def _paired(self, other: Extent, operation: Operation) -> dict[Entity, Buckets]:
        """Entity by entity. One that has no name is laid over all those of the other."""
        return {
            entity: operation(self._named(entity), other._named(entity))
            for entity in self._together(other, operation)
        }

    def _together(self, other: Extent, operation: Operation) -> Iterable[Entity]:
        if self.is_nameless:
            return other.buckets
        if other.is_nameless or operation is sub:
            return self.buckets
        return {**self.buckets, **other.buckets}

    def _named(self, entity: Entity) -> Buckets:
        found = self.buckets.get(() if self.is_nameless else entity)
        return Buckets() if found is None else found

    @property
    def is_nameless(self) -> bool:
        """Whether it is of one that stands for all: of a table without entities, or of several
        put together."""
        return list(self.buckets) == [()]


def _either(a: Extent, b: Extent, chosen: Range) -> Buckets | None:
    """What one of them expects; None if that is all."""
    if a.expected is None and b.expected is None:
        return None
    if any(each.expected is None and each.range == chosen for each in (a, b)):
        return None
    return _listed(a) | _listed(b)


def _listed(extent: Extent) -> Buckets:
    assert extent.range is not None
    if extent.expected is not None:
        return extent.expected
    found = Stretches()
    if extent.range.buckets:
        found.add(extent.range.first, extent.range.end)
    return found.buckets
