"""Files that others wrote for a table and that become part of it in one commit: `order_files` says
what they must be like, and the writes at the end take them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelake.coverage.overlap import OverlapGuard, StagedRows
from tidelake.errors import Conflict
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.names import TableName, fold
from tidelake.model.schema import Column
from tidelake.plan.target import Target
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.session import Session
from tidelake.write.definitions import evolve
from tidelake.write.merge import merge
from tidelake.write.rows import (
    Where,
    added_result,
    check_nulls,
    checked_rows,
    replace_rows,
    writable,
)


@dataclass(frozen=True, slots=True)
class FileOrder:
    """Files for a table: the rows are made into `columns`, then `sql` is run over them, and what
    it gives goes into files of `target`. With `defaults` rows may lack columns. Picklable."""

    target: Target
    columns: tuple[Column, ...]
    sql: str
    defaults: bool = True


def order_files(
    session: Session,
    name: TableName,
    rows: str,
    *,
    where: Where | None = None,
    add: Any = None,
) -> FileOrder:
    """How files for a table are to be written, of rows that queries call `rows`. With `where` all
    must meet a condition; `add` are columns that the table is to get along with them."""
    tx = DraftSession(session)
    try:
        draft = _draft(tx, name, add)
        sql = f"SELECT * FROM {rows}"
        whole = sql if where is None else checked_rows(sql, where, draft)
        return FileOrder(draft.target, draft.columns, whole)
    finally:
        tx.close()


def order_source(
    session: Session, name: TableName, rows: str, given: Sequence[str], on: Sequence[str]
) -> FileOrder:
    """How files with rows to be merged into a table are to be written: with the columns that are
    given, in the table's types, beside its own files."""
    tx = DraftSession(session)
    try:
        draft = writable(tx, name)
        for key in on:
            draft.after.schema.column(key)  # which raises NotFound if there is none
        names = {fold(each) for each in given}
        columns = tuple(
            replace(column, nullable=True) for column in draft.columns if fold(column.name) in names
        )
        target = replace(
            draft.target,
            columns=columns,
            physical={below.id: below.name for column in columns for below in column.walk()},
            partitioning=None,
            sorting=(),
            observers=(),
            in_order=False,
        )
        return FileOrder(target, columns, f"SELECT * FROM {rows}", defaults=False)
    finally:
        tx.close()


Operation = Callable[[DraftSession], WriteResult]


def append_files(
    name: TableName, files: Sequence[NewFile], target: Target, add: Any = None
) -> Operation:
    """Add the rows of files, as the table's policy for buckets that are covered has it."""

    def run(tx: DraftSession) -> WriteResult:
        draft = _current(tx, name, target, add)
        done = _stage(draft, files, OverlapGuard.of(tx, draft))
        return replace(done, operation="append")

    return run


def overwrite_files(
    name: TableName,
    files: Sequence[NewFile],
    target: Target,
    where: Where | None = None,
    add: Any = None,
) -> Operation:
    """Replace all rows, or those that meet a condition, by the rows of files."""

    def run(tx: DraftSession) -> WriteResult:
        draft = _current(tx, name, target, add)
        return replace_rows(tx, draft, where, lambda: _stage(draft, files, None))

    return run


def merge_files(
    name: TableName, files: Sequence[NewFile], target: Target, on: Sequence[str] | None
) -> Operation:
    """Merge the rows of files, which do not become part of the table themselves."""

    def run(tx: DraftSession) -> WriteResult:
        draft = writable(tx, name)
        there = {column.id: column for column in draft.columns}
        if any(
            there.get(c.id) != replace(c, nullable=there[c.id].nullable) for c in target.columns
        ):
            raise _changed(tx, name)
        if not files:
            return WriteResult(None, operation="merge")
        return merge(tx, name, [file.path for file in files], on)

    return run


def _draft(tx: DraftSession, name: TableName, add: Any) -> TableDraft:
    draft = writable(tx, name)
    if add is not None:
        evolve(tx, name, {"add": add})
    return draft


def _current(tx: DraftSession, name: TableName, target: Target, add: Any) -> TableDraft:
    """Requires: the files were written for the table as it is."""
    draft = _draft(tx, name, add)
    now = draft.target
    same = (now.columns, now.path, now.partitioning) == (
        target.columns,
        target.path,
        target.partitioning,
    )
    if not same:
        raise _changed(tx, name)
    return draft


def _changed(tx: DraftSession, name: TableName) -> Conflict:
    """Doing it again with the same files would not help."""
    tx.replayable = False
    return Conflict(
        f"the columns or the partitioning of {name} have changed while rows were written",
        hint="repeat the write",
    )


def _stage(draft: TableDraft, files: Sequence[NewFile], watch: OverlapGuard | None) -> WriteResult:
    check_nulls(draft, files)
    if watch is not None:
        return added_result(watch.add_files(files))
    draft.add_files(files)
    return added_result(StagedRows(files, sum(file.rows for file in files)))
