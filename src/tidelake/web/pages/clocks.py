"""Two clocks: where the facts of a table lie in both times, and the answer for one point."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tidelake.errors import Invalid
from tidelake.event_time.values.plane import Plane
from tidelake.model import json_values
from tidelake.model.event_time import EventTime, names
from tidelake.model.names import quote
from tidelake.web import code
from tidelake.web.code import Snippet
from tidelake.web.queries import Grid, grid_of
from tidelake.web.site import Ask
from tidelake.web.state import moment_of

if TYPE_CHECKING:
    from tidelake.lake.table import Table

SHOWN = 100
_MOST_BELIEFS = 2000
_MILLION = 1_000_000
_TIMES = ("valid_from", "valid_to", "known_from", "known_to")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered at the point, and what differs from the other point."""

    grid: Grid
    key: tuple[str, ...]
    time: str | None
    code: list[Snippet]
    snapshot: str
    changes: Grid | None = None

    @property
    def late(self) -> int:
        """How many of the changes are because of facts that came late."""
        if self.changes is None:
            return 0
        place = self.changes.columns.index("late")
        return sum(bool(row[place]) for row in self.changes.rows)


def show(ask: Ask) -> Response:
    """The page without its picture, which comes when it is there."""
    tables = ask.tables_with("key", "event_time")
    name = ask.state.table or (tables[0] if tables else "")
    if not name:
        return ask.page("clocks.html", table=None, event=None, tables=tables)
    table = ask.lake.table(name)
    event = EventTime.maybe(table.info)
    ask = Ask(ask.request, ask.site, ask.lake, ask.state.moved(table=table.name))
    ask.site.queries.warm(ask.lake)
    return ask.page("clocks.html", table=table, event=event, tables=tables)


def plane(ask: Ask) -> Response:
    """What the picture shows, in milliseconds since 1970 and snapshot ids."""
    table = ask.lake.table(ask.state.table)
    found: Plane = ask.keep(("plane", table.name), table.plane)
    marks = [[number, time.timestamp() * 1000] for number, time in found.marks]
    cells = [
        [
            cell.first / _MILLION,
            cell.last / _MILLION,
            cell.known_from,
            cell.known_to,
            cell.rows,
            int(cell.late),
        ]
        for cell in found.cells
    ]
    told: dict[str, Any] = {"marks": marks, "cells": cells, "rows": found.rows}
    if ask.state.key:
        told["beliefs"] = _beliefs(table, ask.state.key)
    if known := moment_of(ask.state.known_at):
        told["known_at"] = _snapshot(ask, known)
    if other := moment_of(ask.state.from_known_at):
        told["from_known_at"] = _snapshot(ask, other)
    return ask.json(told)


def _snapshot(ask: Ask, moment: int | str) -> int:
    with ask.lake.session.reading() as reader:
        return ask.lake.session.resolve(reader, moment).snapshot_id


def key_of(table: Table, text: str) -> dict[str, object]:
    """A key as somebody types it: its value, or a JSON object by column."""
    info = table.info
    with table.source.session.reading() as reader:
        event = EventTime.of(info, table.source.at(reader))
    given: object = text
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
        except ValueError:
            raise Invalid(f"{text!r} is no JSON object", hint='write {"column": value}') from None
    found = dict(event.key_values(given))
    for column in event.key:
        value = found[column.name]
        if isinstance(value, str) and "int" in column.type:
            try:
                found[column.name] = int(value)
            except ValueError:
                raise Invalid(
                    f"{value!r} is no {column.duckdb_type}, which {column.name} is",
                    hint="give a number",
                ) from None
    return found


def _beliefs(table: Table, text: str) -> list[dict[str, Any]]:
    """The rectangles of belief of a key, each with what was believed."""
    found = table.history(key_of(table, text)).to_arrow()
    listed = []
    for row in _dicts(found.slice(0, _MOST_BELIEFS)):
        bounds = {each: _milliseconds(row.pop(each)) for each in _TIMES}
        listed.append({**bounds, "row": row})
    return listed


def _dicts(table: Any) -> list[dict[str, Any]]:
    """Rows by column; bounds stay what they are."""
    bounds = {each: json_values.python_values(table.column(each)) for each in _TIMES}
    plain = [row for batch in table.to_batches() for row in json_values.rows(batch)]
    rows = [dict(zip(table.column_names, row, strict=True)) for row in plain]
    return [
        {**row, **{each: bounds[each][place] for each in _TIMES}} for place, row in enumerate(rows)
    ]


def _milliseconds(value: object) -> float | None:
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp() * 1000
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp() * 1000
    return None


def answer(ask: Ask) -> Response:
    """The rows for the point, and what differs from the other point if there is one."""
    table = ask.lake.table(ask.state.table)
    state = ask.state.moved(table=table.name)
    ask = Ask(ask.request, ask.site, ask.lake, state)
    pinned = table if state.known is None else table.known_at(state.known)
    info = pinned.info
    event = EventTime.maybe(info)
    if state.as_of and event is None:
        pinned.as_of(state.as_of)  # which says what is missing
    key = () if event is None else names(event.key)
    where = _of_key(table, state.key) if state.key else state.where
    asked = state.moved(where=where)
    sql = code.select_sql(asked, [quote(each) for each in key], SHOWN + 1)
    changes = None
    if event is not None and (state.from_as_of or state.from_known_at):
        columns = [column.name for column in info.schema if not column.is_nested]
        compared = code.comparison_sql(state, key, columns, event.time.name)
        changes = _rows(ask, f"{compared}\nLIMIT {SHOWN + 1}")
    snippets = (
        code.history_of_key(ask.where, state, key_of(table, state.key))
        if state.key
        else code.scan(ask.where, state)
    )
    found = Answer(
        _rows(ask, sql),
        key,
        None if event is None else event.time.name,
        snippets,
        state.known_at or "now",
        changes,
    )
    return ask.fragment("clocks_answer.html", answer=found)


def _of_key(table: Table, text: str) -> str:
    return " AND ".join(
        f"{quote(name)} = {_literal(value)}" for name, value in key_of(table, text).items()
    )


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _rows(ask: Ask, sql: str) -> Grid:
    with ask.site.queries.one(ask.lake) as asked:
        return grid_of(asked.batches(sql, SHOWN + 1, "", None), SHOWN)
