"""Rollups of a table: the best one for a read, and making, listing and dropping them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import options
from tidelake.catalog.read import tables as read
from tidelake.errors import Invalid, TidelakeError, Unsupported
from tidelake.event_time.rollups import evidence as rollup_evidence
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.rollups.evidence import Proof
from tidelake.event_time.values.rollup import SUFFIX, Rollup, RollupFile, settings_text
from tidelake.model.change import NewFile
from tidelake.model.event_time import EventTime
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import LINEAGE, ROW_ID, ROW_NUMBER
from tidelake.model.table import SortKey, TableInfo
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.target import Target
from tidelake.session.leases import announced
from tidelake.session.plan_as_of import plan_as_of, unplaced
from tidelake.session.planning import BoundRequest, TableMeta
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_STATE = "_tidelake_state"
_MICROSECOND = 1000
_MOVABLE = frozenset(LINEAGE) - {ROW_ID, ROW_NUMBER}
"""What compaction may change of a row."""


@dataclass(slots=True)
class Proofs:
    """How far rollups are known to hold, by table and snapshot. What is proven once stays true,
    so that the next read need only look at what has been committed since."""

    known: dict[tuple[int, int], Proof] = field(default_factory=dict)
    broken: dict[tuple[int, int], int] = field(default_factory=dict)

    def hold(self, reader: Reader, rollup: Rollup, at: int) -> bool:
        """Whether no row that the rollup rests on had gone by a snapshot."""
        key = (rollup.table_id, rollup.snapshot_id)
        if at >= self.broken.get(key, at + 1):
            return False
        known = self.known.get(key)
        if known is None or known.through < rollup.valid_through:
            known = Proof.of(rollup)
        found = rollup_evidence.extended(reader, known, at)
        if found is None:
            self.broken[key] = at
        else:
            self.known[key] = found
        return found is not None


@dataclass(frozen=True, slots=True)
class Search:
    """What a lake needs to find rollups: where their files are, and what it knows of them."""

    store: Store
    data_path: str
    proofs: Proofs

    def best(
        self, reader: Reader, at: int, table: TableInfo, event: EventTime, moment: int
    ) -> Rollup | None:
        """The rollup of the latest moment from which the state as of one can be found."""
        found = rollups.candidates(reader, table.id, moment, at)
        if not found:
            return None
        settings = settings_text(event)
        columns = {below.id for column in table.schema for below in column.walk()}
        for rollup in found:
            if rollup.settings != settings or rollup.lacks & columns:
                continue
            if self.holds(reader, rollup, at):
                (whole,) = rollups.with_files(reader, [rollup], self.data_path)
                if are_there(self.store, whole.files):
                    return whole
        return None

    def holds(self, reader: Reader, rollup: Rollup, at: int) -> bool:
        """Whether all rows that the rollup rests on are at a snapshot what they were."""
        held = self.proofs.hold(reader, rollup, at)
        return held and not rollup_evidence.renumbered(reader, rollup)


def are_there(store: Store, files: Sequence[RollupFile | DataFile]) -> bool:
    """Whether all of the files are there, and as large as they were."""
    try:
        sizes = store.sizes([file.path for file in files]) if files else {}
    except TidelakeError:
        return False
    return all(sizes.get(file.path) == file.bytes for file in files)


def may_begin(table: TableInfo, request: BoundRequest) -> bool:
    """Whether the answer does not depend on where rows lie: compaction may change that, and the
    rows of a rollup lie elsewhere."""
    names = {column.name for column in table.schema}
    conditions = [where.sql for where in (request.filter, request.hint) if where]
    words = {*(request.columns or ()), *re.findall(r"\w+", " ".join(conditions))}
    return not (_MOVABLE - names) & words


def make(lake: Lake, name: TableName, moment: int) -> Rollup:
    """Write the state as of a moment, known now, and register it."""
    check_place(lake, name)
    floored = moment - moment % _MICROSECOND
    with lake._reading() as reader:
        facts = TableMeta.gather(reader, lake._table_info(reader, lake._at(reader), name))
        known = rollups.facts(reader, facts.info.id)
        plan = _plan(lake, reader, facts, known.snapshot_id, floored)
        target = _target(reader, facts, plan.event)
        doubtful = unplaced(reader, known.snapshot_id, facts, plan.event)
    lake._check_placed(doubtful, plan.event)
    with announced(lake):
        return _registered(lake, _made(lake, facts, known, plan, target))


def _made(
    lake: Lake, facts: TableMeta, known: rollups.Facts, plan: AsOfPlan, target: Target
) -> Rollup:
    written = _written(lake, plan, target)
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


def check_place(lake: Lake, name: TableName) -> None:
    """Rollups are made and dropped outside of transactions, and of what nobody has to hide."""
    if lake._committed is not lake:
        raise Invalid("rollups are not part of a transaction", hint="ask the lake's own table")
    lake._check_writable()
    if lake.encrypted:
        raise Unsupported(
            f"{name} is in an encrypted lake, for which only DuckDB can write files",
            hint="read it as of a moment without rollups",
        )


def _plan(lake: Lake, reader: Reader, facts: TableMeta, at: int, moment: int) -> AsOfPlan:
    event = EventTime.of(facts.info, at)
    best = lake._rollups.best(reader, at, facts.info, event, moment)
    request = BoundRequest((*facts.info.schema.names, ROW_NUMBER))
    plan = plan_as_of(reader, at, facts, request, moment, rollup=best)
    return replace(plan, keeps_ended=True)


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
        row_group_rows=known.row_group_rows,
        suffix=SUFFIX,
    )


def _written(lake: Lake, plan: AsOfPlan, target: Target) -> tuple[NewFile, ...]:
    with lake._engine.job(f"cannot make a rollup of {plan.table}") as job:
        job.scan(_STATE, plan)
        listed = ", ".join(quote(column.name) for column in target.columns)
        sql = f"SELECT {listed}, {ROW_NUMBER} FROM {_STATE}"
        return job.write(sql, target, carries_row_ids=True)


def _registered(lake: Lake, rollup: Rollup) -> Rollup:
    from tidelake.session.short_transactions import run_locked

    try:
        made = run_locked(lake, rollups.put, rollup, lake.data_path)
    except TidelakeError:
        discard(lake, [file.path for file in rollup.files])
        raise
    lake._states.clear()
    return replace(made, usable=True)


def discard(lake: Lake, paths: Sequence[str]) -> None:
    """Remove files that nothing refers to. What cannot be removed is left for cleanup."""
    try:
        lake._local.store.delete(paths)
    except TidelakeError:
        return


def listed(lake: Lake, reader: Reader, at: int, table: TableInfo) -> list[Rollup]:
    """All rollups of a table, the earliest moment first, and whether a read at the snapshot may
    begin with each."""
    event = EventTime.maybe(table)
    settings = None if event is None else settings_text(event)
    columns = {below.id for column in table.schema for below in column.walk()}
    found = rollups.with_files(reader, rollups.every(reader, table.id), lake.data_path)
    return [
        replace(
            rollup,
            usable=rollup.settings == settings
            and not rollup.lacks & columns
            and rollup.valid_through <= at
            and lake._rollups.holds(reader, rollup, at)
            and are_there(lake._local.store, rollup.files),
        )
        for rollup in found
    ]


def drop(lake: Lake, found: Iterable[Rollup]) -> None:
    """Forget rollups; their files wait for cleanup."""
    from tidelake.session.short_transactions import run_locked

    ids = [rollup.id for rollup in found]
    if ids:
        run_locked(lake, rollups.remove, ids)
    lake._states.clear()
