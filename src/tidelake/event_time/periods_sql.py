"""When each fact held, as SQL: from its event time until the next fact about its key.

The order of facts is that of the winner as of a moment: by event time, then by row id. Of two of
one time the earlier row held for no time at all. A fact that says itself until when it holds lets
those before it hold again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelake.event_time.values.ranges import ValidRange
from tidelake.history.changes_sql import free_names
from tidelake.model.event_time import EventTime
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Column, Schema
from tidelake.plan.as_of import by_keys

FACTS, HELD = "_tidelake_facts", "_tidelake_held"
_A, _B, _ROW = "_tidelake_a", "_tidelake_b", "_tidelake_winner"
_START, _STOP, _PLACE, _RUN = (
    "_tidelake_start",
    "_tidelake_stop",
    "_tidelake_place",
    "_tidelake_run",
)


def bounds(columns: Iterable[Column]) -> tuple[str, str]:
    """The names of the columns that say since when and until when a fact held."""
    first, second = free_names(("valid_from", "valid_to"), columns)
    return first, second


def held_sql(event: EventTime, schema: Schema) -> str:
    """All periods of the facts of a relation `FACTS`, tombstones' too."""
    begin, end = map(quote, bounds(schema))
    if event.valid_to is not None:
        listed = "".join(f"{_A}.{quote(column.name)}, " for column in schema)
        return (
            f"SELECT {listed}{_B}.{_START} AS {begin}, {_B}.{_STOP} AS {end} FROM {FACTS} AS {_A}"
            f" JOIN ({_runs_sql(event)}) AS {_B} ON {_A}.{ROW_NUMBER} = {_B}.{_ROW}"
        )
    columns = ", ".join(quote(column.name) for column in schema)
    time = quote(event.time.name)
    return (
        f"SELECT {columns}, {time} AS {begin}, lead({time}) OVER"
        f" (PARTITION BY {by_keys(event.key)} ORDER BY {time}, {ROW_NUMBER}) AS {end} FROM {FACTS}"
    )


def _runs_sql(event: EventTime) -> str:
    """From when to when each row held, which may be several times. Between two times at which
    something begins or ends for a key, one fact holds throughout."""
    assert event.valid_to is not None
    keys = ", ".join(quote(column.name) for column in event.key)
    time, until = quote(event.time.name), quote(event.valid_to.name)
    edges = (
        f"SELECT DISTINCT {keys}, {_START} FROM (SELECT {keys}, {time} AS {_START} FROM {FACTS}"
        f" UNION ALL SELECT {keys}, {until} AS {_START} FROM {FACTS} WHERE {until} IS NOT NULL)"
        f" AS {_A}"
    )
    spans = (
        f"SELECT {keys}, {_START}, lead({_START}) OVER (PARTITION BY {keys} ORDER BY {_START})"
        f" AS {_STOP} FROM ({edges}) AS {_A}"
    )
    same = " AND ".join(f"{_A}.{quote(c.name)} = {_B}.{quote(c.name)}" for c in event.key)
    own = ", ".join(f"{_A}.{quote(column.name)}" for column in event.key)
    there = (
        f"SELECT {own}, {_A}.{_START}, {_A}.{_STOP}, {_B}.{time} AS {_PLACE},"
        f" {_B}.{ROW_NUMBER} AS {_ROW} FROM ({spans}) AS {_A} JOIN {FACTS} AS {_B} ON {same}"
        f" AND {_B}.{time} <= {_A}.{_START}"
        f" AND ({_B}.{until} IS NULL OR {_B}.{until} > {_A}.{_START})"
    )
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY {keys}, {_START}"
        f" ORDER BY {_PLACE} DESC, {_ROW} DESC) AS {_RUN} FROM ({there}) AS {_A}"
    )
    before = f"OVER (PARTITION BY {keys} ORDER BY {_START})"
    begun = (
        f"SELECT {keys}, {_START}, {_STOP}, {_ROW}, CASE WHEN lag({_ROW}) {before} = {_ROW}"
        f" AND lag({_STOP}) {before} = {_START} THEN 0 ELSE 1 END AS {_RUN}"
        f" FROM ({ranked}) AS {_A} WHERE {_RUN} = 1"
    )
    runs = (
        f"SELECT {keys}, {_START}, {_STOP}, {_ROW}, sum({_RUN}) {before} AS {_PLACE}"
        f" FROM ({begun}) AS {_A}"
    )
    return (
        f"SELECT {_ROW}, min({_START}) AS {_START}, CASE WHEN count(*) = count({_STOP})"
        f" THEN max({_STOP}) ELSE NULL END AS {_STOP} FROM ({runs}) AS {_A}"
        f" GROUP BY {keys}, {_ROW}, {_PLACE}"
    )


def tests_within(event: EventTime, names: tuple[str, str], within: ValidRange) -> list[str]:
    """Conditions that a period of the range meets, and no tombstone."""
    begin, end = names
    if within.is_empty:
        return ["FALSE"]
    tests = [f"({quote(end)} IS NULL OR {quote(end)} > {quote(begin)})"]
    if event.tombstone is not None:
        tests.append(f"coalesce({quote(event.tombstone.name)}, false) = false")
    if within.end is not None:
        last = within.end if within.closed else within.end - 1
        tests.append(_named(event, begin).until(last).sql())
    if within.start is not None:
        later = _named(event, end).after(within.start).sql()
        tests.append(f"({quote(end)} IS NULL OR {later})")
    return tests


def _named(event: EventTime, name: str) -> EventTime:
    return replace(event, time=replace(event.time, name=name))
