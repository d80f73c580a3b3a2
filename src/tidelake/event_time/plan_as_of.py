"""From a request for the state as of a moment to a plan of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.event_time.values.rollup import Rollup, RollupUse
from tidelake.model.event_time import EventTime, names
from tidelake.model.file import DataFile
from tidelake.model.predicate import Compare, IsNull, Or, Predicate
from tidelake.model.schema import LINEAGE, ROW_BEGAN, ROW_NUMBER
from tidelake.plan.as_of import AsOfPlan, divide_condition, together
from tidelake.plan.scan import PruneStep, ScanPlan
from tidelake.plan.where import Where
from tidelake.session.planning import BoundRequest, TableMeta, output_of, plan_all, plan_scan


def plan_as_of(
    reader: Reader,
    at: int,
    facts: TableMeta,
    request: BoundRequest,
    moment: int,
    *,
    rollup: Rollup | None = None,
    counted: bool = False,
) -> AsOfPlan:
    """Everything an engine needs to answer the request as of the moment, beginning with a rollup
    if one is given."""
    schema = facts.info.schema
    event = EventTime.of(facts.info, at)
    output = output_of(schema, request.columns)
    early, late = divide_condition(request.filter, event)
    hints, _ = divide_condition(request.hint, event)
    rest = together(late)
    wanted = _wanted(schema.names, event, {*output, *(rest.columns if rest else ())})
    known = () if request.facts is None else (request.facts,)
    conditions = (*early, *hints, *known)
    holds, lasts = event.holds_at(moment), event.not_ended(moment)
    facts_of = _Facts(reader, at, facts, wanted, conditions, holds, lasts)
    scan = facts_of.all(counted=counted) if counted or rollup is None else None
    plan = AsOfPlan(
        as_of=moment,
        event=event,
        parts=(scan,) if scan else (),
        columns=tuple(column for column in schema if column.name in wanted),
        output=output,
        where=rest.sql if rest else None,
        predicate=rest.predicate if rest else None,
        asked=request.filter.sql if request.filter else None,
        total_files=scan.total_files if scan else 0,
        pruned=scan.pruned if scan else (),
    )
    return plan if rollup is None else _beginning_with(rollup, plan, facts_of)


def condition_as_of(
    facts: TableMeta, at: int, request: BoundRequest, moment: int
) -> Predicate | None:
    """A condition that every row meets which has a say in the answer; None if all may have."""
    event = EventTime.of(facts.info, at)
    if any(column.nullable for column in (*event.key, event.time)):
        return None
    early, _ = divide_condition(request.filter, event)
    hints, _ = divide_condition(request.hint, event)
    where = together([*early, *hints, event.holds_at(moment)])
    return where.predicate if where else None


@dataclass(frozen=True, slots=True)
class _Facts:
    """The rows that may hold at a moment: those of the wanted keys that have begun by then, and
    not ended by themselves."""

    reader: Reader
    at: int
    table: TableMeta
    wanted: tuple[str, ...]
    keys: tuple[Predicate, ...]
    until: Predicate
    not_ended: Predicate | None

    def all(self, *, counted: bool = False) -> ScanPlan:
        return self._scan((self.until,), counted=counted)

    def of_rollup(self, rollup: Rollup) -> ScanPlan:
        """What the rollup has, of which some may have ended. All of it is early enough."""
        not_ended = () if self.not_ended is None else (self.not_ended,)
        where = together((*self.keys, *not_ended))
        return replace(
            plan_rollup(self.at, self.table, rollup, self.wanted),
            where=where.sql if where else None,
            predicate=where.predicate if where else None,
        )

    def later(self, rollup: Rollup, after: Predicate) -> ScanPlan:
        """Facts about a later time, from files whose rows were all there when it was made."""
        scan = self._scan((after, self.until), rows=False)
        return replace(scan, files=tuple(f for f in scan.files if _last(f) <= rollup.snapshot_id))

    def since(self, rollup: Rollup, after: Predicate) -> Iterator[ScanPlan]:
        """Facts that came after it was made, and with them those that compaction has put into the
        same files since: of these, if rows say when they came, only such about a later time."""
        made = rollup.snapshot_id
        scan = self._scan((self.until,), since=rollup.next_file_id)
        new = tuple(f for f in scan.files if f.begin_snapshot > made)
        yield replace(scan, files=new)
        mixed = tuple(f for f in scan.files if f.begin_snapshot <= made < _last(f))
        if mixed:
            came = Compare(ROW_BEGAN, ">", made)
            where = together([*self.keys, self.until, Or((after, came))])
            assert where is not None
            yield replace(scan, files=mixed, inlined=(), where=where.sql, predicate=where.predicate)

    def _scan(self, when: Sequence[Predicate], **options: Any) -> ScanPlan:
        request = BoundRequest(self.wanted, together([*self.keys, *when]))
        return plan_scan(self.reader, self.at, self.table, request, **options)


def _last(file: DataFile) -> int:
    """The last snapshot of which the file has rows."""
    return max(file.begin_snapshot, file.partial_max or 0)


def plan_rollup(at: int, table: TableMeta, rollup: Rollup, wanted: tuple[str, ...]) -> ScanPlan:
    """A read of the rollup itself."""
    columns = tuple(column for column in table.info.schema if column.name in wanted)
    return replace(plan_all(at, table, columns, wanted), files=_as_data_files(rollup))


def _as_data_files(rollup: Rollup) -> tuple[DataFile, ...]:
    return tuple(
        DataFile(
            id=-1 - place,
            path=file.path,
            rows=file.rows,
            bytes=file.bytes,
            begin_snapshot=rollup.snapshot_id,
            footer_size=file.footer_size,
        )
        for place, file in enumerate(rollup.files)
    )


def _beginning_with(rollup: Rollup, plan: AsOfPlan, facts: _Facts) -> AsOfPlan:
    """A plan that reads the rollup in place of facts that were known and early enough for it."""
    after = plan.event.after(rollup.as_of)
    later, since = facts.later(rollup, after), facts.since(rollup, after)
    parts = (facts.of_rollup(rollup), later, *since)
    read = {file.id for part in parts for file in part.files}
    saved = [file for part in plan.parts for file in part.files if file.id not in read]
    use = RollupUse(
        rollup.as_of,
        rollup.snapshot_id,
        rollup.rows,
        len(saved),
        sum(file.rows for file in saved),
    )
    by_rollup = (PruneStep("the rollup", len(saved)),) if saved else ()
    return replace(plan, parts=parts, rollup=use, pruned=(*plan.pruned, *by_rollup))


def _wanted(columns: list[str], event: EventTime, asked: set[str]) -> tuple[str, ...]:
    """What must be read of every row: what is asked for, and what decides."""
    needed = asked | set(names(event.columns))
    lineage = [name for name in LINEAGE if name in asked and name not in columns]
    own = [name for name in columns if name in needed]
    return (*own, *(name for name in lineage if name != ROW_NUMBER), ROW_NUMBER)


def plan_unplaced(reader: Reader, at: int, facts: TableMeta, event: EventTime) -> ScanPlan | None:
    """A read of the rows that have no key or no time, which can only be where their columns may
    be null; None if they may not."""
    predicate = unplaced_condition(event)
    if predicate is None:
        return None
    where = Where(predicate, predicate.sql(), predicate.columns())
    return plan_scan(reader, at, facts, BoundRequest((event.time.name,), where))


def unplaced_condition(event: EventTime) -> Predicate | None:
    """That a row has no key or no time; None if there cannot be such."""
    may_be = [column for column in (*event.key, event.time) if column.nullable]
    tests = tuple(IsNull(column.name) for column in may_be)
    return None if not tests else tests[0] if len(tests) == 1 else Or(tests)


def overlay(plan: AsOfPlan, scan: ScanPlan) -> AsOfPlan:
    """The plan with another read of the same rows, such as a transaction's."""
    return replace(plan, parts=(scan,), total_files=scan.total_files)
