"""Changes to a stretch of event time, told as facts: from its beginning on other ones hold, and
from its end on what would have held without them.

Nothing is rewritten, so that what was known before stays as it was. A fact of the same key and
time that is committed later takes the place of the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidelake.coverage.overlap import AppendedRows, stage_rows
from tidelake.engine import Job
from tidelake.errors import Invalid
from tidelake.event_time import periods_sql as plan_of
from tidelake.event_time.facts import without_tombstone
from tidelake.event_time.plan_as_of import unplaced_condition
from tidelake.event_time.state import check_placed
from tidelake.event_time.values.ranges import ValidRange
from tidelake.model.change import WriteResult
from tidelake.model.event_time import EventTime
from tidelake.model.literal import sql_literal
from tidelake.model.names import TableName, quote
from tidelake.model.predicate import Predicate
from tidelake.model.schema import ROW_NUMBER
from tidelake.plan.as_of import divide_condition, together
from tidelake.plan.where import Where, as_where
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.write import rows as writes
from tidelake.write.assignment import without_rows

_CHANGED, _BEHIND = "_tidelake_changed", "_tidelake_behind"
Condition = str | Predicate | None


def update_portion(
    tx: DraftSession,
    name: TableName,
    portion: ValidRange,
    change: tuple[Mapping[str, Any] | None, Condition],
    values: Mapping[str, Any] | None = None,
) -> WriteResult:
    """Set columns for the times of a portion. The change is what they are set to, as `update` takes
    it, and of which facts; a fact is looked at for each period in which it holds."""
    given, where = change
    work = _Work.of(tx, name, portion, where)
    wanted = writes.assignment_of(work.draft, given, values)
    _check_free(work, {*wanted.expressions, *wanted.values})
    tx.check_computed(where, *wanted.expressions.values())
    schema = work.draft.after.schema
    with tx.job(f"cannot update {name}") as job:
        empty = without_rows(((c.name, c) for c in schema), "t")
        found = wanted.checked(job, schema, empty, str(name))
        matched = work.keep(job)
        return work.add(job, matched, found, wanted.over(f"{_CHANGED} AS t"), "update")


def delete_portion(
    tx: DraftSession, name: TableName, portion: ValidRange, where: Condition
) -> WriteResult:
    """For the times of a portion, keys whose facts meet a condition are not there."""
    if where is None or (isinstance(where, str) and not where.strip()):
        raise Invalid(
            f"delete() needs a condition: what is to go from {name}?",
            hint='t.delete("true") for all',
        )
    work = _Work.of(tx, name, portion, where)
    end = work.event.tombstone
    if end is None:
        raise without_tombstone(work.draft.after, work.event)
    tx.check_computed(where)
    with tx.job(f"cannot delete from {name}") as job:
        matched = work.keep(job)
        return work.add(job, matched, {end.id: "TRUE"}, f"{_CHANGED} AS t", "delete")


def _check_free(work: _Work, ids: set[int]) -> None:
    """What a fact is about, and when it holds, is no part of what it says."""
    event = work.event
    fixed = [*event.key, event.time, *([event.valid_to] if event.valid_to else [])]
    for column in fixed:
        if column.id in ids:
            raise Invalid(
                f"{column.name!r} cannot be set for a portion of event time: it says what a fact is"
                " about, or when it holds",
                hint="name the times with FROM … TO …, and put facts about other keys",
            )


@dataclass(frozen=True, slots=True)
class _Work:
    """A change of a portion, as a transaction sees the table."""

    tx: DraftSession
    draft: TableDraft
    event: EventTime
    portion: ValidRange
    where: Where | None

    @staticmethod
    def of(tx: DraftSession, name: TableName, portion: ValidRange, where: Condition) -> _Work:
        draft = writes.writable(tx, name)
        event = EventTime.of(draft.after, tx.base)
        for what, moment in (("start", portion.start), ("end", portion.end)):
            if moment is not None:
                event.exactly(moment, what)
        draft.depends_on_inserts = draft.depends_on_any_change = True
        return _Work(tx, draft, event, portion, as_where(where, draft.after.schema))

    def keep(self, job: Job) -> int:
        """Keep the periods that are changed, whole; how many they are."""
        schema, name = self.draft.after.schema, self.draft.after.name
        if (unplaced := unplaced_condition(self.event)) is not None:
            asked = ReadRequest((self.event.time.name,), unplaced)
            check_placed(self.tx, self.tx.plan(name, None, asked), self.event)
        early, _ = divide_condition(self.where, self.event)
        if self.portion.end is not None:
            early.append(self.event.until(self.portion.end))
        before = together(early)
        asked = ReadRequest(
            (*schema.names, ROW_NUMBER), None if before is None else before.predicate
        )
        job.scan(plan_of.FACTS, self.tx.plan(name, None, asked))
        job.define(plan_of.HELD, plan_of.held_sql(self.event, schema))
        tests = plan_of.tests_within(self.event, plan_of.bounds(schema), self.portion)
        tests += [] if self.where is None else [f"({self.where.sql})"]
        return job.keep(_CHANGED, f"SELECT * FROM {plan_of.HELD} WHERE {' AND '.join(tests)}")

    def add(
        self, job: Job, matched: int, given: Mapping[int, str], source: str, operation: str
    ) -> WriteResult:
        """Stage the facts of the portion, with what is given for some columns, and those that hold
        behind it."""
        if not matched:
            return writes.result([], rows=0, operation=operation)
        start, stop = self._times()
        own = {**given, self.event.time.id: start}
        if self.event.valid_to is not None:
            own[self.event.valid_to.id] = stop
        sql = f"SELECT {self._chosen(own)} FROM {source}"
        count = matched
        if (behind := self._behind()) is not None:
            job.define(_BEHIND, behind)
            ((more,),) = job.rows(f"SELECT count(*) FROM {_BEHIND}")
            count += more
            sql = f"{sql} UNION ALL SELECT * FROM {_BEHIND}" if more else sql
        added = stage_rows(self.tx, self.draft, job, AppendedRows(sql, count, True))
        writes.check_nulls(self.draft, added.files)
        return replace(writes.added_result(added), operation=operation)

    def _times(self) -> tuple[str, str]:
        """Since when and until when a changed period holds, as SQL."""
        begin, end = (f"t.{quote(name)}" for name in plan_of.bounds(self.draft.after.schema))
        if self.portion.start is not None:
            first = self._literal(self.portion.start)
            begin = f"CASE WHEN {begin} < {first} THEN {first} ELSE {begin} END"
        if self.portion.end is not None:
            last = self._literal(self.portion.end)
            end = f"CASE WHEN {end} IS NULL OR {end} > {last} THEN {last} ELSE {end} END"
        return begin, end

    def _behind(self) -> str | None:
        """What would have held at the end of the portion, as facts that begin there. Facts that
        end by themselves need none: behind them those before them hold again."""
        if self.portion.end is None or self.event.valid_to is not None:
            return None
        end = f"t.{quote(plan_of.bounds(self.draft.after.schema)[1])}"
        last = self._literal(self.portion.end)
        chosen = self._chosen({self.event.time.id: last})
        return f"SELECT {chosen} FROM {_CHANGED} AS t WHERE {end} IS NULL OR {end} > {last}"

    def _chosen(self, given: Mapping[int, str]) -> str:
        return ", ".join(
            f"{given.get(c.id, f't.{quote(c.name)}')} AS {quote(c.name)}"
            for c in self.draft.columns
        )

    def _literal(self, moment: int) -> str:
        value = sql_literal(self.event.exactly(moment))
        return f"CAST({value} AS {self.event.time.duckdb_type})"
