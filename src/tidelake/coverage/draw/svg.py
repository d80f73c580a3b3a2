"""Coverage on a page: a heat strip for every entity as SVG, without scripts.

Text takes the colour of the page around it, so that it can be read in light and dark; a picture
that stands alone brings its own colours for both. Hovering over a stretch tells what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tidelake.coverage.values.axis import ticks
from tidelake.coverage.values.picture import Cell, Picture, Row, join_cells

_WIDTH = 860
_MARGIN = 12
_LEFT, _RIGHT = 160, 680
_CELLS = 130
_LINE, _HEIGHT, _LEAST = 24, 16, 3
_TOP = 44
_LETTERS = 22
_TICKS = 8
_LONGEST = 500
_COVERED, _MISSING = "#2b7bba", "#e0662f"

_ALONE = (
    "<style>.page{fill:#ffffff}svg{color:#1f2933}"
    "@media (prefers-color-scheme: dark){.page{fill:#16202b}svg{color:#e4ebf2}}</style>"
    f'<rect class="page" width="{_WIDTH}" height="100%" rx="8"/>'
)


def svg(picture: Picture, *, alone: bool) -> str:
    """The picture as one SVG element; `alone`: as a file of its own."""
    rows = list(picture.rows)
    bottom = _TOP + _LINE * len(rows)
    height = bottom + (28 if rows else 0) + (20 if picture.footer else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
        f' viewBox="0 0 {_WIDTH} {height}" role="img" fill="currentColor"'
        ' style="max-width:100%;height:auto"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="12">',
        _ALONE if alone else "",
        _text(_MARGIN, 24, picture.heading, 'font-size="14" font-weight="bold"'),
    ]
    for place, row in enumerate(rows):
        parts += _strip(picture, row, _TOP + _LINE * place)
    if rows:
        parts += _axis(picture, bottom)
    if picture.footer:
        parts.append(_text(_LEFT, bottom + 34, picture.footer, 'opacity="0.7"'))
    return "\n".join(part for part in (*parts, "</svg>") if part)


def _strip(picture: Picture, row: Row, top: int) -> Iterator[str]:
    middle = top + 12
    if row.name:
        yield _name(row.name, top)
    for cell in join_cells(picture.cells(row, _CELLS)):
        yield from _cell(picture, cell, top)
    ratio, gaps = row.facts
    yield _text(750, middle, ratio, 'text-anchor="end"')
    yield _text(_WIDTH - _MARGIN, middle, gaps, 'text-anchor="end" opacity="0.7"')


def _name(name: str, top: int) -> str:
    """The name, cut off where the strip begins."""
    shown = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    return (
        f'<svg x="{_MARGIN}" y="{top}" width="{_LEFT - _MARGIN - 8}" height="{_LINE}">'
        f'<text y="12">{_safe(shown)}<title>{_safe(name[:_LONGEST])}</title></text></svg>'
    )


def _cell(picture: Picture, cell: Cell, top: int) -> Iterator[str]:
    """What is covered stands as high as its share is, before what is missing."""
    left, right = (_across(picture, bucket - picture.first) for bucket in (cell.first, cell.end))
    across = f'x="{left:.2f}" width="{right - left:.2f}"'
    title = f"<title>{_safe(picture.told(cell))}</title>"
    if cell.share is None:
        yield f'<rect {across} y="{top + 7}" height="2" opacity="0.3">{title}</rect>'
        return
    high = _high(cell.share)
    yield f"<g>{title}"
    if cell.share < 1:
        yield f'<rect {across} y="{top}" height="{_HEIGHT}" fill="{_MISSING}"/>'
    if cell.share > 0:
        yield f'<rect {across} y="{top + _HEIGHT - high:g}" height="{high:g}" fill="{_COVERED}"/>'
    yield "</g>"


def _high(share: float) -> float:
    """However little is covered or missing, it is seen."""
    if share in (0, 1):
        return _HEIGHT * share
    return min(max(round(_HEIGHT * share, 1), _LEAST), _HEIGHT - _LEAST)


def _axis(picture: Picture, bottom: int) -> Iterator[str]:
    for tick in ticks(picture.series, picture.first, picture.end, _TICKS):
        x = _across(picture, tick.bucket)
        yield f'<rect x="{x:.2f}" y="{bottom - 4}" width="1" height="5" opacity="0.5"/>'
        yield _text(x, bottom + 14, tick.label, 'opacity="0.7"')


def _across(picture: Picture, bucket: int) -> float:
    """Where a bucket of the range begins."""
    return _LEFT + (_RIGHT - _LEFT) * bucket / max(1, picture.buckets)


def _text(x: float, y: float, text: str, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{" " + extra if extra else ""}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    return escape(text, quote=True)
