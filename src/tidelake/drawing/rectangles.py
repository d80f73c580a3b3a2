"""What was answered about a key, as rectangles: event time to the right, system time upwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _BOTTOM, _TOP = 150, 750, 272, 24
_LETTER = 6.2
"""About how wide a sign is."""
_COLOURS = ("#2b7bba", "#e0662f", "#3f9142", "#8a5fbf", "#c2a100", "#c23b5a", "#3b9ea8", "#7b8794")
_OPEN = 0.08
"""How much of an axis stands for what has no bound."""


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
    label: str = ""
    """What stands in the rectangle."""


def rectangles(answers: Sequence[Answer]) -> str | None:
    """Steps of time are drawn as wide as each other, whatever time lies between them. None if there
    are no answers."""
    if not answers:
        return None
    across = _Axis.of([(each.start, each.end) for each in answers])
    upwards = _Axis.of([(each.since, each.until) for each in answers])
    colours = {told: n for n, told in enumerate(dict.fromkeys(each.told for each in answers))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" fill="currentColor"'
        ' style="max-width:100%;height:auto" font-family="Helvetica, Arial, sans-serif"'
        ' font-size="11">'
    ]
    for each in answers:
        left, right = _x(across.start(each.start)), _x(across.end(each.end))
        low, high = _y(upwards.start(each.since)), _y(upwards.end(each.until))
        fill = _COLOURS[colours[each.told] % len(_COLOURS)]
        parts.append(
            f'<rect x="{left:.1f}" y="{high:.1f}" width="{max(1.0, right - left):.1f}"'
            f' height="{max(1.0, low - high):.1f}" fill="{fill}" fill-opacity="0.75"'
            f' stroke="currentColor" stroke-width="0.5"><title>{escape(_told(each))}</title></rect>'
        )
        parts.append(_inside(each.label, (left + right) / 2, (low + high) / 2, right - left))
    parts += _labels(across, upwards)
    return "".join((*parts, "</svg>"))


def _inside(told: str, x: float, y: float, room: float) -> str:
    """What was answered, where it fits."""
    most = int(room / _LETTER) - 1
    shown = told if len(told) <= most else f"{told[: most - 1]}…"
    if most < len(told) and most < 5:
        return ""
    return (
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="white"'
        f' pointer-events="none">{escape(shown)}</text>'
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """The bounds that there are, in order, from 0 to 1; what has none goes on to the edge."""

    known: tuple[str, ...]
    begins_open: bool

    @staticmethod
    def of(bounds: Sequence[tuple[str | None, str | None]]) -> _Axis:
        known = {each for bound in bounds for each in bound if each is not None}
        return _Axis(tuple(sorted(known)), any(start is None for start, _ in bounds))

    def start(self, time: str | None) -> float:
        return 0.0 if time is None else self.place(time)

    def end(self, time: str | None) -> float:
        return 1.0 if time is None else self.place(time)

    def place(self, time: str) -> float:
        """The last bound is before the edge: what holds from then on is seen too."""
        first = _OPEN if self.begins_open else 0.0
        return first + (1 - first) * self.known.index(time) / max(1, len(self.known))


def _labels(across: _Axis, upwards: _Axis) -> Iterator[str]:
    for time, label in _few(across.known, room=_RIGHT - _LEFT):
        x = _x(across.place(time))
        yield f'<path d="M{x:.1f} {_BOTTOM}v5" stroke="currentColor" stroke-width="0.5"/>'
        yield f'<text x="{x:.1f}" y="{_BOTTOM + 17}" text-anchor="middle">{escape(label)}</text>'
    for time, label in _few(upwards.known, room=(_BOTTOM - _TOP) * _LETTER):
        y = _y(upwards.place(time))
        yield f'<path d="M{_LEFT} {y:.1f}h-5" stroke="currentColor" stroke-width="0.5"/>'
        yield f'<text x="{_LEFT - 9}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
    end = f'x="{_RIGHT}" y="{_BOTTOM + 36}" text-anchor="end"'
    yield f'<text {end} opacity="0.7">event time →</text>'
    yield f'<text x="{_LEFT - 9}" y="14" text-anchor="end" opacity="0.7">known ↑</text>'


def _few(times: Sequence[str], room: float) -> Iterator[tuple[str, str]]:
    """As many as there is room for, each with its label."""
    labels = _short(times)
    widest = max(map(len, labels), default=0)
    most = max(2, int(room / ((widest + 2) * _LETTER)))
    step = -(-len(times) // most) if times else 1
    yield from list(zip(times, labels, strict=True))[::step]


_LENGTHS = (len("2024-03-01"), len("2024-03-01 09:30"), len("2024-03-01 09:30:00"))


def _short(times: Sequence[str]) -> list[str]:
    """Cut as far as they still differ."""
    for length in _LENGTHS:
        cut = [time[:length] for time in times]
        if len(set(cut)) == len(set(times)):
            return cut
    return [time[11:].partition("+")[0] if len(time) > _LENGTHS[-1] else time for time in times]


def _x(place: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * place


def _y(place: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * place


def _told(answer: Answer) -> str:
    bounds = [each or "…" for each in (answer.start, answer.end, answer.since, answer.until)]
    return f"{answer.told}\nheld {bounds[0]} to {bounds[1]}\nknown {bounds[2]} to {bounds[3]}"
