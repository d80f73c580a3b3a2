"""A sheet as HTML, without scripts or colours of its own: it is read in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tidelake.drawing.sheet import Grid, Sheet

_CELL = 'style="text-align:left;padding:2px 8px;vertical-align:top"'


def html_of(sheet: Sheet) -> str:
    return "".join(_parts(sheet))


def _parts(sheet: Sheet) -> Iterator[str]:
    yield f'<div class="tidelake"><div><strong>{escape(sheet.title)}</strong></div>'
    if sheet.facts:
        yield '<table border="0">'
        for name, value in sheet.facts:
            yield f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL}>{escape(value)}</td></tr>"
        yield "</table>"
    if sheet.picture is not None:
        yield sheet.picture
    if sheet.grid is not None:
        yield from _grid(sheet.grid)
    if sheet.note is not None:
        yield f'<div style="opacity:0.7">{escape(sheet.note)}</div>'
    yield "</div>"


def _grid(grid: Grid) -> Iterator[str]:
    yield '<table border="0"><thead><tr>'
    for name in grid.columns:
        yield f"<th {_CELL}>{escape(name)}</th>"
    yield "</tr></thead><tbody>"
    for row in grid.rows:
        yield "<tr>"
        for value in row:
            yield f"<td {_CELL}>{escape(value)}</td>"
        yield "</tr>"
    yield "</tbody></table>"
    if grid.more:
        yield '<div style="opacity:0.7">… and more</div>'
