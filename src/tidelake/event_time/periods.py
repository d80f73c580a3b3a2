"""When each fact of a table held: from its event time until the next fact about its key.

The order of facts is that of the winner as of a moment: by event time, then by row id. Of two of
one time the earlier row held for no time at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid
from tidelake.event_time.plan_as_of import unplaced_condition
from tidelake.event_time.state import check_placed
from tidelake.history.changes_sql import free_names
from tidelake.model.event_time import EventTime, moment_text
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Schema
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest
from tidelake.session.source import Source

_FACTS, _HELD = "_tidelake_facts", "_tidelake_held"


@dataclass(frozen=True, slots=True)
class ValidRange:
    """From `start` until before `end`, or if it is `closed` until `end` itself, in nanoseconds
    since 1970; None is no bound."""

    start: int | None = None
    end: int | None = None
    closed: bool = False

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise Invalid(
                f"{moment_text(self.start)} is after {moment_text(self.end)}",
                hint="exchange them: a range begins with the earlier moment",
            )


class Periods(LazyRows):
    """The facts that held at some time of a range: the table's columns, then `valid_from` and
    `valid_to`, which is NULL for what still holds. Tombstones end facts and are none themselves.
    Immutable; every `to_*` plans afresh. All facts are read, whatever the range: the next one may
    be far away."""

    def __init__(self, source: Source, within: ValidRange) -> None:
        self.source = source
        self._session = source.session
        self._within = within

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        name, at = self.source.name, self.source.snapshot_id
        event, schema = self._checked()
        plan = self._session.plan(name, at, ReadRequest((*schema.names, ROW_NUMBER)))
        job = engine.job(f"cannot read the periods of {name}")
        job.scan(_FACTS, plan)
        job.define(_HELD, _held_sql(event, schema))
        sql = _within_sql(event, schema, self._within)
        if ordered:
            by = [*(column.name for column in event.key), _names(schema)[0]]
            sql += f" ORDER BY {', '.join(map(quote, by))}"
        return job.reading(sql)

    def _checked(self) -> tuple[EventTime, Schema]:
        """All facts must have a key and a time."""
        with self._session.reading() as reader:
            at = self.source.at(reader)
            info = self.source.info(reader, at)
            event = EventTime.of(info, at)
        if (unplaced := unplaced_condition(event)) is not None:
            asked = ReadRequest((event.time.name,), unplaced)
            doubtful = self._session.plan(self.source.name, self.source.snapshot_id, asked)
            check_placed(self._session, doubtful, event)
        return event, info.schema

    def __repr__(self) -> str:
        return f"<Periods of {self.source.name}>"


def _names(schema: Schema) -> tuple[str, str]:
    first, second = free_names(("valid_from", "valid_to"), schema)
    return first, second


def _held_sql(event: EventTime, schema: Schema) -> str:
    columns = ", ".join(quote(column.name) for column in schema)
    begin, end = map(quote, _names(schema))
    keys = ", ".join(quote(column.name) for column in event.key)
    time = quote(event.time.name)
    return (
        f"SELECT {columns}, {time} AS {begin}, lead({time}) OVER"
        f" (PARTITION BY {keys} ORDER BY {time}, {ROW_NUMBER}) AS {end} FROM {_FACTS}"
    )


def _within_sql(event: EventTime, schema: Schema, within: ValidRange) -> str:
    begin, end = _names(schema)
    tests = [f"({quote(end)} IS NULL OR {quote(end)} > {quote(begin)})"]
    if event.tombstone is not None:
        tests.append(f"coalesce({quote(event.tombstone.name)}, false) = false")
    if within.end is not None:
        last = within.end if within.closed else within.end - 1
        tests.append(replace(event, time=replace(event.time, name=begin)).until(last).sql())
    if within.start is not None:
        later = replace(event, time=replace(event.time, name=end)).after(within.start).sql()
        tests.append(f"({quote(end)} IS NULL OR {later})")
    return f"SELECT * FROM {_HELD} WHERE {' AND '.join(tests)}"
