"""What a picture of coverage shows: the same in a terminal and on a page.

Heat strips: a range in stretches of one length, and how much of each is covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from math import floor

from tidelake.coverage.values.axis import short_text
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import interval
from tidelake.coverage.values.series import Entity, Series
from tidelake.drawing.amounts import quantity


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


def join_cells(found: Iterable[Cell]) -> Iterator[Cell]:
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


MOST_ROWS = 20
_UNSEEN = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    *(*range(0xD800, 0xE000), 0xFFFE, 0xFFFF),
)
_ESCAPES = {code: f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}" for code in _UNSEEN}
_ESCAPES |= {ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}


@dataclass(frozen=True, slots=True)
class Row:
    """One strip, and what stands beside it. `expected` None: every bucket is."""

    name: str
    covered: Buckets
    expected: Buckets | None
    ratio: float
    gaps: int

    @property
    def facts(self) -> tuple[str, str]:
        return percent(self.ratio), quantity(self.gaps, "gap")


@dataclass(frozen=True, slots=True)
class Picture:
    """Strips of the buckets from the id `first` until before `end`; `hidden` says how many more
    there are, all of them covered as well or better."""

    heading: str
    series: Series
    first: int
    end: int
    rows: tuple[Row, ...]
    hidden: int = 0

    @staticmethod
    def of(series: Series, extent: Extent, heading: str, most: int = MOST_ROWS) -> Picture:
        """Of all entities, or if they are many of those that cover least."""
        if extent.range is None:
            return Picture(heading, series, 0, 0, ())
        known = extent.buckets
        shown = list(known)
        if len(known) > most:
            shown = nsmallest(most, known, key=extent.ratio_of)
        rows = tuple(_row(extent, entity) for entity in shown)
        first, end = extent.range.first, extent.range.end
        return Picture(heading, series, first, end, rows, len(known) - len(rows))

    @property
    def buckets(self) -> int:
        return max(0, self.end - self.first)

    def cells(self, row: Row, most: int) -> list[Cell]:
        return cells(row.covered, row.expected, self.first, self.end, most)

    def told(self, cell: Cell) -> str:
        """What a cell says of itself."""
        found = interval(self.series, cell.first, cell.end, None)
        span = f"{short_text(found.start)} to {short_text(found.end)}"
        if not cell.expected:
            return f"{span}: nothing expected"
        share = percent(cell.covered / cell.expected)
        return f"{span}: {share}, {cell.covered:,} of {cell.expected:,}"

    @property
    def footer(self) -> str:
        return f"and {self.hidden:,} more, covered as well or better" if self.hidden else ""


def _row(extent: Extent, entity: Entity) -> Row:
    gaps, ratio = extent.count_missing(entity), extent.ratio_of(entity)
    expected = extent.expected_of(entity)
    return Row(name_of(entity), extent.buckets[entity], expected, ratio, gaps)


def name_of(entity: Entity | None) -> str:
    """An entity on one line, without characters that are not seen or turn the line round."""
    values = ("NULL" if value is None else str(value) or '""' for value in entity or ())
    return ", ".join(values).translate(_ESCAPES)


def percent(ratio: float) -> str:
    """Never more than there is: only what is complete is 100 %."""
    if 0 < ratio < 0.001:
        return "<0.1 %"
    return f"{floor(ratio * 1000) / 10:.1f} %"
