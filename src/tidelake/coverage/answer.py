"""Coverage as it is asked for: how much of a range there is, where the gaps are, and whether the
answer is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from itertools import chain, islice
from operator import and_, or_, sub
from typing import TYPE_CHECKING, Any

from tidelake.coverage.frame import Drawable, Intervals, Tabular, summary
from tidelake.coverage.values.axis import span_of
from tidelake.coverage.values.bitmaps import Bounds, Buckets, bounds
from tidelake.coverage.values.clock import COUNT, Clock
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import (
    Interval,
    Length,
    at_least,
    at_most,
    interval,
    intervals,
    whole,
)
from tidelake.coverage.values.picture import MOST_ROWS, Picture, name_of, percent
from tidelake.coverage.values.series import Entity, Moment, Series
from tidelake.drawing.amounts import quantity
from tidelake.errors import Invalid
from tidelake.model.misfit import naming_misfits
from tidelake.model.reflexes import OF_COVERAGES, Guessable

if TYPE_CHECKING:
    import pyarrow as pa

Known = int | str | date
"""A snapshot id, a time or a tag."""
Gap = tuple[int, int, Entity]


@naming_misfits
class Coverage(Guessable, Tabular, Drawable):
    """Which buckets of a range entities of a series cover. A covered bucket has at least one row.

    Numbers and gaps are of every entity by itself, added up: `each` tells them apart, `all` is
    what all entities cover at once, and `any` what at least one does. With a calendar, only
    buckets that it expects count; entities may have different ones. `&`, `|` and `-` put
    coverages together, also of several tables.
    """

    _reflexes = ("coverage", OF_COVERAGES)

    def __init__(
        self,
        series: Series,
        extent: Extent,
        *,
        table: str = "",
        merged: bool = False,
        then: Callable[[Known], Coverage] | None = None,
    ) -> None:
        """`merged`: the only entity stands for several. `then` asks the same about another
        snapshot."""
        self.table = table
        self._series = series
        self._extent = extent
        self._merged = merged
        self._then = then

    @property
    def entities(self) -> list[Entity]:
        """The entities, as tuples of the values of the entity columns."""
        return list(self._extent.buckets)

    @property
    def bucket(self) -> str | int:
        """How wide a bucket is, as it was declared."""
        clock = self._series.clock
        return clock.width if clock.kind == COUNT else clock.given

    @property
    def start(self) -> Moment | None:
        """Where the range begins, at the start of a bucket; None if there is nothing at all."""
        found = self._extent.range
        return None if found is None else self._moment(found.first)

    @property
    def end(self) -> Moment | None:
        """The end of the range: the start of the bucket after it."""
        found = self._extent.range
        return None if found is None else self._moment(found.end)

    @property
    def first(self) -> Moment | None:
        """The start of the first covered bucket."""
        found = [ids.min() for ids in self._extent.sets if ids]
        return self._moment(min(found)) if found else None

    @property
    def last(self) -> Moment | None:
        """The start of the last covered bucket."""
        found = [ids.max() for ids in self._extent.sets if ids]
        return self._moment(max(found)) if found else None

    @property
    def covered(self) -> int:
        """How many buckets are covered, of all entities together."""
        return sum(map(len, self._extent.sets))

    @property
    def expected(self) -> int:
        """How many buckets are expected, of all entities together."""
        return self._extent.expected_in_all

    @property
    def ratio(self) -> float:
        """The share of the expected buckets that is covered. It is 1 if none is expected, and 0 if
        nothing is known.
        """
        if self.expected:
            return self.covered / self.expected
        extent = self._extent
        nothing = bool(extent.buckets) or not extent.expected_of_each
        return 1.0 if extent.range is not None and nothing else 0.0

    @property
    def is_complete(self) -> bool:
        """Whether every expected bucket is covered."""
        return self.ratio == 1.0 and self.covered == self.expected

    @property
    def gaps(self) -> Intervals:
        """The gaps: expected buckets that are not covered, entity by entity and in the order of
        time.
        """
        return self._intervals(self._extent.missing_bounds)

    @property
    def longest_gap(self) -> Interval | None:
        """The one with the most buckets; of several, the first."""
        longest = max(self._gaps(), key=lambda gap: gap[1] - gap[0], default=None)
        return None if longest is None else self._interval(*longest)

    @property
    def runs(self) -> Intervals:
        """Stretches that are covered without a break, entity by entity and in the order of time."""
        return self._intervals(lambda entity: bounds(self._extent.buckets[entity]))

    @property
    def each(self) -> dict[Entity, Coverage]:
        """The coverage of every entity by itself."""
        return {
            entity: self._with(self._extent.of(entity), partial(self._one_at, entity))
            for entity in self._extent.buckets
        }

    @property
    def all(self) -> Coverage:
        """The buckets that all entities cover at once. If entities have different calendars, a
        bucket counts if all entities that expect it cover it.
        """
        return self._with(self._extent.all(), lambda known: self._at(known).all, merged=True)

    @property
    def any(self) -> Coverage:
        """What at least one entity covers."""
        return self._with(self._extent.any(), lambda known: self._at(known).any, merged=True)

    def diff(self, known_at: Known) -> Coverage:
        """What came late: buckets that were missing at a snapshot, a time or a tag and are covered
        now, with the buckets of now.
        """
        return self - self._at(known_at)

    def last_complete_window(self, n: int) -> Interval | None:
        """The last n covered buckets in a row, of all entities at once. With a calendar, n in a row
        of those that it expects.
        """
        count = _positive(n, "n")
        found = self._extent.last_window(count)
        if found is None:
            return None
        one = self.entities[0] if len(self.entities) == 1 and not self._merged else None
        return interval(self._series, *found, one, count)

    def gaps_of(self, min_length: Length) -> Intervals:
        """The gaps that are as long as that, or longer."""
        least = at_least(self._series.clock, min_length, "min_length")
        found = (self._interval(*gap) for gap in self._gaps() if gap[1] - gap[0] >= least)
        return Intervals(self._series, found)

    def missing(
        self, batch: int = 100, max_length: Length | None = None
    ) -> Iterator[list[tuple[Entity, Interval]]]:
        """The gaps as work to do, so many at once: entities and what to fetch of each, no longer
        than `max_length`."""
        size = _positive(batch, "batch")
        clock = self._series.clock
        most = None if max_length is None else at_most(clock, max_length, "max_length")
        work = ((gap[2], self._interval(*gap)) for gap in _cut(self._gaps(), most))
        return iter(lambda: list(islice(work, size)), [])

    def __and__(self, other: Coverage) -> Coverage:
        """What both cover. The range is what both ranges have in common, and expected is what
        both expect."""
        return self._combined(other, and_)

    def __or__(self, other: Coverage) -> Coverage:
        """What one of them covers. The range is from where the first begins to where the last
        ends. Expected is what one of them expects, or without calendars all."""
        return self._combined(other, or_)

    def __sub__(self, other: Coverage) -> Coverage:
        """What this one covers and the other does not. Range and what is expected stay."""
        return self._combined(other, sub)

    def to_arrow(self) -> pa.Table:
        """A row for each entity: its columns, `start`, `end`, `expected`, `covered`, `ratio`,
        `gaps`, and `longest_gap_start`, `longest_gap_end`, `longest_gap_buckets`."""
        return summary(self._series, self._extent, merged=self._merged)

    @property
    def heading(self) -> str:
        """All of it on one line."""
        found = self._extent.range
        if found is None:
            return f"{self.table}: nothing, in buckets of {self.bucket}"
        named = [name_of(entity) for entity in self.entities] if len(self.entities) == 1 else []
        whose = named[0] if named else quantity(len(self.entities), "entity")
        ratio = f"{percent(self.ratio)} of {quantity(self.expected, 'bucket')} of {self.bucket}"
        span = span_of(self._moment(found.first), self._moment(found.end))
        gaps = quantity(sum(map(self._extent.count_missing, self.entities)), "gap")
        return f"{self.table}: " + ", ".join(part for part in (whose, span, ratio, gaps) if part)

    def __calendar__(self) -> tuple[Clock, Buckets]:
        return self._series.clock, self._extent.any().buckets[()]

    def __repr__(self) -> str:
        return f"<Coverage {self.heading}>"

    def picture(self, most: int = MOST_ROWS) -> Picture:
        """What is drawn of it: strips of at most so many entities, those that cover least if there
        are more."""
        return Picture.of(self._series, self._extent, self.heading, _positive(most, "most"))

    def _picture(self) -> Picture:
        return self.picture()

    def _combined(self, other: Coverage, operation: Callable[[Any, Any], Any]) -> Coverage:
        if not isinstance(other, Coverage):
            return NotImplemented
        self._check_alike(other)
        extent = operation(self._extent, other._extent)
        return self._with(
            extent,
            lambda known: operation(self._at(known), other._at(known)),
            merged=extent.is_nameless and (self._merged or other._merged),
            beside=other.table,
        )

    def _check_alike(self, other: Coverage) -> None:
        if self._series.clock != other._series.clock:
            raise Invalid(
                f"coverage in buckets of {self.bucket} cannot be put together with one in buckets"
                f" of {other.bucket}",
                hint="declare buckets of one kind and width for both: t.set_coverage(…)",
            )
        if len({len(entity) for entity in (*self.entities, *other.entities)} - {0}) > 1:
            raise Invalid(
                "entities of several columns cannot be put together with those of fewer",
                hint="take all at once, or any, of one of them: a.coverage() & b.coverage().all",
            )

    def _with(
        self,
        extent: Extent,
        then: Callable[[Known], Coverage],
        *,
        merged: bool = False,
        beside: str = "",
    ) -> Coverage:
        tables = dict.fromkeys(name for name in (self.table, beside) if name)
        return Coverage(self._series, extent, table=" and ".join(tables), merged=merged, then=then)

    def _at(self, known_at: Known) -> Coverage:
        """The same of another snapshot: the entities, the range, and what is expected stay."""
        if self._then is None:
            raise Invalid("this coverage is of no table", hint="ask t.coverage(…)")
        return self._then(known_at)

    def _one_at(self, entity: Entity, known_at: Known) -> Coverage:
        return self._at(known_at).each[entity]

    def _gaps(self) -> Iterator[Gap]:
        for entity in self._extent.buckets:
            for first, end in self._extent.missing(entity):
                yield first, end, entity

    def _intervals(self, stretches: Callable[[Entity], Bounds]) -> Intervals:
        found = (
            intervals(self._series, stretches(entity), None if self._merged else entity)
            for entity in self._extent.buckets
        )
        return Intervals(self._series, chain.from_iterable(found))

    def _interval(self, first: int, end: int, entity: Entity) -> Interval:
        return interval(self._series, first, end, None if self._merged else entity)

    def _moment(self, bucket: int) -> Moment:
        return self._series.moment(self._series.clock.number_of(bucket))


def _cut(gaps: Iterator[Gap], most: int | None) -> Iterator[Gap]:
    for first, end, entity in gaps:
        step = end - first if most is None else most
        for begin in range(first, end, step):
            yield begin, min(begin + step, end), entity


def _positive(value: object, what: str) -> int:
    number = whole(value)
    if number is None or number < 1:
        raise Invalid(f"{what}={value!r} is not 1 or more", hint="give 1 or more")
    return number
