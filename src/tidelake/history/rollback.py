"""A table back to what it was at an earlier snapshot, as one more commit on top of the present.

Rows that the table did not have then leave it, rows that it had come back under their own ids,
and the columns are declared as they were. What was only added since is ended without being read;
only rows that have to come back are written. Of a file that was there then and still is, these are
the rows that were deleted from it since: the others are not looked at again. A file is never named
twice in the catalog: when DuckDB expires the first name it would remove the file from under the
second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from tidelake.catalog.read import tables as read
from tidelake.engine import Job
from tidelake.engine.parquet.deletions import DELETED_AT
from tidelake.errors import Invalid, NotFound
from tidelake.model.change import WriteResult
from tidelake.model.file import DataFile
from tidelake.model.names import TableName, quote
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION, Column
from tidelake.model.table import TableInfo
from tidelake.plan.differs import differs
from tidelake.plan.partitioning.transforms import transform_of
from tidelake.plan.scan import ScanPlan
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import BoundRequest, ReadRequest, TableMeta, plan_scan
from tidelake.write import rows as writes

_THEN, _NOW = "_tidelake_then", "_tidelake_now"
_GONE_FILES, _SHARED = "_tidelake_gone_files", "_tidelake_shared"
_DELETED = "_tidelake_deleted"
_PLACE = (ROW_FILE, ROW_POSITION, ROW_NUMBER)


def rollback(tx: DraftSession, name: TableName, to: int | str | date) -> WriteResult:
    """Stage the way back to a snapshot."""
    draft = writes.writable(tx, name)
    then = _then(tx, draft, to)
    draft.depends_on_inserts = draft.depends_on_any_change = True
    whole = _must_write_all(draft.after, then.table)
    staging.flush(tx, draft)
    draft.after = replace(
        draft.after,
        schema=then.table.schema,
        tags=then.table.tags,
        partitioning=_partitioning(tx, draft.after, then.table),
        sorting=then.table.sorting,
    )
    draft.facts = draft.facts.evolved(draft.after)
    wanted = _PLACE if whole else _columns(then.table)
    now = tx.plan(name, None, ReadRequest(wanted))
    if whole:
        _end(draft, now.files)
    else:
        now, then = _without_common(now, then)
    if not (then.plan.files or then.plan.inlined or then.lost):
        gone = writes.clear(tx, draft, now)
        return writes.result([], rows=gone, deleted=gone)
    return _exchange(tx, draft, now, then, whole=whole)


@dataclass(frozen=True, slots=True)
class _Then:
    """The table as it was, and the read of its rows; but of `lost`, files of now that have only
    lost rows since, and that were `shared` then, only such rows count."""

    snapshot_id: int
    table: TableInfo
    plan: ScanPlan
    shared: tuple[DataFile, ...] = ()
    lost: tuple[DataFile, ...] = ()


def _then(tx: DraftSession, draft: TableDraft, to: int | str | date) -> _Then:
    if draft.before is None:
        raise Invalid(
            f"{draft.after.name} is created by this very transaction, so it has no past",
            hint="roll the transaction back instead",
        )
    with tx.reading() as reader:
        at = tx.committed.resolve(reader, to).snapshot_id
        if at > tx.base:
            raise NotFound(f"snapshot {at} is newer than the transaction", hint="begin another")
        names = dict(read.names(reader, at, "table"))
        if draft.before.id not in names:
            raise _was_not_there(draft.after.name, at, set(names.values()))
        table = read.table(reader, at, draft.before.id, tx.data_path)
        request = BoundRequest(_columns(table))
        plan = plan_scan(reader, at, TableMeta.gather(reader, table), request)
    return _Then(at, table, plan)


def _was_not_there(name: TableName, at: int, names: set[TableName]) -> NotFound:
    if name in names:
        return NotFound(
            f"the table {name} of snapshot {at} is another one, which was dropped since",
            hint=f'lake.undrop("{name}", known_at={at}, as_="…") brings that one back',
        )
    return NotFound(
        f"this table, {name}, was not there at snapshot {at}",
        hint="roll back to a snapshot of its own: t.snapshots() lists them",
    )


def _end(draft: TableDraft, files: Sequence[DataFile]) -> None:
    """Also those that would otherwise stay without a row, to be read with types that values in them
    are too wide for. DuckDB's change feed tells of rows deleted from them before once more."""
    for file in files:
        if file.id >= 0:
            staging.check(draft, file)
            draft.see(file)
            staging.end(draft, file.id)


def _columns(table: TableInfo) -> tuple[str, ...]:
    return (*table.schema.names, *_PLACE)


def _must_write_all(now: TableInfo, then: TableInfo) -> bool:
    """Whether no file may stay: types become narrower again, which values of rows that are only
    marked as deleted may not survive; or DuckDB would look for rows in buckets."""
    types = {column.id: column.type for top in then.schema for column in top.walk()}
    retyped = any(
        types.get(column.id, column.type) != column.type
        for top in now.schema
        for column in top.walk()
    )
    keys = then.partitioning.keys if then.partitioning else ()
    bucketed = any(transform_of(key.transform).exclusive for key in keys)
    return retyped or (bucketed and keys != (now.partitioning.keys if now.partitioning else ()))


def _partitioning(tx: DraftSession, now: TableInfo, then: TableInfo) -> Any:
    keys = then.partitioning.keys if then.partitioning else ()
    if keys == (now.partitioning.keys if now.partitioning else ()):
        return now.partitioning
    return replace(then.partitioning, id=tx.new_id()) if then.partitioning else None


def _without_common(now: ScanPlan, then: _Then) -> tuple[ScanPlan, _Then]:
    """Leave out files, and rows of the catalog, that were there then and are there now. What such
    a file has lost since comes back; it cannot have got anything."""
    were = {file.id: file for file in then.plan.files}
    common = {
        file.id: file
        for file in now.files
        if file.id in were and not file.is_partial_at(then.snapshot_id)
    }
    lost = tuple(file for file in common.values() if _has_lost(file, were[file.id]))
    rows = _rows(now) & _rows(then.plan)

    def rest(plan: ScanPlan) -> ScanPlan:
        inlined = (
            replace(part, rows=tuple(row for row in part.rows if (part.columns, row) not in rows))
            for part in plan.inlined
        )
        return replace(
            plan,
            files=tuple(file for file in plan.files if file.id not in common),
            inlined=tuple(part for part in inlined if part.rows),
        )

    shared = tuple(were[file.id] for file in lost)
    return rest(now), replace(then, plan=rest(then.plan), shared=shared, lost=lost)


def _has_lost(now: DataFile, then: DataFile) -> bool:
    """Whether rows may have been deleted from a file since. What a delete file holds may be of any
    snapshot."""
    return bool(now.deletes) or set(now.deleted_positions) != set(then.deleted_positions)


def _rows(plan: ScanPlan) -> set[tuple[object, ...]]:
    """Rows of the catalog, each with its id, its snapshot and the columns it has."""
    return {(part.columns, row) for part in plan.inlined for row in part.rows}


def _exchange(
    tx: DraftSession, draft: TableDraft, now: ScanPlan, then: _Then, *, whole: bool
) -> WriteResult:
    columns = draft.columns
    with tx.job(f"cannot roll {draft.after.name} back") as job:
        _define_then(job, draft, then)
        job.scan(_NOW, now)
        if whole or not (job.in_process or _meet(now, then.plan)):
            back, gone = f"SELECT * FROM {_THEN}", f"SELECT {', '.join(_PLACE)} FROM {_NOW}"
        else:
            changed = _changed(columns, exact=job.in_process)
            back, gone = _only(_THEN, _NOW, changed), _only(_NOW, _THEN, changed)
        come, go = job.keep("back", back), job.keep("gone", gone)
        ((both,),) = job.rows(
            f"SELECT count(*) FROM back AS b JOIN gone AS g ON b.{ROW_NUMBER} = g.{ROW_NUMBER}"
        )
        staging.remove(tx, draft, job, "gone", now)
        listed = ", ".join(quote(column.name) for column in columns)
        sql = f"SELECT {listed}, {ROW_NUMBER} FROM back"
        files = staging.add(tx, draft, job, sql, count=come, numbered=True)
    return writes.result(
        files, rows=come + go - both, inserted=come - both, updated=both, deleted=go - both
    )


def _define_then(job: Job, draft: TableDraft, then: _Then) -> None:
    """The rows of then that may have to come back."""
    if not then.lost:
        job.scan(_THEN, then.plan)
        return
    job.scan(_GONE_FILES, then.plan)
    job.scan(_SHARED, replace(then.plan, files=then.shared, inlined=()))
    job.deletions(_DELETED, then.lost)
    names = [quote(name) for name in then.plan.output]
    job.define(
        _THEN,
        f"SELECT {', '.join(names)} FROM {_GONE_FILES} UNION ALL"
        f" SELECT {', '.join(f'{_SHARED}.{name}' for name in names)}"
        f" FROM {_SHARED} JOIN {_DELETED} ON {_SHARED}.{ROW_FILE} = {_DELETED}.{ROW_FILE}"
        f" AND {_SHARED}.{ROW_POSITION} = {_DELETED}.{ROW_POSITION}"
        f" WHERE {_DELETED}.{DELETED_AT} <= {draft.stamp}",
    )


def _meet(now: ScanPlan, then: ScanPlan) -> bool:
    """Whether a row of now may lie where it lay then."""
    return not {file.id for file in now.files}.isdisjoint(file.id for file in then.files)


def _only(these: str, others: str, changed: str) -> str:
    """The rows of one relation that the other does not have, or has with other values."""
    return (
        f"SELECT {these}.* FROM {these} LEFT JOIN {others}"
        f" ON {these}.{ROW_NUMBER} = {others}.{ROW_NUMBER}"
        f" WHERE {others}.{ROW_NUMBER} IS NULL OR {changed}"
    )


def _changed(columns: Sequence[Column], *, exact: bool) -> str:
    """Whether two versions of a row differ. Spark cannot tell for every type: there a version
    that lies elsewhere counts as another."""
    moved = (
        f"({_THEN}.{ROW_FILE} IS NULL OR {_NOW}.{ROW_FILE} IS NULL"
        f" OR {_THEN}.{ROW_FILE} <> {_NOW}.{ROW_FILE}"
        f" OR {_THEN}.{ROW_POSITION} <> {_NOW}.{ROW_POSITION})"
    )
    return f"({moved} AND {differs(columns, _THEN, _NOW)})" if exact else moved
