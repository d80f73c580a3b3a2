"""An axis below a strip: round moments of a range, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tidelake.coverage.values.clock import COUNT, MONTHS, Clock
from tidelake.coverage.values.series import Moment, Series
from tidelake.model import instant

_EPOCH = datetime(1970, 1, 1)
_STEPS = (
    *("1ms", "2ms", "5ms", "10ms", "20ms", "50ms", "100ms", "200ms", "500ms"),
    *("1s", "2s", "5s", "15s", "30s", "1m", "2m", "5m", "15m", "30m", "1h", "3h", "6h", "12h"),
    *("1d", "2d", "1w", "1mo", "3mo", "6mo", "1y", "2y", "5y", "10y", "20y", "50y", "100y"),
    *("200y", "500y", "1000y", "5000y"),
)
_EARLIEST = instant.of_date(date.min) + instant.DAY
_LATEST = instant.of_date(date.max)


@dataclass(frozen=True, slots=True)
class Tick:
    """A round moment: so many buckets after the range begins."""

    bucket: int
    label: str


def ticks(series: Series, first: int, end: int, most: int) -> list[Tick]:
    """Round moments of the buckets from one id until before another, at most so many of them."""
    clock = series.clock
    begin, last = clock.number_of(first), clock.number_of(end)
    start, stop = clock.start(begin), clock.start(last)
    if clock.kind != COUNT:
        start, stop = max(start, _EARLIEST), min(stop, _LATEST)
    step = next((each for each in _steps(clock) if 0 < _count(each, start, stop) <= most), None)
    if step is None:
        return []
    numbers = range(step.number(start - 1) + 1, step.number(stop - 1) + 1)
    positions = [step.start(number) for number in numbers]
    return [Tick(clock.number(each) - begin, _label(each, step)) for each in positions]


def _steps(clock: Clock) -> list[Clock]:
    """Steps that are no finer than buckets, the shortest first."""
    if clock.kind == COUNT:
        rounds = [lead * 10**zeros for zeros in range(20) for lead in (1, 2, 5)]
        return [Clock(COUNT, width) for width in rounds if width >= clock.width]
    found = [Clock.of(step, "timestamp") for step in _STEPS]
    if clock.kind == MONTHS:
        return [step for step in found if step.kind == MONTHS and step.width >= clock.width]
    return [step for step in found if step.kind == MONTHS or step.width >= clock.width]


def _count(step: Clock, start: int, stop: int) -> int:
    return step.number(stop - 1) - step.number(start - 1) if start < stop else 0


def _label(position: int, step: Clock) -> str:
    if step.kind == COUNT:
        return f"{position:,}"
    time = _EPOCH + timedelta(microseconds=position // 1000)
    if step.kind == MONTHS:
        return f"{time:%Y}".zfill(4) if step.width % 12 == 0 else time.date().isoformat()[:7]
    if step.width >= instant.DAY or position % instant.DAY == 0:
        return time.date().isoformat()[5:]
    if step.width >= 60 * instant.SECOND:
        return time.time().isoformat("minutes")
    return time.time().isoformat("seconds" if step.width >= instant.SECOND else "milliseconds")


def span_of(start: Moment, end: Moment) -> str:
    """From a moment to another."""
    return " to ".join(short_texts([start, end]))


def short_texts(moments: Sequence[Moment]) -> list[str]:
    """Several moments, with their time of day if one of them has any."""
    timed = any(isinstance(each, datetime) and not _is_midnight(each) for each in moments)
    return [short_text(each, timed=timed) for each in moments]


def _is_midnight(moment: datetime) -> bool:
    return moment.time() == datetime.min.time()


def short_text(moment: Moment, *, timed: bool = False) -> str:
    """A moment in as few characters as tell it; `timed`: with its time of day in any case."""
    if isinstance(moment, int):
        return f"{moment:,}"
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if _is_midnight(moment) and not timed:
        return moment.date().isoformat()
    zone = "" if moment.tzinfo is None else "Z"
    exact = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    rounded = "minutes" if moment.second == 0 else "seconds"
    return (
        moment.replace(tzinfo=None).isoformat(" ", exact if moment.microsecond else rounded) + zone
    )
