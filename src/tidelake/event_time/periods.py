"""When each fact of a table held: from its event time until the next fact about its key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from tidelake.engine import Engine, Reading
from tidelake.event_time import periods_sql as plan_of
from tidelake.event_time.plan_as_of import unplaced_condition
from tidelake.event_time.state import check_placed
from tidelake.event_time.values.ranges import SystemRange, ValidRange
from tidelake.event_time.versions import Versions
from tidelake.model.event_time import EventTime
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER, Schema
from tidelake.plan.as_of import by_keys
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest
from tidelake.session.readable import Read
from tidelake.session.source import Source

_CHOSEN = "_tidelake_chosen"
Moment = int | str | date


class Periods(LazyRows):
    """The facts that held at some time of a range: the table's columns, then `valid_from` and
    `valid_to`, which is NULL for what still holds. Tombstones end facts and are none themselves.
    Immutable; every `to_*` plans afresh. All facts are read, whatever the range: the next one may
    be far away."""

    def __init__(self, source: Source, within: ValidRange) -> None:
        self.source = source
        self._session = source.session
        self._within = within

    def versions(self, start: Moment | None = None, end: Moment | None = None) -> Versions:
        """The same as the lake ever knew it from `start` until before `end` (snapshot ids, times or
        tags; None is no bound), each with when that was: `known_from`, `known_to`. In SQL:
        FOR VALID_TIME … FOR SYSTEM_TIME FROM … TO …."""
        return Versions(self.source, SystemRange(start, end), self._within)

    def reads(self) -> Iterator[Read]:
        """All facts of the table."""
        plan = self._session.plan(
            self.source.name, self.source.snapshot_id, ReadRequest(counted=True)
        )
        yield self.source, plan

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        name, at = self.source.name, self.source.snapshot_id
        event, schema = self._checked()
        plan = self._session.plan(name, at, ReadRequest((*schema.names, ROW_NUMBER)))
        job = engine.job(f"cannot read the periods of {name}")
        job.scan(plan_of.FACTS, plan)
        job.define(plan_of.HELD, plan_of.held_sql(event, schema))
        names = plan_of.bounds(schema)
        tests = plan_of.tests_within(event, names, self._within)
        job.define(_CHOSEN, f"SELECT * FROM {plan_of.HELD} WHERE {' AND '.join(tests)}")
        by = f"{by_keys(event.key)}, {quote(names[0])}"
        return job.reading(f"SELECT * FROM {_CHOSEN}{f' ORDER BY {by}' if ordered else ''}")

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
