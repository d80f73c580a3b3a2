"""Coverage in a terminal: a heat strip of blocks for every entity, with dates below.

A full block is covered whole, a lower one in part, as high as it is; what is not covered at all is
blank, on red where there are colours. A dot is a stretch in which nothing is expected. Where there
is nothing but ASCII, `#` is whole, and a digit so many tenths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from tidelake.coverage.values.axis import ticks
from tidelake.coverage.values.picture import Cell, Picture, Row

if TYPE_CHECKING:
    from rich.console import ConsoleOptions
    from rich.text import Text

_NARROW = 12
"""Columns that a strip wants before anything stands beside it."""
_WIDEST = 240
_LABEL = 9
_NAME = 28


@dataclass(frozen=True, slots=True)
class _Ink:
    """Characters for what is whole, for parts of it from little to much, for what is not
    expected, and for the axis."""

    whole: str
    parts: str
    idle: str
    mark: str


_BLOCKS = _Ink("█", "▁▂▃▄▅▆▇", "·", "╵")
_ASCII = _Ink("#", "123456789", ".", "|")


@dataclass(frozen=True, slots=True)
class _Layout:
    """How many columns everything takes: the name, each cell, and as many cells as that."""

    name: int
    cell: int
    cells: int
    beside: int

    @staticmethod
    def of(picture: Picture, names: list[str], width: int) -> _Layout:
        from rich.cells import cell_len

        name = min(max(map(cell_len, names), default=0), _NAME, width // 4)
        name += 1 if name else 0
        facts = [max((len(row.facts[n]) for row in picture.rows), default=0) + 2 for n in (0, 1)]
        beside = 2
        while beside and width - name - sum(facts[:beside]) < _NARROW:
            beside -= 1
        room = max(1, width - name - sum(facts[:beside]))
        cells = max(1, min(room, picture.buckets))
        return _Layout(name, room // cells, cells, beside)


def text_lines(picture: Picture, options: ConsoleOptions) -> Iterator[Text]:
    """The picture, line by line."""
    from rich.text import Text

    ink = _ASCII if options.ascii_only else _BLOCKS
    names = [_encoded(row.name, options.encoding) for row in picture.rows]
    layout = _Layout.of(picture, names, min(options.max_width, _WIDEST))
    yield Text(_encoded(picture.heading, options.encoding))
    for name, row in zip(names, picture.rows, strict=True):
        yield _line(picture, row, name, layout, ink)
    if picture.buckets and picture.rows:
        yield Text(_axis(picture, layout, ink), style="dim", no_wrap=True, overflow="crop")
    if picture.footer:
        yield Text(picture.footer, style="dim")


def _encoded(text: str, encoding: str) -> str:
    """What the terminal cannot write is spelled out."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _line(picture: Picture, row: Row, name: str, layout: _Layout, ink: _Ink) -> Text:
    from rich.cells import cell_len
    from rich.text import Text

    line = Text(no_wrap=True, overflow="crop")
    label = Text(name, no_wrap=True)
    label.truncate(max(0, layout.name - 1), overflow="crop")
    line.append(label)
    line.append(" " * (layout.name - cell_len(label.plain)))
    blocks = [_block(cell, ink) for cell in picture.cells(row, layout.cells)]
    for style, some in groupby(blocks, key=itemgetter(1)):
        line.append("".join(block * layout.cell for block, _ in some), style)
    widths = [max(len(each.facts[n]) for each in picture.rows) for n in (0, 1)]
    for fact, width in list(zip(row.facts, widths, strict=True))[: layout.beside]:
        line.append(f"  {fact:>{width}}")
    return line


def _block(cell: Cell, ink: _Ink) -> tuple[str, str]:
    """A cell's character and its style."""
    share = cell.share
    if share is None:
        return ink.idle, "dim"
    if share == 0:
        return " ", "on red"
    if share == 1:
        return ink.whole, "cyan"
    return ink.parts[min(int(share * len(ink.parts)), len(ink.parts) - 1)], "cyan on red"


def _axis(picture: Picture, layout: _Layout, ink: _Ink) -> str:
    """Labels where their moments are, as far as they do not touch."""
    width = layout.cell * layout.cells
    line = " " * layout.name
    for tick in ticks(picture.series, picture.first, picture.end, max(2, width // _LABEL)):
        place = layout.name + tick.bucket * layout.cells // picture.buckets * layout.cell
        label = f"{ink.mark}{tick.label}"
        if place >= len(line) and place + len(label) <= layout.name + width:
            line = f"{line:<{place}}{label} "
    return line.rstrip()
