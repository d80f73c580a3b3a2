"""Rollups of a table: making, listing and dropping them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import options
from tidelake.catalog.read import tables as read
from tidelake.errors import Invalid, TidelakeError, Unsupported
from tidelake.event_time.plan_as_of import plan_as_of, plan_unplaced
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.rollups.search import are_there, search_in
from tidelake.event_time.state import States, check_placed
from tidelake.event_time.values.rollup import SUFFIX, Rollup, RollupFile, settings_text
from tidelake.model.change import NewFile
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_NUMBER
from tidelake.model.table import SortKey, TableInfo
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.target import Target
from tidelake.session.leases import announce_work
from tidelake.session.planning import BoundRequest, TableMeta
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked

_STATE = "_tidelake_state"
_MICROSECOND = 1000
_GROUP_ROWS = 20_480
"""A state is often so small that in groups of the usual size one core alone would read it."""


def make(session: Session, name: TableName, moment: int) -> Rollup:
    """Write the state as of a moment, known now, and register it."""
    check_place(session, name)
    floored = moment - moment % _MICROSECOND
    with session.reading() as reader:
        facts = TableMeta.gather(reader, session.table_info(reader, session.at(reader), name))
        known = rollups.facts(reader, facts.info.id)
        plan = _plan(session, reader, facts, known.snapshot_id, floored)
        target = _target(reader, facts, plan.event)
        doubtful = plan_unplaced(reader, known.snapshot_id, facts, plan.event)
    check_placed(session, doubtful, plan.event)
    with announce_work(session):
        return _registered(session, _made(session, facts, known, plan, target))


def _made(
    session: Session, facts: TableMeta, known: rollups.Facts, plan: AsOfPlan, target: Target
) -> Rollup:
    written = _written(session, plan, target)
    ids = {below.id for column in facts.info.schema for below in column.walk()}
    return Rollup(
        id=0,
        table_id=facts.info.id,
        as_of=plan.as_of,
        snapshot_id=known.snapshot_id,
        valid_through=known.snapshot_id,
        next_row_id=known.next_row_id,
        next_file_id=known.next_file_id,
        settings=settings_text(plan.event),
        lacks=frozenset(facts.history.types) - ids,
        rows=sum(file.rows for file in written),
        bytes=sum(file.bytes for file in written),
        made_at=datetime.now(UTC),
        files=tuple(RollupFile(f.path, f.rows, f.bytes, f.footer_size) for f in written),
    )


def check_place(session: Session, name: TableName) -> None:
    """Rollups are made and dropped outside of transactions, and of what nobody has to hide."""
    if session.is_transaction:
        raise Invalid("rollups are not part of a transaction", hint="ask the lake's own table")
    session.check_writable()
    if session.encrypted:
        raise Unsupported(
            f"{name} is in an encrypted lake, for which only DuckDB can write files",
            hint="read it as of a moment without rollups",
        )


def _plan(session: Session, reader: Reader, facts: TableMeta, at: int, moment: int) -> AsOfPlan:
    event = EventTime.of(facts.info, at)
    best = search_in(session).best(reader, at, facts.info, event, moment)
    request = BoundRequest((*facts.info.schema.names, ROW_NUMBER))
    return plan_as_of(reader, at, facts, request, moment, rollup=best).lasting()


def _target(reader: Reader, facts: TableMeta, event: EventTime) -> Target:
    info = facts.info
    known = options.of_table(reader, info.id, read.schema_of(reader, info.id))
    return Target(
        table=info.name,
        path=info.path,
        columns=info.schema.columns,
        physical=facts.history.named(info.schema.columns),
        sorting=tuple(SortKey(quote(key.name), "ASC", "NULLS_LAST") for key in event.key),
        file_bytes=known.file_bytes,
        compression=known.compression,
        row_group_rows=min(known.row_group_rows, _GROUP_ROWS),
        suffix=SUFFIX,
    )


def _written(session: Session, plan: AsOfPlan, target: Target) -> tuple[NewFile, ...]:
    with session.engine.job(f"cannot make a rollup of {plan.table}") as job:
        job.scan(_STATE, plan)
        listed = ", ".join(quote(column.name) for column in target.columns)
        sql = f"SELECT {listed}, {ROW_NUMBER} FROM {_STATE}"
        return job.write(sql, target, carries_row_ids=True)


def _registered(session: Session, rollup: Rollup) -> Rollup:
    try:
        made = run_locked(session, rollups.put, rollup, session.data_path)
    except TidelakeError:
        discard(session, [file.path for file in rollup.files])
        raise
    session.memory(States).forget()
    return replace(made, usable=True)


def discard(session: Session, paths: Sequence[str]) -> None:
    """Remove files that nothing refers to. What cannot be removed is left for cleanup."""
    try:
        session.local.store.delete(paths)
    except TidelakeError:
        return


def list_rollups(session: Session, reader: Reader, at: int, table: TableInfo) -> list[Rollup]:
    """All rollups of a table, the earliest moment first, and whether a read at the snapshot may
    begin with each."""
    event = EventTime.maybe(table)
    settings = None if event is None else settings_text(event)
    columns = {below.id for column in table.schema for below in column.walk()}
    found = rollups.with_files(reader, rollups.every(reader, table.id), session.data_path)
    search = search_in(session)
    return [
        replace(
            rollup,
            usable=rollup.settings == settings
            and not rollup.lacks & columns
            and rollup.valid_through <= at
            and search.holds(reader, rollup, at)
            and are_there(session.local.store, rollup.files),
        )
        for rollup in found
    ]


def drop(session: Session, found: Iterable[Rollup]) -> None:
    """Forget rollups; their files wait for cleanup."""
    ids = [rollup.id for rollup in found]
    if ids:
        run_locked(session, rollups.remove, ids)
    session.memory(States).forget()
