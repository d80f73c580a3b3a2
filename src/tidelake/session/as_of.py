"""From a request for the state as of a moment to a plan of it."""

from __future__ import annotations

from dataclasses import replace

from tidelake.catalog.database import Reader
from tidelake.model.event_time import EventTime, names
from tidelake.model.predicate import IsNull, Or
from tidelake.model.schema import LINEAGE, ROW_NUMBER
from tidelake.plan.as_of import AsOfPlan, divided, together
from tidelake.plan.scan import ScanPlan
from tidelake.plan.where import Where
from tidelake.session.planning import Request, TableFacts, output_of, plan_scan


def plan_as_of(
    reader: Reader,
    at: int,
    facts: TableFacts,
    request: Request,
    moment: int,
    *,
    counted: bool = False,
) -> AsOfPlan:
    """Everything an engine needs to answer the request as of the moment."""
    schema = facts.info.schema
    event = EventTime.of(facts.info, at)
    output = output_of(schema, request.columns)
    early, late = divided(request.filter, event)
    hints, _ = divided(request.hint, event)
    rest = together(late)
    wanted = _wanted(schema.names, event, {*output, *(rest.columns if rest else ())})
    before = together([*early, *hints, event.until(moment)])
    scan = plan_scan(reader, at, facts, Request(wanted, before), counted=counted)
    return AsOfPlan(
        as_of=moment,
        event=event,
        parts=(scan,),
        columns=tuple(column for column in schema if column.name in wanted),
        output=output,
        where=rest.sql if rest else None,
        predicate=rest.predicate if rest else None,
        total_files=scan.total_files,
        pruned=scan.pruned,
    )


def _wanted(columns: list[str], event: EventTime, asked: set[str]) -> tuple[str, ...]:
    """What must be read of every row: what is asked for, and what decides."""
    needed = asked | set(names(event.columns))
    lineage = [name for name in LINEAGE if name in asked and name not in columns]
    own = [name for name in columns if name in needed]
    return (*own, *(name for name in lineage if name != ROW_NUMBER), ROW_NUMBER)


def unplaced(reader: Reader, at: int, facts: TableFacts, event: EventTime) -> ScanPlan | None:
    """A read of the rows that have no key or no time, which can only be where their columns may
    be null; None if they may not."""
    may_be = [column for column in (*event.key, event.time) if column.nullable]
    if not may_be:
        return None
    tests = tuple(IsNull(column.name) for column in may_be)
    predicate = tests[0] if len(tests) == 1 else Or(tests)
    where = Where(predicate, predicate.sql(), predicate.columns())
    return plan_scan(reader, at, facts, Request((event.time.name,), where))


def overlaid(plan: AsOfPlan, scan: ScanPlan) -> AsOfPlan:
    """The plan with another read of the same rows, such as a transaction's."""
    return replace(plan, parts=(scan,), total_files=scan.total_files)
