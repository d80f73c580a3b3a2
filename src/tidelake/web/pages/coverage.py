"""Coverage: strips of heat for many entities, from years down to buckets, and what to fetch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from starlette.responses import Response

from tidelake.coverage.answer import Coverage
from tidelake.coverage.values.axis import short_text
from tidelake.coverage.values.calendar import Calendar
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.interval import interval
from tidelake.coverage.values.picture import Cell, Picture, join_cells, name_of, percent
from tidelake.coverage.values.series import Moment, Series
from tidelake.errors import Invalid
from tidelake.web import code
from tidelake.web.site import Ask
from tidelake.web.state import moment_of

if TYPE_CHECKING:
    from tidelake.lake.table import Table

SHOWN = 60
GAPS = 200
_CELLS = 240
_TICKS = 6
_SESSION = re.compile(r"(\d\d?:\d\d)\s*-\s*(\d\d?:\d\d)(?:\s+(\S+))?")


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a strip: from where to where, of 1000, and how much of it is covered (None:
    nothing is expected)."""

    x: float
    width: float
    share: float | None
    told: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    name: str
    ratio: str
    gaps: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the range that one can go into."""

    start: str
    end: str
    text: str


@dataclass(frozen=True, slots=True)
class Heat:
    """All strips of a range; `late` are buckets that came since the other snapshot."""

    heading: str
    ratio: str
    strips: tuple[Strip, ...]
    hidden: int
    ticks: tuple[Tick, ...]
    stretches: tuple[Stretch, ...]
    start: str
    end: str
    late: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    entity: str
    start: str
    end: str
    buckets: int


def show(ask: Ask) -> Response:
    tables = ask.tables_with("bucket", "event_time")
    name = ask.state.table or (tables[0] if tables else "")
    if not name:
        return ask.page("coverage.html", table=None, tables=tables, series=None, code=[])
    table = ask.lake.table(name)
    state = ask.state.moved(table=table.name)
    ask = Ask(ask.request, ask.site, ask.lake, state)
    series = Series.maybe(table.info)
    snippets = [] if series is None else code.coverage(ask.where, state, _spelled(ask))
    return ask.page("coverage.html", table=table, tables=tables, series=series, code=snippets)


def strips(ask: Ask) -> Response:
    return ask.fragment("coverage_strips.html", heat=_heat(ask))


def gaps(ask: Ask) -> Response:
    """What to fetch again, the first of it."""
    found = _coverage(ask)
    first = next(found.missing(GAPS + 1), [])
    listed = [
        Gap(name_of(entity), _text(gap.start), _text(gap.end), gap.buckets) for entity, gap in first
    ]
    return ask.fragment("coverage_gaps.html", gaps=listed[:GAPS], more=len(listed) > GAPS)


def _coverage(ask: Ask) -> Coverage:
    table = ask.lake.table(ask.state.table)
    state = ask.state
    series = _series(table)
    entity = None if not state.entity else _entity(series, state.entity)
    return table.coverage(
        entity,
        start=_moment(series, state.start),
        end=_moment(series, state.end),
        known_at=state.known,
        calendar=calendar_of(state.calendar),
    )


def _series(table: Table) -> Series:
    with table.source.session.reading() as reader:
        return Series.of(table.info, table.source.at(reader))


def _entity(series: Series, text: str) -> int | str | tuple[int | str, ...]:
    values = [part.strip() for part in text.split(",")] if len(series.entity) > 1 else [text]
    typed = [
        int(value) if "int" in column.type and value.lstrip("-").isdigit() else value
        for column, value in zip(series.entity, values, strict=False)
    ]
    return typed[0] if len(series.entity) == 1 else tuple(typed)


def _moment(series: Series, text: str) -> int | str | None:
    if not text:
        return None
    if series.clock.kind == COUNT:
        if not text.lstrip("-").isdigit():
            raise Invalid(f"{text!r} is no number", hint="the clock of the series counts")
        return int(text)
    return text


def calendar_of(text: str) -> Calendar | None:
    """`weekdays`, or hours of weekdays: `09:30-16:00 America/New_York`."""
    if not text:
        return None
    if text == "weekdays":
        return Calendar.weekdays()
    found = _SESSION.fullmatch(text.strip())
    if found is None:
        raise Invalid(
            f"{text!r} is no calendar", hint="write weekdays, or 09:30-16:00 America/New_York"
        )
    start, end, zone = found.groups()
    return Calendar.sessions(start, end, tz=zone or "UTC")


def _heat(ask: Ask) -> Heat:
    found = _coverage(ask)
    picture = found.picture(SHOWN)
    since = moment_of(ask.state.late_since)
    late = None if since is None else found.diff(since)
    late_rows = {} if late is None else _late_cells(late, picture)
    listed = tuple(
        Strip(
            row.name,
            percent(row.ratio),
            row.gaps,
            _blocks(picture, list(picture.cells(row, _CELLS)), late_rows.get(row.name, set())),
        )
        for row in picture.rows
    )
    return Heat(
        found.heading,
        percent(found.ratio),
        listed,
        picture.hidden,
        tuple(_ticks(picture)),
        tuple(_stretches(picture)),
        _text(found.start),
        _text(found.end),
        None if late is None else late.covered,
    )


def _late_cells(late: Coverage, picture: Picture) -> dict[str, set[int]]:
    """By entity, the first buckets of cells in which something came late."""
    shown = {row.name for row in picture.rows}
    found: dict[str, set[int]] = {}
    for row in late.picture(len(late.entities) or 1).rows:
        if row.name in shown and row.covered:
            found[row.name] = {
                cell.first for cell in picture.cells(row, _CELLS) if row.covered and cell.covered
            }
    return found


def _blocks(picture: Picture, cells: list[Cell], late: set[int]) -> tuple[Block, ...]:
    wide = 1000 / max(picture.buckets, 1)
    return tuple(
        Block(
            round((cell.first - picture.first) * wide, 2),
            round((cell.end - cell.first) * wide, 2),
            cell.share,
            picture.told(cell),
            came_late,
        )
        for came_late, some in groupby(cells, key=lambda cell: cell.first in late)
        for cell in join_cells(some)
    )


def _ticks(picture: Picture) -> list[Tick]:
    if not picture.buckets:
        return []
    edges = [picture.first + picture.buckets * place // _TICKS for place in range(_TICKS + 1)]
    return [
        Tick(
            round(1000 * (edge - picture.first) / picture.buckets, 1),
            short_text(_at(picture, edge)),
        )
        for edge in dict.fromkeys(edges)
    ]


def _at(picture: Picture, bucket: int) -> Moment:
    return interval(picture.series, bucket, bucket + 1, None).start


def _stretches(picture: Picture) -> list[Stretch]:
    """Twelve parts of the range, to go into; none when they would be less than a bucket."""
    if picture.buckets < 24:
        return []
    edges = [picture.first + picture.buckets * place // 12 for place in range(13)]
    return [
        Stretch(_text(_at(picture, a)), _text(_at(picture, b)), short_text(_at(picture, a)))
        for a, b in pairwise(edges)
    ]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        shown = value.astimezone(UTC) if value.tzinfo else value
        return shown.replace(tzinfo=None).isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def _spelled(ask: Ask) -> str:
    """The calendar in Python."""
    text = ask.state.calendar
    if not text:
        return ""
    if text == "weekdays":
        return "tidelake.Calendar.weekdays()"
    found = _SESSION.fullmatch(text.strip())
    if found is None:
        return ""
    start, end, zone = found.groups()
    return f'tidelake.Calendar.sessions("{start}", "{end}", tz="{zone or "UTC"}")'
