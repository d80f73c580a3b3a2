"""What entities cover of a range, as sets: to be counted, looked at for gaps, put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_, or_, sub

from tidelake.coverage.values.bitmaps import (
    Bounds,
    Buckets,
    Stretches,
    bounds,
    count_runs,
    last_window,
    union,
    within,
)
from tidelake.coverage.values.interval import Range, spaces
from tidelake.coverage.values.kept_sets import KeptSet, KeptSets
from tidelake.coverage.values.series import Entity

Operation = Callable[[Buckets, Buckets], Buckets]
Expected = Buckets | None
"""What is expected of a range; None: all of it."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Requires buckets that are in the range and expected. Without a range there are none. Of all
    entities the same is `expected`, but of those that have something of their `own`."""

    buckets: Mapping[Entity, Buckets]
    range: Range | None
    expected: Expected = None
    own: Mapping[Entity, Expected] = field(default_factory=dict)

    @property
    def sets(self) -> Collection[Buckets | KeptSet]:
        """What entities cover, to be counted: it need not be looked into for that."""
        known = self.buckets
        return known.sets.values() if isinstance(known, KeptSets) else known.values()

    def expected_of(self, entity: Entity) -> Expected:
        return self.own.get(entity, self.expected)

    def count_expected(self, entity: Entity) -> int:
        """How many buckets are expected of an entity."""
        return self._many(self.expected_of(entity))

    @property
    def expected_of_each(self) -> int:
        """How many are expected of an entity that has nothing of its own."""
        return self._many(self.expected)

    @property
    def expected_in_all(self) -> int:
        """How many are expected of all entities, added up."""
        alike = self.expected_of_each * (len(self.buckets) - len(self.own))
        return alike + sum(map(self._many, self.own.values()))

    def _many(self, expected: Expected) -> int:
        if self.range is None:
            return 0
        return self.range.buckets if expected is None else len(expected)

    def ratio_of(self, entity: Entity) -> float:
        """How much of what is expected of an entity there is: all, where nothing is expected, and
        nothing, where there is no range."""
        many = self.count_expected(entity)
        if not many:
            return 0.0 if self.range is None else 1.0
        return len(self.buckets[entity]) / many

    def missing(self, entity: Entity) -> Iterator[tuple[int, int]]:
        """Stretches that are expected of an entity and not covered: the first id of each, and the
        one after its last."""
        return zip(*self.missing_bounds(entity), strict=True)

    def missing_bounds(self, entity: Entity) -> Bounds:
        """Where these begin, and where they have ended."""
        if self.range is None:
            return [], []
        expected = self.expected_of(entity)
        if expected is not None:
            return bounds(expected - self.buckets[entity])
        return spaces(self.buckets[entity], self.range.first, self.range.end)

    def count_missing(self, entity: Entity) -> int:
        """How many such stretches there are, without listing them."""
        if self.range is None or not self.range.buckets:
            return 0
        ids, expected = self.buckets[entity], self.expected_of(entity)
        if expected is not None:
            return count_runs(expected - ids)
        ends = (self.range.first in ids) + (self.range.end - 1 in ids)
        return count_runs(ids) + 1 - ends

    def last_window(self, count: int) -> tuple[int, int] | None:
        """The last place where all entities cover so many that follow each other."""
        together = self.all()
        return last_window(together.buckets[()], together.expected, count)

    def all(self) -> Extent:
        """What all entities cover at once, as if it were of one: of several that expect different
        things, what all cover that expect it, where one does."""
        if self.own:
            return self._all_that_expect()
        found = reduce(and_, self.buckets.values()) if self.buckets else Buckets()
        return replace(self, buckets={(): found})

    def _all_that_expect(self) -> Extent:
        pairs = [(self.expected_of(entity), ids) for entity, ids in self.buckets.items()]
        always = [ids for expected, ids in pairs if expected is None]
        lacking = union(expected - ids for expected, ids in pairs if expected is not None)
        together = self._expected_by_any()
        found = reduce(and_, always) if together is None else together
        return Extent({(): found - lacking}, self.range, together)

    def any(self) -> Extent:
        """What at least one entity covers; expected is what one of them expects."""
        found = union(self.buckets.values())
        return Extent({(): found}, self.range, self._expected_by_any())

    def _expected_by_any(self) -> Expected:
        if not self.own:
            return self.expected
        listed = [self.expected_of(entity) for entity in self.buckets]
        known = [each for each in listed if each is not None]
        return union(known) if len(known) == len(listed) else None

    def of(self, entity: Entity) -> Extent:
        return Extent({entity: self.buckets[entity]}, self.range, self.expected_of(entity))

    def under(self, expected: Expected, own: Mapping[Entity, Expected] | None = None) -> Extent:
        """The same, as far as it is expected: of some entities their `own`."""
        kept = {entity: each for entity, each in (own or {}).items() if entity in self.buckets}
        told = Extent(self.buckets, self.range, expected, kept)
        if expected is None and not any(each is not None for each in kept.values()):
            return told
        found = {
            entity: ids if (each := told.expected_of(entity)) is None else ids & each
            for entity, ids in self.buckets.items()
        }
        return replace(told, buckets=found)

    def __and__(self, other: Extent) -> Extent:
        chosen = self.range and other.range and self.range.shared(other.range)
        found = self._paired(other, and_)
        expected = _both(self.expected, other.expected, chosen)
        own = {
            entity: _both(self.expected_of(entity), other.expected_of(entity), chosen)
            for entity in self._special(other, found)
        }
        return Extent(found, chosen, expected, own)

    def __or__(self, other: Extent) -> Extent:
        found = self._paired(other, or_)
        if self.range is None or other.range is None:
            known = other if self.range is None else self
            return replace(known, buckets=found)
        chosen = self.range.hull(other.range)
        own = {
            entity: _either(self.of_nobody(entity), other.of_nobody(entity), chosen)
            for entity in self._special(other, found)
        }
        return Extent(found, chosen, _either(self, other, chosen), own)

    def __sub__(self, other: Extent) -> Extent:
        return replace(self, buckets=self._paired(other, sub))

    def of_nobody(self, entity: Entity) -> Extent:
        """What is expected of an entity, whatever it covers."""
        return Extent({}, self.range, self.expected_of(entity))

    def _special(self, other: Extent, found: Iterable[Entity]) -> list[Entity]:
        return [entity for entity in found if entity in self.own or entity in other.own]

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


def _both(a: Expected, b: Expected, chosen: Range | None) -> Expected:
    """What both expect; None if that is all."""
    known = [each for each in (a, b) if each is not None]
    if chosen is None or not known:
        return None
    return within(reduce(and_, known), chosen.first, chosen.end)
