"""Are the rollups' files there, and do they say what the table would?"""

from __future__ import annotations

from collections.abc import Iterator

from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import tables as read
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.event_time.plan_as_of import plan_as_of, plan_rollup
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.values.rollup import Rollup, settings_text
from tidelake.model.event_time import EventTime
from tidelake.model.schema import ROW_NUMBER
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.differs import differs
from tidelake.plan.scan import ScanPlan
from tidelake.session.planning import BoundRequest, TableMeta
from tidelake.session.session import Session
from tidelake.verify.checks.rollups import problem
from tidelake.verify.values import Problem

_KEPT, _FOUND = "_tidelake_kept", "_tidelake_found"


def check_rollups(session: Session, known: Inventory, deep: bool) -> Iterator[Problem]:
    """Each rollup's files; with `deep` also its rows, where its snapshot is still there."""
    with session.reading() as reader:
        found = rollups.with_files(reader, rollups.every(reader), session.data_path)
    there = set(known.snapshot_ids)
    for rollup in found:
        if rollup.table_id not in known.wanted_tables:
            continue
        wrong = list(_missing(session, known, rollup))
        yield from wrong
        if deep and not wrong and rollup.snapshot_id in there:
            yield from _compared(session, known, rollup)


def _missing(session: Session, known: Inventory, rollup: Rollup) -> Iterator[Problem]:
    sizes = session.local.store.sizes([file.path for file in rollup.files])
    for file in rollup.files:
        size = sizes.get(file.path)
        if size != file.bytes:
            said = (
                "has lost a file"
                if size is None
                else f"has a file of {size:,} bytes that should have {file.bytes:,}"
            )
            yield problem(known.name(rollup.table_id), rollup, said, file.path)


def _compared(session: Session, known: Inventory, rollup: Rollup) -> Iterator[Problem]:
    """The rollup against what the table says of the same moment, at the same snapshot."""
    plans = _plans(session, rollup)
    if plans is None:
        return
    kept, found = plans
    work = session.local.workbench()
    with translate_duckdb_errors(f"cannot compare a rollup of {kept.table}"):
        work.define(_KEPT, kept)
        work.define(_FOUND, found)
        row = work.connection.execute(
            f"SELECT count(*) FROM {_KEPT} FULL JOIN {_FOUND}"
            f" ON {_KEPT}.{ROW_NUMBER} = {_FOUND}.{ROW_NUMBER}"
            f" WHERE {_KEPT}.{ROW_NUMBER} IS NULL OR {_FOUND}.{ROW_NUMBER} IS NULL"
            f" OR {differs(kept.columns, _KEPT, _FOUND)}"
        ).fetchone()
    work.connection.close()
    if row and row[0]:
        said = f"differs from the table at snapshot {rollup.snapshot_id} in {row[0]:,} rows"
        yield problem(known.name(rollup.table_id), rollup, said)


def _plans(session: Session, rollup: Rollup) -> tuple[ScanPlan, AsOfPlan] | None:
    """A read of the rollup, and one of the same without it; None if the table's settings of then
    cannot be told."""
    at = rollup.snapshot_id
    with session.reading() as reader:
        info = read.table(reader, at, rollup.table_id, session.data_path)
        event = EventTime.maybe(info)
        if event is None or settings_text(event) != rollup.settings:
            return None
        facts = TableMeta.gather(reader, info)
        wanted = (*info.schema.names, ROW_NUMBER)
        found = plan_as_of(reader, at, facts, BoundRequest(wanted), rollup.as_of)
    return plan_rollup(at, facts, rollup, wanted), found.lasting()
