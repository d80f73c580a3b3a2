"""What was measured, as pictures: one SVG for each curve, and one of all that has a target.

The pictures are text that a browser draws, light or dark as its user has it. Each says on which
machine and with which versions it was made.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import cycle
from math import ceil, floor, log10
from pathlib import Path
from textwrap import wrap
from typing import Any

from bench.report import Curve, Part, Verdict

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 210, 52, 76
_OURS = ("#1098ad", "#228be6", "#15aabf")
_PEERS = ("#e8590c", "#845ef7", "#d6336c", "#868e96", "#f08c00")
_MET, _MISSED = "#37b24d", "#e8590c"
_STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #343a40 }
.title { font-size: 16px; font-weight: 600 } .small { font-size: 11px; fill: #5c636a }
.small { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
.grid { stroke: #dee2e6 } .background { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #dee2e6 } .small { fill: #adb5bd; stroke: #1a1b1e } .grid { stroke: #495057 }
  .background { fill: #1a1b1e }
}
</style>"""


def draw(parts: Mapping[str, Part], about: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write all pictures of these parts into a folder, and say which."""
    folder.mkdir(parents=True, exist_ok=True)
    made = ", ".join(f"{name} {value}" for name, value in about.items())
    pictures = {curve.name: chart(curve, made) for part in parts.values() for curve in part.curves}
    verdicts = [verdict for part in parts.values() for verdict in part.verdicts]
    if any(verdict.value for verdict in verdicts):
        pictures["targets"] = targets(verdicts, made)
    paths = []
    for name, picture in pictures.items():
        paths.append(folder / f"{name}.svg")
        paths[-1].write_text(picture)
    return paths


def chart(curve: Curve, made: str) -> str:
    """Lines over two logarithmic axes: what grows with the work is steep, what does not is flat."""
    points = [point for line in curve.lines.values() for point in line]
    across = Axis.of([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    upward = Axis.of([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    body = [*_frame(curve, across, upward)]
    places = _apart({name: upward.place(line[-1][1]) for name, line in curve.lines.items()})
    colours = _colours(curve.lines)
    for name, line in curve.lines.items():
        colour, width = colours[name], 3 if _is_ours(name) else 2
        corners = " ".join(f"{across.place(x):.1f},{upward.place(y):.1f}" for x, y in line)
        body.append(
            f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )
        body += [
            f'<circle cx="{across.place(x):.1f}" cy="{upward.place(y):.1f}" r="3" fill="{colour}"/>'
            for x, y in line
        ]
        label = f'x="{_WIDTH - _RIGHT + 10}" y="{places[name] + 4:.1f}" style="fill: {colour}"'
        body.append(f"<text {label}>{escape(name)}</text>")
    return _picture(curve.title, made, body, _HEIGHT)


def _is_ours(name: str) -> bool:
    return name.startswith("Tidelake")


def _colours(names: Iterable[str]) -> dict[str, str]:
    """Ours are of one kind, and all of them can be seen on light and on dark."""
    ours, peers = cycle(_OURS), cycle(_PEERS)
    return {name: next(ours if _is_ours(name) else peers) for name in names}


def targets(verdicts: Sequence[Verdict], made: str) -> str:
    """Each number as a share of its target: up to the line is good, beyond it is a miss."""
    found = [verdict for verdict in verdicts if verdict.value]
    step, top = 20, 64
    height = top + step * len(found) + 40
    left, middle = 470, 650
    body = [
        f'<line class="grid" x1="{middle}" y1="{top - 12}" x2="{middle}" y2="{height - 34}"/>',
        f'<text class="small" x="{middle}" y="{top - 16}" text-anchor="middle">target</text>',
    ]
    for number, verdict in enumerate(found):
        y = top + step * number
        length = min(share_of_target(verdict), 2) * (middle - left)
        colour = _MET if verdict.passed else _MISSED
        _, what, value, target = verdict.row()
        body += [
            f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{escape(what)}</text>',
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="13" fill="{colour}"/>',
            f'<text class="small" x="{left + length + 6:.1f}" y="{y + 11}">'
            f"{escape(f'{value} ({target})')}</text>",
        ]
    return _picture("Measured against the targets", made, body, height, width=1030)


def share_of_target(verdict: Verdict) -> float:
    """How much of what was allowed was used: at most 1 where the target is met."""
    assert verdict.value
    share = verdict.value / verdict.target
    return share if verdict.at_most else 1 / share


class Axis:
    """A logarithmic axis from one power of ten to another."""

    def __init__(self, low: int, high: int, start: float, end: float) -> None:
        self._low, self._high = low, high
        self._start, self._end = start, end

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> "Axis":
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def place(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _frame(curve: Curve, across: Axis, upward: Axis) -> Iterator[str]:
    right, floor_ = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for tick in upward.ticks():
        y = upward.place(tick)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,g}</text>'
    for tick in across.ticks():
        x = across.place(tick)
        yield f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{floor_}"/>'
        yield f'<text x="{x:.1f}" y="{floor_ + 18}" text-anchor="middle">{tick:,.10g}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle}" y="{floor_ + 38}" text-anchor="middle">{escape(curve.across)}</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 10}">{escape(curve.upward)}</text>'


def _apart(wanted: Mapping[str, float], least: float = 16) -> dict[str, float]:
    """Places near the wanted ones at which labels do not lie on one another."""
    places: dict[str, float] = {}
    last = float("-inf")
    for name, place in sorted(wanted.items(), key=lambda item: item[1]):
        last = max(place, last + least)
        places[name] = last
    return places


def _picture(title: str, made: str, body: Sequence[str], height: int, width: int = _WIDTH) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' role="img" aria-label="{escape(title)}">',
            _STYLE,
            f'<rect class="background" width="{width}" height="{height}"/>',
            f'<text class="title" x="16" y="24">{escape(title)}</text>',
            *body,
            *(
                f'<text class="small" x="16" y="{height - 10 - 12 * above}">{escape(line)}</text>'
                for above, line in enumerate(reversed(wrap(made, width // 6)))
            ),
            "</svg>",
            "",
        ]
    )
