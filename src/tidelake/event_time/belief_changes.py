"""What a lake thinks otherwise by now of the same moment, read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid
from tidelake.event_time import belief_changes_sql as plan_of
from tidelake.event_time.belief_changes_sql import BeliefPlan
from tidelake.event_time.plan_as_of import plan_as_of, plan_unplaced
from tidelake.event_time.rollups.search import best_rollup
from tidelake.event_time.state import check_placed, plan_state
from tidelake.history.changes import (
    Span,
    check_same,
    define,
    facts_until,
    plan_changes,
    snapshots_between,
)
from tidelake.history.changes_sql import ChangePlan
from tidelake.model.event_time import EventTime, moment_text
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.plan.as_of import together
from tidelake.plan.differs import PAIRS, differing_sql
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import BoundRequest, ReadRequest
from tidelake.session.readable import Read
from tidelake.session.session import Session
from tidelake.session.source import Source

if TYPE_CHECKING:
    from tidelake.plan.scan import ScanPlan

Moment = int | str | date


def belief_changes_of(source: Source, since: Moment) -> BeliefChanges:
    """What was thought of keys then and is thought now, as of the moment that the table has."""
    if source.as_of is None:
        raise Invalid(
            f"changes of belief need a moment: as of when is {source.name} asked?",
            hint='t.as_of("2024-03-15").changes_of_belief(since=…); t.changes(since) has all',
        )
    return BeliefChanges(source.session.committed, source.name, source.as_of, since, source.end())


class BeliefChanges(LazyRows):
    """The keys whose state as of a moment was another at an earlier snapshot: the key, `change`
    ('appeared', 'vanished', 'changed'), and of every other column `…_before` and `…_after`.
    Columns, key and event time are as declared at the later snapshot. Immutable; every `to_*`
    plans afresh."""

    def __init__(
        self, session: Session, name: TableName, as_of: int, since: Moment, known_at: int | None
    ) -> None:
        self._session = session
        self._name = name
        self._as_of = as_of
        self._since = since
        self._known_at = known_at

    def reads(self) -> Iterator[Read]:
        """The table's two states, whole: which keys may differ is found out by reading."""
        with self._session.reading() as reader:
            span = self._span(reader)
        asked = ReadRequest(counted=True)
        for at in (span.after, span.until):
            source = Source(self._session, self._name, at, self._as_of)
            yield source, plan_state(self._session, self._name, at, self._as_of, asked)

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        """Only keys about which rows came or went can have another answer. Where these are few,
        it is they that are asked for."""
        doing = f"cannot compare what was known of {self._name}"
        with self._session.reading() as reader:
            span = self._span(reader)
            event = EventTime.of(span.facts.info, span.until)
            until = together([event.until(self._as_of)])
            changes = plan_changes(reader, span, (*event.key, event.time), until)
            doubtful = _unplaced(reader, span, event)
        for each in doubtful:
            check_placed(self._session, each, event)
        keys = _few_keys(engine, doing, changes, event)
        with self._session.reading() as reader:
            for at in (span.after, span.until):
                snapshots.check_there(reader, at)
            plan = self._plan(reader, span, keys)
        job = engine.job(doing)
        job.scan(plan_of.BEFORE, plan.before)
        job.scan(plan_of.AFTER, plan.after)
        job.define(PAIRS, plan_of.pairs_sql(plan))
        job.define(plan_of.DIFFERING, differing_sql(plan.values))
        return job.reading(plan_of.changes_sql(plan, ordered=ordered))

    def _span(self, reader: Reader) -> Span:
        last = self._session.at(reader) if self._known_at is None else self._known_at
        first = self._session.resolve(reader, self._since).snapshot_id
        if first > last:
            raise Invalid(
                f"snapshot {first} is later than {last}, the one whose answer is asked for",
                hint="give an earlier since=, or a later known_at",
            )
        info = self._session.table_info(reader, last, self._name)
        check_same(reader, self._name, info.id, first)
        facts = facts_until(reader, info, last)
        return Span(facts, first, last, None, snapshots_between(reader, first, last))

    def _plan(self, reader: Reader, span: Span, keys: Predicate | None) -> BeliefPlan:
        request = BoundRequest(None, None if keys is None else together([keys]))
        info = span.facts.info
        plans = []
        for at in (span.after, span.until):
            best = best_rollup(self._session, reader, at, info, request, self._as_of)
            plans.append(plan_as_of(reader, at, span.facts, request, self._as_of, rollup=best))
        return BeliefPlan(*plans)

    def __repr__(self) -> str:
        return f"<changes of belief in {self._name} as of {moment_text(self._as_of)}>"


def _few_keys(
    engine: Engine, doing: str, changes: ChangePlan, event: EventTime
) -> Predicate | None:
    """A condition that keeps all keys of the changes, and not many more; None if they are many."""
    if not plan_of.can_list(event):
        return None
    with engine.job(doing) as job:
        define(job, changes)
        return plan_of.among(event, job.rows(plan_of.touched_sql(event)))


def _unplaced(reader: Reader, span: Span, event: EventTime) -> list[ScanPlan | None]:
    """Rows without a key or a time at both ends. Before the columns were declared, they may have
    held nulls."""
    key = tuple(replace(column, nullable=True) for column in event.key)
    loose = replace(event, key=key, time=replace(event.time, nullable=True))
    return [
        plan_unplaced(reader, span.after, span.facts, loose),
        plan_unplaced(reader, span.until, span.facts, event),
    ]
