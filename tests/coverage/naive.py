"""Coverage by plain sets of ids and loops, to compare with; and series that belong to no lake."""

from dataclasses import dataclass
from itertools import pairwise

from tidelake.coverage.answer import Coverage
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.clock import Clock
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Interval, Range
from tidelake.coverage.values.series import Series
from tidelake.model.schema import Column

Stretch = tuple[int, int]


def series(kind: str = "timestamp", bucket: str | int = "1m", *entity: str) -> Series:
    """With entity columns of these types."""
    columns = tuple(Column(n, f"e{n}", each) for n, each in enumerate(entity, 2))
    return Series(columns, Column(1, "ts", kind), Clock.of(bucket, kind))


@dataclass(frozen=True)
class Naive:
    """Ids that each entity covers; all are in the range and expected."""

    ids: dict[tuple, set[int]]
    first: int
    end: int
    rule: frozenset[int] | None = None

    @property
    def expected(self) -> set[int]:
        whole = set(range(self.first, self.end))
        return whole if self.rule is None else whole & self.rule

    def coverage(self, of: Series) -> Coverage:
        rule = None if self.rule is None else Buckets(self.expected)
        ids = {entity: Buckets(found) for entity, found in self.ids.items()}
        return Coverage(of, Extent(ids, Range(self.first, self.end), rule))


def stretches(ids: set[int]) -> list[Stretch]:
    """The first of each, and the one after its last."""
    listed = sorted(ids)
    firsts = [each for each in listed if each - 1 not in ids]
    lasts = [each for each in listed if each + 1 not in ids]
    return [(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]


def window(ids: set[int], expected: set[int], count: int) -> Stretch | None:
    """By looking at every place where it could be."""
    listed = sorted(expected)
    for end in range(len(listed), count - 1, -1):
        some = listed[end - count : end]
        if all(each in ids for each in some):
            return some[0], some[-1] + 1
    return None


def told(of: Series, found: list[Interval]) -> list[tuple[tuple | None, int, int]]:
    """Intervals as ids, found again from their moments."""
    clock = of.clock
    return [
        (
            each.entity,
            clock.id(clock.number(of.position(each.start, "start"))),
            clock.id(clock.ceiling(of.position(each.end, "end"))),
        )
        for each in found
    ]


def do_not_touch(found: list[Interval]) -> bool:
    """Whether intervals of one entity have something between them."""
    return all(a.end < b.start for a, b in pairwise(found) if a.entity == b.entity)
