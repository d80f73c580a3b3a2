"""What a lake thinks otherwise by now of the same moment, read when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database import Reader
from tidelake.errors import Invalid
from tidelake.model.event_time import EventTime, spelled
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.plan import belief as plan_of
from tidelake.plan.belief import BeliefPlan
from tidelake.session.as_of import plan_as_of, unplaced
from tidelake.session.changes import check_same, facts_until
from tidelake.session.lazy import LazyRows
from tidelake.session.planning import Request

if TYPE_CHECKING:
    from tidelake.plan.scan import ScanPlan
    from tidelake.session.lake import Lake

Moment = int | str | datetime


class BeliefChanges(LazyRows):
    """The keys whose state as of a moment was another at an earlier snapshot: the key, `change`
    ('appeared', 'vanished', 'changed'), and of every other column `…_before` and `…_after`.
    Columns, key and event time are as declared at the later snapshot. Immutable; every `to_*`
    plans afresh."""

    def __init__(
        self, lake: Lake, name: TableName, as_of: int, since: Moment, known_at: int | None
    ) -> None:
        self._lake = lake
        self._name = name
        self._as_of = as_of
        self._since = since
        self._known_at = known_at

    def plan(self) -> BeliefPlan:
        """Which files and rows tell both answers."""
        with self._lake._reading() as reader:
            plan, doubtful = self._planned(reader)
        for each in doubtful:
            self._lake._check_placed(each, plan.event)
        return plan

    def _planned(self, reader: Reader) -> tuple[BeliefPlan, list[ScanPlan | None]]:
        last = self._lake._at(reader) if self._known_at is None else self._known_at
        first = self._lake._snapshot(reader, self._since).snapshot_id
        if first > last:
            raise Invalid(
                f"snapshot {first} is later than {last}, the one whose answer is asked for",
                hint="give an earlier since=, or a later known_at",
            )
        info = self._lake._table_info(reader, last, self._name)
        check_same(reader, self._name, info.id, first)
        facts = facts_until(reader, info, last)
        plans = [plan_as_of(reader, at, facts, Request(), self._as_of) for at in (first, last)]
        event = plans[1].event
        doubtful = [
            unplaced(reader, first, facts, _loose(event)),
            unplaced(reader, last, facts, event),
        ]
        return BeliefPlan(*plans), doubtful

    def files(self) -> list[DataFile]:
        """The data files that would be read."""
        plan = self.plan()
        found = {file.id: file for each in (plan.before, plan.after) for file in each.files}
        return [found[file_id] for file_id in sorted(found)]

    def _reading(self, engine: Any, *, ordered: bool = True) -> Any:
        plan = self.plan()
        job = engine.job(f"cannot compare what was known of {self._name}")
        job.scan(plan_of.BEFORE, plan.before)
        job.scan(plan_of.AFTER, plan.after)
        job.define(plan_of.PAIRS, plan_of.pairs_sql(plan))
        job.define(plan_of.DIFFERING, plan_of.differing_sql(plan.values))
        return job.reading(plan_of.changes_sql(plan, ordered=ordered))

    def __repr__(self) -> str:
        return f"<changes of belief in {self._name} as of {spelled(self._as_of)}>"


def _loose(event: EventTime) -> EventTime:
    """Before the columns were declared, they may have held nulls."""
    key = tuple(replace(column, nullable=True) for column in event.key)
    return replace(event, key=key, time=replace(event.time, nullable=True))
