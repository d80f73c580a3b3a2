"""Coverage as it is asked for: how much of a range there is, where the gaps are, and whether the
answer is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.errors import Invalid
from tidelake.model.buckets import Buckets, within
from tidelake.model.interval import Interval, interval, intervals, spaces
from tidelake.model.names import TableName
from tidelake.model.series import Entity, Moment, Series
from tidelake.session.covered import covered

if TYPE_CHECKING:
    from tidelake.session.lake import Lake


@dataclass(frozen=True, slots=True)
class Range:
    """Buckets by id, from `first` until before `end`."""

    first: int
    end: int

    @property
    def buckets(self) -> int:
        return max(0, self.end - self.first)


class Coverage:
    """Which buckets of a range entities of a series cover. A covered bucket has at least one row.

    Numbers and gaps are of every entity by itself, added up: `each` tells them apart, `all` is
    what all entities cover at once, and `any` what at least one does.
    """

    def __init__(
        self,
        series: Series,
        entities: Mapping[Entity, Buckets],
        chosen: Range | None,
        *,
        merged: bool = False,
    ) -> None:
        self._series = series
        self._entities = dict(entities)
        self._range = chosen
        self._merged = merged

    @property
    def entities(self) -> list[Entity]:
        return list(self._entities)

    @property
    def start(self) -> Moment | None:
        return None if self._range is None else self._moment(self._range.first)

    @property
    def end(self) -> Moment | None:
        return None if self._range is None else self._moment(self._range.end)

    @property
    def covered(self) -> int:
        return sum(len(buckets) for buckets in self._entities.values())

    @property
    def expected(self) -> int:
        return self._range.buckets * len(self._entities) if self._range else 0

    @property
    def ratio(self) -> float:
        """Of the buckets that are expected, how many are covered. Of an empty range that is 1,
        where nothing is known at all 0."""
        if self.expected:
            return self.covered / self.expected
        return 1.0 if self._range is not None and not self._range.buckets else 0.0

    @property
    def is_complete(self) -> bool:
        return self.ratio == 1.0 and self.covered == self.expected

    @property
    def gaps(self) -> list[Interval]:
        return list(self._gaps())

    @property
    def longest_gap(self) -> Interval | None:
        return max(self._gaps(), key=lambda gap: gap.buckets, default=None)

    @property
    def runs(self) -> list[Interval]:
        found = []
        for entity, buckets in self._entities.items():
            found += intervals(self._series, buckets, self._shown(entity))
        return found

    @property
    def each(self) -> dict[Entity, Coverage]:
        return {
            entity: Coverage(self._series, {entity: buckets}, self._range)
            for entity, buckets in self._entities.items()
        }

    def _gaps(self) -> Iterator[Interval]:
        if self._range is None:
            return
        for entity, buckets in self._entities.items():
            for first, end in spaces(buckets, self._range.first, self._range.end):
                yield interval(self._series, first, end, self._shown(entity))

    def _shown(self, entity: Entity) -> Entity | None:
        return None if self._merged else entity

    def _moment(self, bucket: int) -> Moment:
        return self._series.moment(self._series.clock.number_of(bucket))


def coverage(
    lake: Lake,
    name: TableName,
    snapshot_id: int | None,
    *,
    entity: Any = None,
    start: Any = None,
    end: Any = None,
) -> Coverage:
    with lake._reading() as reader:
        at = lake._at(reader) if snapshot_id is None else snapshot_id
        series = Series.of(lake._table_info(reader, at, name), at)
    wanted = None if entity is None else [series.given(entity)]
    found = covered(lake, name, snapshot_id, wanted)
    known = {series.entity_of(text): ids for text, ids in sorted(found.buckets.items())}
    if wanted is not None:
        known = {each: known.get(each, Buckets()) for each in wanted}
    elif not series.entity:
        known = known or {(): Buckets()}
    chosen = _range(series, known, start, end)
    if chosen is not None:
        known = {e: within(ids, chosen.first, chosen.end) for e, ids in known.items()}
    return Coverage(series, known, chosen)


def _range(
    series: Series, known: Mapping[Entity, Buckets], start: object, end: object
) -> Range | None:
    """The buckets that a range touches; what is not given of it is as far as there are any."""
    clock = series.clock
    there = [ids for ids in known.values() if ids]
    first, last = None, None
    if start is not None:
        first = clock.id(clock.number(series.position(start, "start")))
    elif there:
        first = min(ids.min() for ids in there)
    if end is not None:
        last = clock.id(clock.number(series.position(end, "end") - 1)) + 1
    elif there:
        last = max(ids.max() for ids in there) + 1
    if start is not None and end is not None:
        if series.position(start, "start") > series.position(end, "end"):
            raise Invalid(f"start={start!r} is after end={end!r}", hint="exchange them")
        if series.position(start, "start") == series.position(end, "end"):
            last = first
    if first is None or last is None:
        return None
    return Range(first, max(first, last))
