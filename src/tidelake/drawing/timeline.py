"""Snapshots as a line of dots, the oldest on the left, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT, _MARGIN = 860, 64, 20
MOST = 60
_COLOURS = {"came": "#2b7bba", "went": "#e0662f", "mixed": "#8a5fbf"}
_PLAIN = "#7b8794"


@dataclass(frozen=True, slots=True)
class Dot:
    """A snapshot: its number, when it was, what it did in words, and of which kind that is."""

    number: int
    when: str
    told: str
    kind: str


def timeline(dots: Sequence[Dot]) -> str | None:
    """The newest of them; None if there are none."""
    last = dots[-MOST:]
    if not last:
        return None
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(last) - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" fill="currentColor"'
        ' style="max-width:100%;height:auto" font-family="Helvetica, Arial, sans-serif"'
        ' font-size="11">',
        f'<rect x="{_MARGIN}" y="23" width="{_WIDTH - 2 * _MARGIN}" height="2" opacity="0.4"/>',
    ]
    every = max(1, len(last) // 15)
    for place, dot in enumerate(last):
        x = _MARGIN + step * place
        title = f"<title>{escape(dot.told)}</title>"
        fill = _COLOURS.get(dot.kind, _PLAIN)
        parts.append(f'<circle cx="{x:.1f}" cy="24" r="6" fill="{fill}">{title}</circle>')
        if place % every == 0:
            parts.append(f'<text x="{x:.1f}" y="44" text-anchor="middle">{dot.number}</text>')
    parts.append(f'<text x="{_MARGIN}" y="60" opacity="0.7">{escape(last[0].when)}</text>')
    parts.append(
        f'<text x="{_WIDTH - _MARGIN}" y="60" text-anchor="end" opacity="0.7">'
        f"{escape(last[-1].when)}</text></svg>"
    )
    return "".join(parts)
