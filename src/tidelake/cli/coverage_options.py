"""Which part of a series a command asks about, and what it expects there."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tidelake.cli.program import Function
from tidelake.cli.row_options import split_columns, value_of
from tidelake.model.names import fold

if TYPE_CHECKING:
    from tidelake.coverage.answer import Coverage
    from tidelake.coverage.values.calendar import Calendar
    from tidelake.coverage.values.series import Moment, Series
    from tidelake.lake.table import Table

_CALENDAR = ("weekdays", "sessions", "exchange", "always", "holidays")
_NOW = re.compile(r"now(?:\s*-\s*(?P<span>.+))?", re.IGNORECASE)


def calendar_options(function: Function) -> Function:
    """When rows are expected. A command takes them as one argument, `calendar`."""

    @wraps(function)
    def with_calendar(*args: Any, **given: Any) -> Any:
        said = {name: given.pop(name) for name in _CALENDAR}
        return function(*args, calendar=_calendar(**said), **given)

    for option in (
        click.option("--holidays", metavar="FILE", help="Days without rows, one date on a line."),
        click.option(
            "--sessions",
            metavar="'HH:MM-HH:MM [ZONE]'",
            help="Expect rows in this time of weekdays only [zone: UTC].",
        ),
        click.option("--weekdays", is_flag=True, help="Expect rows from Monday to Friday only."),
        click.option("--always", is_flag=True, help="Expect rows at all times."),
        click.option(
            "--exchange",
            metavar="CODE",
            help="Expect rows when this exchange trades, such as XNYS.",
        ),
    ):
        with_calendar = option(with_calendar)
    return cast(Function, with_calendar)


def entity_option(function: Function) -> Function:
    return click.option(
        "--entity",
        "entities",
        metavar="VALUE",
        multiple=True,
        help="Only this entity; of several columns A=X,B=Y or JSON. May be given again.",
    )(function)


def range_options(function: Function) -> Function:
    """Which part of which series is looked at, and what is expected of it."""
    function = calendar_options(function)
    for option in (
        click.option(
            "--end",
            metavar="TIME",
            help="Until before this: a time, `now` or `now - 1h` [default: after the last row; of a"
            " table with a calendar, now].",
        ),
        click.option(
            "--start",
            metavar="TIME",
            help="From this on: a time, `now` or `now - 7d` [default: the first row].",
        ),
        entity_option,
    ):
        function = option(function)
    return function


def coverage_of(
    table: Table,
    entities: Sequence[str],
    start: str | None,
    end: str | None,
    calendar: Calendar | None,
) -> Coverage:
    """The coverage that the options of a command ask for."""
    from tidelake.coverage.values.series import Series

    series = Series.maybe(table.info)
    return table.coverage(
        entities_of(table, entities),
        start=moment_of(series, start, "start"),
        end=moment_of(series, end, "end"),
        calendar=calendar,
    )


def entities_of(table: Table, entities: Sequence[str]) -> list[Any] | None:
    """Those that are named; None if none is."""
    from tidelake.coverage.values.series import Series

    series = Series.maybe(table.info)
    return [_entity(series, text) for text in entities] or None if series else None


def until_now(table: Table, calendar: Calendar | None) -> str | None:
    """The end of a range in which a feed that has died is missed; integers have no now, and where
    the table's own calendars hold, time itself is the end."""
    from tidelake.coverage.values.series import Series

    series = Series.maybe(table.info)
    counts = series is None or series.clock.kind == "count"
    own = calendar is None and table.calendars
    return None if counts or own else "now"


def length(text: str) -> int | str:
    """A number of buckets, or a length of time."""
    return int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else text


def moment_of(series: Series | None, text: str | None, what: str) -> Moment | str | None:
    if text is None or series is None:
        return text
    if series.clock.kind == "count":
        return int(text) if re.fullmatch(r"[+-]?\d{1,20}", text, re.ASCII) else text
    relative = _NOW.fullmatch(text.strip())
    return text if relative is None else _since_now(series, relative["span"], what)


def _since_now(series: Series, span: str | None, what: str) -> Moment:
    """When the bucket begins in which the moment lies: it is not over yet, and may still fill."""
    from tidelake.model.age import moment_before

    now = datetime.now(UTC)
    moment = now if span is None else moment_before(now, span, name=what)
    return series.moment(series.clock.number(series.position(moment, what)))


def _entity(series: Series, text: str) -> Any:
    """A value, or values by column; each as the column has it, or as text if it is none."""
    columns = {fold(column.name): column for column in series.entity}
    if len(columns) == 1:
        return (value_of(series.entity[0], text),)
    if text.startswith(("{", "[")):
        return _from_json(text)
    pairs = [word.partition("=") for word in split_columns(text)]
    if not all(mark for _, mark, _ in pairs):
        listed = ",".join(f"{column.name}=…" for column in series.entity)
        raise click.UsageError(f"--entity {text} is not {listed or 'there: it has no columns'}")
    return {name: value_of(columns.get(fold(name)), value) for name, _, value in pairs}


def _from_json(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        raise click.UsageError(f"--entity {text} is no JSON") from None
    return tuple(found) if isinstance(found, list) else found


def _calendar(
    weekdays: bool, sessions: str | None, exchange: str | None, always: bool, holidays: str | None
) -> Calendar | None:
    from tidelake.coverage.values.calendar import Calendar
    from tidelake.coverage.values.calendar_text import SESSIONS

    if weekdays and sessions is not None:
        raise click.UsageError("--sessions are of weekdays: leave --weekdays out")
    if sum([weekdays or sessions is not None, exchange is not None, always]) > 1:
        raise click.UsageError("give one of --weekdays, --sessions, --exchange and --always")
    if not weekdays and sessions is None:
        if holidays is not None:
            raise click.UsageError("--holidays goes with --weekdays or --sessions")
        if exchange is not None:
            return Calendar.exchange(exchange)
        return Calendar.always() if always else None
    days = _dates(holidays) if holidays is not None else ()
    if sessions is None:
        return Calendar.weekdays(holidays=days)
    found = SESSIONS.fullmatch(sessions.strip())
    if found is None:
        raise click.UsageError(f"--sessions {sessions} is not like '09:30-16:00 Europe/Berlin'")
    opens, closes, zone = found.groups()
    return Calendar.sessions(opens, closes, tz=zone or "UTC", holidays=days)


def _dates(path: str) -> list[str]:
    """One on a line; what follows # is a remark."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--holidays {path} cannot be read: {error}") from None
    return [day for line in lines if (day := line.partition("#")[0].strip())]
