"""Append, overwrite, delete, update and add_files, as changes to a transaction's drafts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tidelake.coverage.overlap import AppendedRows, OverlapGuard, StagedRows, stage_rows
from tidelake.engine import Job
from tidelake.engine.incoming.few_rows import plain_rows
from tidelake.engine.local.errors import refusal
from tidelake.engine.spark_frame import is_spark_frame
from tidelake.errors import Denied, Invalid, Unsupported
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.literal import Literal
from tidelake.model.names import TableName, quote, text_literal
from tidelake.model.ownership import lies_within
from tidelake.model.predicate import Predicate
from tidelake.model.schema import ROW_NUMBER
from tidelake.plan.expression import expression_sql
from tidelake.plan.scan import ScanPlan
from tidelake.plan.where import as_where
from tidelake.session import staging
from tidelake.session.departure import Departure
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.planning import ReadRequest
from tidelake.session.staging import POINTERS
from tidelake.write.assignment import Assignment, pairs, parse_assignment, without_rows

Where = str | Predicate


def append(tx: DraftSession, name: TableName, data: Any) -> WriteResult:
    """Add rows, as the table's policy for buckets that are covered already has it."""
    draft = writable(tx, name)
    watch = OverlapGuard.of(tx, draft)
    if (few := _plain(tx, draft, data, watch)) is not None:
        return result([], rows=few, inserted=few, operation="append")
    return _append(tx, draft, data, watch)


def _append(
    tx: DraftSession,
    draft: TableDraft,
    data: Any,
    watch: OverlapGuard | None,
    within: Where | None = None,
) -> WriteResult:
    """`within` is a condition that all rows must meet."""
    name = draft.after.name
    with tx.job(f"cannot append to {name}", data, draft.columns) as job:
        incoming = job.bring("incoming", data, draft.columns, name)
        tx.replayable = tx.replayable and incoming.repeatable
        sql = incoming.sql if within is None else checked_rows(incoming.sql, within, draft)
        count = _length(data) if incoming.rereadable else None
        if count is None and incoming.rereadable and not is_spark_frame(data):
            count = _few(job, sql, draft.options.inline_rows)
        done = add_rows(tx, draft, job, AppendedRows(sql, count, incoming.rereadable), watch)
    return replace(done, operation="append")


def add_rows(
    tx: DraftSession,
    draft: TableDraft,
    job: Job,
    incoming: AppendedRows,
    watch: OverlapGuard | None,
) -> WriteResult:
    """Stage rows, where a series is watched as its policy has it."""
    added = watch.append(job, incoming) if watch else stage_rows(tx, draft, job, incoming)
    check_nulls(draft, added.files)
    return added_result(added)


def added_result(added: StagedRows) -> WriteResult:
    return result(
        added.files,
        rows=added.inserted + added.deleted,
        inserted=added.inserted,
        deleted=added.deleted,
    )


def _plain(
    tx: DraftSession, draft: TableDraft, data: Any, watch: OverlapGuard | None
) -> int | None:
    """Stage a few plain dicts as they are; how many, or None if they need more care."""
    if not tx.can_inline(draft.columns):
        return None
    rows = plain_rows(data, draft.columns, str(draft.after.name), draft.options.inline_rows)
    if rows is None or not tx.can_flush(draft.after, rows):
        return None
    if watch is not None and not watch.may_add(rows):
        return None
    draft.add_rows(rows, numbered=False)
    return len(rows)


def writable(tx: DraftSession, name: TableName) -> TableDraft:
    draft = tx.draft(name)
    if not lies_within(f"{draft.after.path}file", tx.data_path):
        raise Denied(
            f"{name} has its files at {draft.after.path}, outside of the lake's data path",
            hint="copy it into a table of its own, or open the lake with the data path above both",
        )
    if tx.encrypted:
        raise Unsupported(
            "this lake is encrypted, and only DuckDB writes encrypted files",
            hint="write to it with DuckDB's ducklake extension",
        )
    return draft


def _length(data: Any) -> int | None:
    """How many rows the data has, where that costs nothing to know."""
    if isinstance(data, Mapping):
        return 1
    if isinstance(data, str) or not hasattr(data, "__len__"):
        return None
    if isinstance(data, list | tuple) and not all(isinstance(row, Mapping) for row in data[:1]):
        return None
    return len(data)


def _few(job: Job, sql: str, most: int) -> int | None:
    """How many rows a query gives, if they are no more than that."""
    ((count,),) = job.rows(f"SELECT count(*) FROM (SELECT 1 FROM ({sql}) LIMIT {most + 1})")
    return count if count <= most else None


def checked_rows(sql: str, within: Where, draft: TableDraft) -> str:
    """A query of the same rows, which fails if one does not meet a condition."""
    where = as_where(within, draft.after.schema)
    assert where is not None
    message = refusal(
        f"{draft.after.name}: a row to be written does not meet {where.sql}",
        "leave such rows out, or change the condition",
    )
    return (
        f"SELECT * FROM ({sql}) WHERE CASE WHEN coalesce({where.sql}, false) THEN true"
        f" ELSE error({text_literal(message)}) END"
    )


def check_nulls(draft: TableDraft, files: Sequence[NewFile]) -> None:
    required = {c.id: c.name for c in draft.columns if not c.nullable and not c.is_nested}
    for file in files:
        for facts in file.columns:
            if facts.column_id in required and facts.nulls:
                raise Invalid(
                    f"{draft.after.name}: column {required[facts.column_id]!r} must not be null,"
                    f" and {facts.nulls:,} values are",
                    hint="fill them in, or allow nulls with evolve(nullable={…: True})",
                )


def overwrite(
    tx: DraftSession, name: TableName, data: Any, *, where: Where | None = None
) -> WriteResult:
    """Replace all rows, or those that meet a condition; the new rows must meet it too."""
    draft = writable(tx, name)
    return replace_rows(tx, draft, where, lambda: _append(tx, draft, data, None, where))


def replace_rows(
    tx: DraftSession, draft: TableDraft, where: Where | None, add: Callable[[], WriteResult]
) -> WriteResult:
    """Take away all rows, or those that meet a condition, then add others."""
    if where is None:
        plan = tx.plan(draft.after.name, None, ReadRequest(POINTERS))
        deleted = clear(tx, draft, plan)
    else:
        deleted = delete(tx, draft.after.name, where).deleted
    draft.depends_on_inserts = draft.depends_on_any_change = True
    added = add()
    return WriteResult(
        None,
        rows=added.rows + deleted,
        files=added.files,
        bytes=added.bytes,
        inserted=added.inserted,
        deleted=deleted,
        operation="overwrite",
    )


def clear(tx: DraftSession, draft: TableDraft, plan: ScanPlan) -> int:
    """All rows of a plan leave, if possible without being looked at; how many they are."""
    gone = sum(len(inlined.rows) for inlined in plan.inlined)
    lasting = []
    for file in plan.files:
        if file.id < 0:
            del draft.files[file.id]
        else:
            staging.check(draft, file)
            draft.see(file)
            if not staging.can_end(draft, file):
                lasting.append(file)
                continue
            staging.end(draft, file.id)
        gone += staging.live(file)
    if lasting:
        gone += _remove_all(tx, draft, replace(plan, files=tuple(lasting), inlined=()))
    staging.remove_catalog_rows(
        draft, {int(str(row[0])) for inlined in plan.inlined for row in inlined.rows}
    )
    return gone


def _remove_all(tx: DraftSession, draft: TableDraft, plan: ScanPlan) -> int:
    """Stage the deletion of all rows that a plan finds."""
    with tx.job(f"cannot delete from {draft.after.name}") as job:
        count, _ = Departure("doomed").stage(tx, draft, job, plan)
        return count


def delete(tx: DraftSession, name: TableName, where: Where) -> WriteResult:
    if where is None or (isinstance(where, str) and not where.strip()):
        raise Invalid(
            f"delete() needs a condition: what is to go from {name}?",
            hint='t.delete("true") for all',
        )
    draft = writable(tx, name)
    tx.check_computed(where)
    plan = tx.plan(name, None, ReadRequest(POINTERS, where))
    draft.depends_on_inserts = True
    deleted = _remove_all(tx, draft, plan)
    return result([], rows=deleted, deleted=deleted, operation="delete")


def update(
    tx: DraftSession,
    name: TableName,
    given: Mapping[str, Any] | None,
    where: Where | None,
    values: Mapping[str, Any] | None = None,
) -> WriteResult:
    """Set columns to new values; the rows keep their ids. Text is SQL in `given`, and stands for
    itself in `values`."""
    draft = writable(tx, name)
    wanted = assignment_of(draft, given, values)
    tx.check_computed(where, *wanted.expressions.values())
    schema = draft.after.schema
    plan = tx.plan(name, None, ReadRequest([*schema.names, *POINTERS, ROW_NUMBER], where))
    draft.depends_on_inserts = True
    with tx.job(f"cannot update {name}") as job:
        empty = without_rows(((c.name, c) for c in schema), "t")
        found = wanted.checked(job, schema, empty, str(name))
        chosen = ", ".join(
            f"{found.get(c.id, f't.{quote(c.name)}')} AS {quote(c.name)}" for c in schema
        )
        sql = f"SELECT {chosen}, {ROW_NUMBER} FROM {wanted.over('changed AS t')}"
        updated, files = Departure("changed", sql).stage(tx, draft, job, plan)
    check_nulls(draft, files)
    return result(files, rows=updated, updated=updated, operation="update")


def assignment_of(
    draft: TableDraft, given: Mapping[str, Any] | None, values: Mapping[str, Any] | None
) -> Assignment:
    """What is to be set; Invalid if that is nothing."""
    plain = [(name, Literal(value)) for name, value in pairs(values, "values=")]
    listed = [*pairs(given, "update"), *plain]
    if not listed:
        raise Invalid("there is nothing to set", hint='update({"x": "x + 1"}, where="…")')
    schema = draft.after.schema
    read = partial(expression_sql, tables={"t": schema}, bare="t")
    return parse_assignment(schema, listed, str(draft.after.name), read)


def add_files(
    tx: DraftSession,
    name: TableName,
    paths: str | Sequence[str],
    *,
    hive: bool,
    take_over: bool,
) -> WriteResult:
    """Make existing Parquet files part of the table, where they lie."""
    draft = writable(tx, name)
    patterns = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(patterns, Iterable):
        raise Invalid(f"{paths!r} is no path", hint='add_files("folder/*.parquet")')
    listed = [found for pattern in patterns for found in tx.local.store.listed(str(pattern))]
    if (walls := tx.local.confinement) is not None:
        walls.check(listed)
    plan = tx.look(name, ReadRequest([draft.columns[0].name]))
    known = {file.path for file in plan.files}
    for path in listed:
        if path in known:
            raise Invalid(f"{path} is part of {name} already", hint="leave it out")
    with tx.local.job(f"cannot add files to {name}") as job:
        found = job.found(listed, draft.target, {"hive": hive})
    files = [file._replace(taken_over=take_over) for file in found]
    if (watch := OverlapGuard.of(tx, draft)) is not None:
        added = watch.add_files(files)
    else:
        draft.add_files(files)
        added = StagedRows(files, sum(file.rows for file in files))
    return replace(added_result(added), operation="add files")


def result(
    files: Sequence[NewFile],
    *,
    rows: int,
    inserted: int = 0,
    updated: int = 0,
    deleted: int = 0,
    operation: str | None = None,
) -> WriteResult:
    return WriteResult(
        None,
        rows=rows,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        inserted=inserted,
        updated=updated,
        deleted=deleted,
        operation=operation,
    )
