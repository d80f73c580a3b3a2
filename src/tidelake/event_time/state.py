"""The state of a table as of a moment: a plan of it, which begins with a rollup if one helps."""

from __future__ import annotations

from dataclasses import replace

from tidelake.catalog.database.database import Reader
from tidelake.drawing.amounts import quantity
from tidelake.errors import Invalid
from tidelake.event_time.plan_as_of import condition_as_of, overlay, plan_as_of, plan_unplaced
from tidelake.event_time.rollups.search import best_rollup, still_stands
from tidelake.model.event_time import EventTime, Knowledge, known_by, names
from tidelake.model.names import TableName
from tidelake.model.predicate import And, Opaque
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.caches import Memory, Recent
from tidelake.session.draft import TableDraft
from tidelake.session.planning import ALL, ReadRequest
from tidelake.session.session import Session
from tidelake.session.source import Source


class States(Memory):
    """Plans of states, kept as other plans are."""

    def __init__(self) -> None:
        self.plans: Recent[AsOfPlan] = Recent()

    def forget(self) -> None:
        self.plans.clear()


def plan_read(source: Source, asked: ReadRequest = ALL) -> ScanPlan | AsOfPlan:
    """Plan a read of a table at the moments that its source names."""
    if source.known_by is not None:
        asked = _of_known(source, asked)
    if source.as_of is None:
        return source.session.plan(source.name, source.snapshot_id, asked)
    return plan_state(source.session, source.name, source.snapshot_id, source.as_of, asked)


def _of_known(source: Source, asked: ReadRequest) -> ReadRequest:
    """Of rows that were known by the source's moment, before the lake's own record."""
    assert source.known_by is not None
    with source.session.reading() as reader:
        knowledge = Knowledge.maybe(source.info(reader, source.at(reader)))
    assert knowledge is not None, "what is declared at a snapshot stays so"
    known = known_by(knowledge.column, source.known_by)
    if source.as_of is not None:
        return replace(asked, facts=known)
    given = asked.where
    where = Opaque(given, frozenset()) if isinstance(given, str) else given
    return replace(asked, where=known if where is None else And((where, known)))


def plan_state(
    session: Session,
    name: TableName,
    snapshot_id: int | None,
    moment: int,
    asked: ReadRequest = ALL,
) -> AsOfPlan:
    """Plan a read of a table's state as of a moment, with what a transaction has changed in it."""
    if not session.is_transaction:
        return _of_committed(session, name, snapshot_id, moment, asked)
    with session.reading() as reader:
        at = session.at(reader) if snapshot_id is None else snapshot_id
        if (meta := session.read_meta(reader, name, snapshot_id)) is not None:
            request = asked.of(meta.info.schema)
            session.reads.rows(meta, condition_as_of(meta, at, request, moment))
        draft = session.drafted(reader, name, snapshot_id)
        if draft is None:
            return _of_committed(session.committed, name, at, moment, asked)
        plan, doubtful = _of_draft(reader, at, draft, moment, asked)
    check_placed(session, doubtful, plan.event)
    return plan


def _of_committed(
    session: Session, name: TableName, snapshot_id: int | None, moment: int, asked: ReadRequest
) -> AsOfPlan:
    kept = session.memory(States).plans
    with session.reading() as reader:
        head, at = session.between(reader, snapshot_id)
        session.check_shared(reader, at, name)
        key = repr((head, at, name, moment, asked))
        if (known := kept.get(key)) is not None and still_stands(session, known):
            return known
        meta = session.meta(reader, head, at, name)
        request = asked.of(meta.info.schema)
        best = None
        if asked.facts is None:
            best = best_rollup(session, reader, at, meta.info, request, moment)
        plan = plan_as_of(reader, at, meta, request, moment, rollup=best, counted=asked.counted)
        doubtful = plan_unplaced(reader, at, meta, plan.event)
    check_placed(session, doubtful, plan.event)
    kept.keep(key, plan)
    return plan


def _of_draft(
    reader: Reader, at: int, draft: TableDraft, moment: int, asked: ReadRequest
) -> tuple[AsOfPlan, ScanPlan | None]:
    meta = replace(draft.facts, info=draft.after)
    request = asked.of(draft.after.schema)
    plan = plan_as_of(reader, at, meta, request, moment, counted=asked.counted)
    doubtful = plan_unplaced(reader, at, meta, plan.event)
    laid = None if doubtful is None else draft.overlay(doubtful)
    return overlay(plan, draft.overlay(plan.parts[0])), laid


def check_placed(session: Session, doubtful: ScanPlan | None, event: EventTime) -> None:
    """Facts without a key or a time cannot be put in order, and are not passed over."""
    count = 0 if doubtful is None else int(session.engine.read(doubtful).count())
    if doubtful is not None and count:
        listed = ", ".join(names((*event.key, event.time)))
        raise Invalid(
            f"{doubtful.table} has {quantity(count, 'row')} without a key or event time ({listed})",
            hint="delete or complete them, and declare the columns NOT NULL",
        )
