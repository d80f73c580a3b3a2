"""Heat strips: a range in stretches of one length, and how much of each is covered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tidelake.coverage.values.bitmaps import Buckets


@dataclass(frozen=True, slots=True)
class Cell:
    """Buckets from the id `first` until before `end`: in how many of them rows are expected, and
    how many of those are covered."""

    first: int
    end: int
    expected: int
    covered: int

    @property
    def share(self) -> float | None:
        """How much of what is expected there is; None where nothing is expected."""
        return self.covered / self.expected if self.expected else None


def cells(
    covered: Buckets, expected: Buckets | None, first: int, end: int, most: int
) -> list[Cell]:
    """The range from one id until before another in at most so many cells. Without `expected`,
    every bucket is. It costs as much as there are cells, not as there are buckets."""
    total = max(0, end - first)
    count = min(most, total)
    edges = [first + total * place // count for place in range(count + 1)] if count else []
    there = covered if expected is None else covered & expected
    wanted = [edge - first for edge in edges] if expected is None else _before(expected, edges)
    counts = zip(pairwise(edges), pairwise(wanted), pairwise(_before(there, edges)), strict=True)
    return [
        Cell(begin, stop, wanted_until - wanted_from, until - since)
        for (begin, stop), (wanted_from, wanted_until), (since, until) in counts
    ]


def _before(buckets: Buckets, edges: Iterable[int]) -> list[int]:
    """Of how many the id is less than each edge."""
    return [buckets.rank(edge - 1) if edge else 0 for edge in edges]


def joined(found: Iterable[Cell]) -> Iterator[Cell]:
    """The same, with neighbours as one where both are covered whole, or not at all, or expect
    nothing."""
    last: Cell | None = None
    for cell in found:
        if last is not None and last.share == cell.share and cell.share in (None, 0.0, 1.0):
            expected, covered = last.expected + cell.expected, last.covered + cell.covered
            last = Cell(last.first, cell.end, expected, covered)
            continue
        if last is not None:
            yield last
        last = cell
    if last is not None:
        yield last
