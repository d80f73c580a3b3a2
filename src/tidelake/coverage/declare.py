"""Declaring that a table is a series whose coverage is kept, and when its rows are expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tidelake.coverage.question import several
from tidelake.coverage.values.calendar import Calendar
from tidelake.coverage.values.calendar_text import calendar_of
from tidelake.coverage.values.calendars import TAG as CALENDARS
from tidelake.coverage.values.calendars import Calendars
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model.change import WriteResult
from tidelake.model.names import TableName
from tidelake.model.settings import PREFIX, Settings, settings_from_names
from tidelake.model.table import TableInfo
from tidelake.session.drafting import DraftSession

_OF_SERIES = ("entity", "bucket", "overlap")


def set_coverage(
    tx: DraftSession,
    name: TableName,
    bucket: str | int | timedelta | None,
    entity: str | Sequence[str],
    event_time: str | None,
    overlap: str | None,
) -> WriteResult:
    draft = tx.draft(name)
    table = draft.after
    before = Settings.of(table.tags)
    clock = _clock(table, before, event_time)
    keys = [column.name for column in table.schema if column.id in before.key]
    wanted = settings_from_names(
        table.schema,
        key=keys,
        event_time=clock if bucket is not None or before.key else None,
        entity=entity,
        bucket=bucket,
        overlap=overlap,
    )
    kept = {*_OF_SERIES, *(() if before.key else ("event_time",))}
    others = {tag: v for tag, v in table.tags.items() if tag.removeprefix(PREFIX) not in kept}
    added = {tag: v for tag, v in wanted.tags().items() if tag.removeprefix(PREFIX) in kept}
    if bucket is None:
        others.pop(CALENDARS, None)
    after = replace(table, tags={**others, **added})
    _check_calendars(table, after)
    draft.after = after
    return WriteResult(None, operation="set coverage")


def set_calendar(
    tx: DraftSession, name: TableName, calendar: Calendar | str | None, entity: Any
) -> WriteResult:
    draft = tx.draft(name)
    table = draft.after
    series = Series.of(table, tx.base)
    given = calendar_of(calendar) if isinstance(calendar, str) else calendar
    if given is not None and not isinstance(given, Calendar):
        raise Invalid(
            f"calendar={calendar!r} is no calendar",
            hint='tidelake.Calendar.weekdays(), .sessions(…), .exchange(…), or "weekdays"',
        )
    if given is not None:
        given.check_fits(series)
    listed = several(entity)
    entities = None if listed is None else [series.given(each) for each in listed]
    if given is None and entities is None:
        found = Calendars()  # whatever there was
    else:
        found = Calendars.of_tags(table.tags, series).changed(given, entities)
    tags = {tag: value for tag, value in table.tags.items() if tag != CALENDARS}
    if found:
        tags[CALENDARS] = found.text(series)
    draft.after = replace(table, tags=tags)
    return WriteResult(None, operation="set calendar")


def _check_calendars(before: TableInfo, after: TableInfo) -> None:
    """The calendars that the table keeps must go on to mean something."""
    then, now = Series.maybe(before), Series.maybe(after)
    if CALENDARS not in after.tags or then is None or now is None:
        return
    kept = Calendars.of_tags(before.tags, then)
    if kept.own and [c.id for c in then.entity] != [c.id for c in now.entity]:
        raise Invalid(
            f"some entities of {before.name} have calendars of their own, and would be no more",
            hint="t.set_calendar(None), or with entity=[…] for these, and declare them again",
        )
    kept.check_fit(now)


def _clock(table: TableInfo, before: Settings, event_time: str | None) -> str | None:
    """The event time: what is given, else what was. That of facts stays."""
    known = next((c.name for c in table.schema if c.id == before.event_time), None)
    if event_time is None or known is None:
        return event_time or known
    if before.key and table.schema.column(event_time).id != before.event_time:
        raise Invalid(
            f"the event time of {table.name} is {known!r}, by which its facts hold",
            hint="leave event_time out, or change it with t.set_event_time",
        )
    return event_time
