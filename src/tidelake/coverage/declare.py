"""Declaring that a table is a series whose coverage is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

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
    draft.after = replace(table, tags={**others, **added})
    return WriteResult(None, operation="set coverage")


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
