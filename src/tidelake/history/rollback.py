"""A table back to what it was at an earlier snapshot, as one more commit on top of the present.

Rows that the table did not have then leave it, rows that it had come back under their own ids,
and the columns are declared as they were. What was only added since is ended without being read;
only rows that have to come back are written. A file is never named twice in the catalog: when
DuckDB expires the first name it would remove the file from under the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tidelake.catalog.read import tables as read
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
_PLACE = (ROW_FILE, ROW_POSITION, ROW_NUMBER)


def rollback(tx: DraftSession, name: TableName, to: int | str | datetime) -> WriteResult:
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
    if not (then.plan.files or then.plan.inlined):
        gone = writes.clear(tx, draft, now)
        return writes.result([], rows=gone, deleted=gone)
    return _exchange(tx, draft, now, then, whole=whole)


@dataclass(frozen=True, slots=True)
class _Then:
    """The table as it was, and the read of its rows."""

    snapshot_id: int
    table: TableInfo
    plan: ScanPlan


def _then(tx: DraftSession, draft: TableDraft, to: int | str | datetime) -> _Then:
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
    """Leave out files, and rows of the catalog, that were there then and are there now."""
    before = {file.id for file in then.plan.files}
    files = {
        file.id for file in now.files if file.id in before and _is_whole(file, then.snapshot_id)
    }
    rows = _rows(now) & _rows(then.plan)

    def rest(plan: ScanPlan) -> ScanPlan:
        inlined = (
            replace(part, rows=tuple(row for row in part.rows if (part.columns, row) not in rows))
            for part in plan.inlined
        )
        return replace(
            plan,
            files=tuple(file for file in plan.files if file.id not in files),
            inlined=tuple(part for part in inlined if part.rows),
        )

    return rest(now), replace(then, plan=rest(then.plan))


def _is_whole(file: DataFile, at: int) -> bool:
    return not file.has_deletes and not file.is_partial_at(at)


def _rows(plan: ScanPlan) -> set[tuple[object, ...]]:
    """Rows of the catalog, each with its id, its snapshot and the columns it has."""
    return {(part.columns, row) for part in plan.inlined for row in part.rows}


def _exchange(
    tx: DraftSession, draft: TableDraft, now: ScanPlan, then: _Then, *, whole: bool
) -> WriteResult:
    columns = draft.columns
    with tx.job(f"cannot roll {draft.after.name} back") as job:
        changed = "TRUE" if whole else _changed(columns, exact=job.in_process)
        job.scan(_THEN, then.plan)
        job.scan(_NOW, now)
        back = job.keep("back", _only(_THEN, _NOW, changed))
        gone = job.keep("gone", _only(_NOW, _THEN, changed))
        ((both,),) = job.rows(
            f"SELECT count(*) FROM back AS b JOIN gone AS g ON b.{ROW_NUMBER} = g.{ROW_NUMBER}"
        )
        staging.remove(tx, draft, job, "gone", now)
        listed = ", ".join(quote(column.name) for column in columns)
        sql = f"SELECT {listed}, {ROW_NUMBER} FROM back"
        files = staging.add(tx, draft, job, sql, count=back, numbered=True)
    return writes.result(
        files,
        rows=back + gone - both,
        inserted=back - both,
        updated=both,
        deleted=gone - both,
    )


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
