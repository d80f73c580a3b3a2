"""Where the facts of a table lie in both times: when they happened, and when the lake learned it.

What is known of them comes from the statistics of files, not from rows: a cell is where a file may
have rows, or many files that lie near each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil

from tidelake.model import instant

MOST_CELLS = 1500
_ACROSS, _UP = 120, 96
_START = "0001-01-01 00:00:00"
_DAY = 86_400 * instant.SECOND
_PREFIXES = {
    4: 366 * _DAY,
    7: 31 * _DAY,
    10: _DAY,
    13: 3_600 * instant.SECOND,
    16: 60 * instant.SECOND,
    19: instant.SECOND,
}
"""How long the span is that the first letters of a time name: the year, the month and so on."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Facts of event times from `first` to `last` (nanoseconds since 1970), which the lake has
    since snapshots from `known_from` to `known_to`. `late`: when they came, later facts had been
    there."""

    first: int
    last: int
    known_from: int
    known_to: int
    rows: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class Plane:
    """The facts of a table at a snapshot. `marks` are snapshots with their times, some of them if
    they are many. What has been compacted counts from the first of the snapshots that it is of to
    the last."""

    table: str
    snapshot_id: int
    marks: tuple[tuple[int, datetime], ...] = ()
    cells: tuple[Cell, ...] = ()

    @property
    def rows(self) -> int:
        return sum(cell.rows for cell in self.cells)

    @property
    def first(self) -> int | None:
        """The first event time, as far as statistics tell."""
        return min((cell.first for cell in self.cells), default=None)

    @property
    def last(self) -> int | None:
        return max((cell.last for cell in self.cells), default=None)


def prefix_length(first: str | None, last: str | None) -> int:
    """How many letters of the times between two name spans of which there are not too many."""
    bounds = [moment_of(text) for text in (first, last)]
    if bounds[0] is None or bounds[1] is None:
        return 10
    fitting = [size for size, span in _PREFIXES.items() if (bounds[1] - bounds[0]) / span < 400]
    return max(fitting, default=4)


def span_of_prefix(first: str, last: str) -> tuple[int, int] | None:
    """From the beginning of the first of two spans that are named so, to the end of the last."""
    start = moment_of(first + _START[len(first) :])
    end = moment_of(last + _START[len(last) :])
    if start is None or end is None:
        return None
    return start, end + _PREFIXES.get(len(last), 0)


def moment_of(text: str | None) -> int | None:
    """A time as statistics spell it; None for what is none, or endless."""
    if text is None:
        return None
    found = instant.parse_moment(text, zoned=None)
    if found is None:
        found = instant.parse_date(text)
    return found if isinstance(found, int) else None


def arrange(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """In the order in which they came, the late ones marked, and not too many."""
    found = sorted(cells, key=lambda cell: (cell.known_from, cell.first))
    marked = list(_marked(found))
    return tuple(marked if len(marked) <= MOST_CELLS else _coarse(marked))


def _marked(cells: list[Cell]) -> Iterator[Cell]:
    """What came with one snapshot is not late because of what came with it."""
    newest: int | None = None
    among: list[int] = []
    known = None
    for cell in cells:
        if cell.known_from != known:
            newest = max([*among, *([] if newest is None else [newest])], default=None)
            known, among = cell.known_from, []
        among.append(cell.last)
        yield replace(cell, late=newest is not None and cell.last < newest)


def _coarse(cells: list[Cell]) -> Iterator[Cell]:
    """Those that begin in the same field of a grid are one."""
    first = min(cell.first for cell in cells)
    low = min(cell.known_from for cell in cells)
    wide = max(1, ceil((max(cell.first for cell in cells) - first + 1) / _ACROSS))
    high = max(1, ceil((max(cell.known_from for cell in cells) - low + 1) / _UP))
    fields: dict[tuple[int, int, bool], Cell] = {}
    for cell in cells:
        field = ((cell.first - first) // wide, (cell.known_from - low) // high, cell.late)
        fields[field] = _union(fields.get(field), cell)
    yield from sorted(fields.values(), key=lambda cell: (cell.known_from, cell.first))


def _union(one: Cell | None, other: Cell) -> Cell:
    if one is None:
        return other
    return Cell(
        min(one.first, other.first),
        max(one.last, other.last),
        min(one.known_from, other.known_from),
        max(one.known_to, other.known_to),
        one.rows + other.rows,
        other.late,
    )
