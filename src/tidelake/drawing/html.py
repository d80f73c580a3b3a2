"""A sheet as HTML, without scripts or colours of its own: it is read in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tidelake.drawing.sheet import Grid, Sheet

_CELL = 'style="text-align:left;padding:2px 10px 2px 0;vertical-align:top;white-space:nowrap"'
_HEAD = (
    'style="text-align:left;padding:2px 10px 2px 0;white-space:nowrap;opacity:0.7;font-weight:600;'
    'border-bottom:1px solid currentColor"'
)
_NAME = 'style="text-align:left;padding:2px 10px 2px 0;opacity:0.7;font-weight:normal"'
_VALUE = 'style="text-align:left;padding:2px 0"'
_TABLE = '<table border="0" style="border-collapse:collapse;margin:4px 0">'
_TEXT = '<div style="white-space:pre-wrap;font-family:monospace;font-size:90%">'


def html_of(sheet: Sheet) -> str:
    return "".join(_parts(sheet))


def _parts(sheet: Sheet) -> Iterator[str]:
    yield f'<div class="tidelake"><div><strong>{escape(sheet.title)}</strong></div>'
    if sheet.facts:
        yield _TABLE
        for name, value in sheet.facts:
            yield f"<tr><th {_NAME}>{escape(name)}</th><td {_VALUE}>{escape(value)}</td></tr>"
        yield "</table>"
    if sheet.picture is not None:
        yield sheet.picture
    if sheet.grid is not None:
        yield from _grid(sheet.grid)
    if sheet.lines:
        yield f"{_TEXT}{escape(chr(10).join(sheet.lines))}</div>"
    if sheet.note is not None:
        yield f'<div style="opacity:0.7">{escape(sheet.note)}</div>'
    yield "</div>"


def _grid(grid: Grid) -> Iterator[str]:
    yield f'<div style="overflow-x:auto">{_TABLE}<thead><tr>'
    for name in grid.columns:
        yield f"<th {_HEAD}>{escape(name)}</th>"
    yield "</tr></thead><tbody>"
    for row in grid.rows:
        yield "<tr>"
        for value in row:
            yield f"<td {_CELL}>{escape(value)}</td>"
        yield "</tr>"
    yield "</tbody></table></div>"
    if grid.more:
        yield '<div style="opacity:0.7">… and more</div>'
