"""What was answered about a key, as rectangles: event time to the right, system time upwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 640, 320
_LEFT, _BOTTOM, _TOP = 150, 280, 16
_LABEL = len("2024-03-01 09:30:00")
_COLOURS = ("#2b7bba", "#e0662f", "#3f9142", "#8a5fbf", "#c2a100", "#c23b5a", "#3b9ea8", "#7b8794")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, for event times from `start` until before `end`, as long as the lake was
    between `since` and before `until`. None: no bound. Times are as they are written, all alike,
    so that their texts are in the order of time."""

    told: str
    start: str | None
    end: str | None
    since: str | None
    until: str | None


def rectangles(answers: Sequence[Answer]) -> str | None:
    """Steps of time are drawn as wide as each other, whatever time lies between them. None if there
    are no answers."""
    if not answers:
        return None
    across = _Axis.of([each.start for each in answers], [each.end for each in answers])
    upwards = _Axis.of([each.since for each in answers], [each.until for each in answers])
    colours = {told: n for n, told in enumerate(dict.fromkeys(each.told for each in answers))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" fill="currentColor"'
        ' style="max-width:100%;height:auto" font-family="Helvetica, Arial, sans-serif"'
        ' font-size="11">'
    ]
    for each in answers:
        left, right = (_x(across.place(t, last)) for t, last in ((each.start, 0), (each.end, 1)))
        low, high = (_y(upwards.place(t, last)) for t, last in ((each.since, 0), (each.until, 1)))
        fill = _COLOURS[colours[each.told] % len(_COLOURS)]
        parts.append(
            f'<rect x="{left:.1f}" y="{high:.1f}" width="{max(1.0, right - left):.1f}"'
            f' height="{max(1.0, low - high):.1f}" fill="{fill}" fill-opacity="0.75"'
            f' stroke="currentColor"><title>{escape(_told(each))}</title></rect>'
        )
    parts += _labels(across, upwards)
    return "".join((*parts, "</svg>"))


@dataclass(frozen=True, slots=True)
class _Axis:
    """The bounds that there are, in order; what has none goes on to the edge."""

    known: tuple[str, ...]

    @staticmethod
    def of(starts: Sequence[str | None], ends: Sequence[str | None]) -> _Axis:
        return _Axis(tuple(sorted({each for each in (*starts, *ends) if each is not None})))

    def place(self, time: str | None, last: int) -> float:
        """From 0 to 1."""
        if time is None:
            return float(last)
        return (self.known.index(time) + 1) / (len(self.known) + 1)


def _labels(across: _Axis, upwards: _Axis) -> Iterator[str]:
    for time in _few(across.known):
        x, label = _x(across.place(time, 0)), escape(time[:_LABEL])
        yield f'<text x="{x:.1f}" y="{_BOTTOM + 14}" text-anchor="middle">{label}</text>'
    for time in _few(upwards.known):
        y = _y(upwards.place(time, 0)) + 4
        yield f'<text x="{_LEFT - 6}" y="{y:.1f}" text-anchor="end">{escape(time[:_LABEL])}</text>'
    end = f'x="{_WIDTH - 8}" y="{_BOTTOM + 32}" text-anchor="end"'
    yield f'<text {end} opacity="0.7">event time →</text>'
    yield f'<text x="6" y="{_TOP}" opacity="0.7">known ↑</text>'


def _few(times: Sequence[str], most: int = 4) -> Sequence[str]:
    step = -(-len(times) // most) if times else 1
    return times[::step]


def _x(place: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - 10) * place


def _y(place: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * place


def _told(answer: Answer) -> str:
    bounds = [each or "…" for each in (answer.start, answer.end, answer.since, answer.until)]
    return f"{answer.told}\nheld {bounds[0]} to {bounds[1]}\nknown {bounds[2]} to {bounds[3]}"
