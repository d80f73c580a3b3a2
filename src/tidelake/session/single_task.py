"""Rows that leave a table and rows that come, by one task that has all of them at hand.

It decides as the driver would: few rows go to the catalog, files that lose all rows end. So the
driver need not ask first how many rows there are, and of which files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.engine.incoming.inline_text import Rows, as_text
from tidelake.model.change import NewFile
from tidelake.model.file import DataFile
from tidelake.model.schema import ROW_FILE, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.exchange import FILES_OF_A_TASK, Arrival, FileTask, WrittenFiles

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

CATALOG_ROWS = 10_000
_BYTES_FOR_ONE = 64 * 1024 * 1024
_FILES_KNOWN = 1_000
"""Of the table, whatever becomes of them: the task is told of all."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """`gone` says how many rows leave each file, those of no file being in the catalog. `kept` are
    the rows for the catalog, of each query that had few; `positions` those that leave the catalog,
    and files of which it keeps that."""

    gone: Mapping[int | None, int]
    written: WrittenFiles
    kept: tuple[tuple[bool, Rows], ...]
    positions: tuple[tuple[int | None, int], ...]

    def stage(self, tx: DraftSession, draft: TableDraft, plan: ScanPlan) -> list[NewFile]:
        """Stage all of it; the files that rows came in."""
        staging.end_whole(draft, staging.with_counts(plan, self.gone))
        staging.keep_positions(draft, [(f, p) for f, p in self.positions if f is not None])
        staging.remove_catalog_rows(draft, {p for f, p in self.positions if f is None})
        for numbered, rows in self.kept:
            draft.add_rows(rows, numbered=numbered)
        return self.written.stage(tx, draft)


@dataclass(frozen=True, slots=True)
class SingleTask:
    """What it has to know; picklable. `files` are all that rows may leave, with whether they may
    end. The catalog takes `inlined` rows at most, and so many `positions`."""

    target: Target
    files: Mapping[int, tuple[DataFile, bool]]
    inlined: int
    positions: int
    stamp: int

    @classmethod
    def of(
        cls, tx: DraftSession, draft: TableDraft, plan: ScanPlan, *, among: int = 1
    ) -> SingleTask:
        """Of one `among` several, none knows whether the rows that come are few."""
        few = draft.options.inline_rows
        inlined = few if among == 1 and tx.can_inline(draft.columns) else 0
        files = {file.id: (file, staging.may_end(draft, file)) for file in plan.files}
        return cls(draft.target, files, inlined, few, draft.stamp)

    def settle(
        self,
        work: Workbench,
        doomed: str,
        gone: Mapping[int | None, int],
        coming: Sequence[Arrival],
    ) -> Settlement | None:
        """Do it. `doomed`, a relation or a query in brackets, points at the rows that leave. None,
        and nothing done, if they are of too many files."""
        if len(gone) > FILES_OF_A_TASK:
            return None
        partly, listed = self._partly(gone)
        positions = work.connection.execute(
            f"SELECT {ROW_FILE}, {ROW_POSITION} FROM {doomed} WHERE {ROW_FILE} IS NULL"
            f" OR {ROW_FILE} IN ({', '.join(map(str, [-1, *listed]))}) ORDER BY ALL"
        ).fetchall()
        few = {e: self._few(work, e) for e in coming if 0 < e.count <= self.inlined}
        kept = tuple((each.numbered, rows) for each, rows in few.items() if rows is not None)
        more = tuple(each for each in coming if each.count and few.get(each) is None)
        task = FileTask(doomed, more, self.target, partly, self.stamp)
        return Settlement(gone, task.run(work), kept, tuple(positions))

    def _few(self, work: Workbench, coming: Arrival) -> Rows | None:
        columns = self.target.columns
        return as_text(work.connection, coming.sql, columns, numbered=coming.numbered)

    def _partly(self, gone: Mapping[int | None, int]) -> tuple[tuple[DataFile, ...], list[int]]:
        """The files that need a delete file, and those of which the catalog keeps what leaves."""
        found = []
        for file_id, count in gone.items():
            if file_id is None:
                continue
            file, may_end = self.files[file_id]
            if not (may_end and count == staging.live(file)):
                found.append((file, count))
        if sum(count for _, count in found) <= self.positions:
            return (), [file.id for file, _ in found]
        return tuple(file for file, _ in found), []


def is_near(plan: ScanPlan) -> bool:
    """Whether one task may read all files of a plan."""
    size = sum(file.bytes for file in plan.files)
    return size <= _BYTES_FOR_ONE and len(plan.files) <= FILES_OF_A_TASK


def is_for_one_task(draft: TableDraft, plan: ScanPlan) -> bool:
    """Whether a task can decide, and know all files that the plan reads."""
    return is_for_tasks(draft, plan) and len(plan.files) <= _FILES_KNOWN


def is_for_tasks(draft: TableDraft, plan: ScanPlan) -> bool:
    """Whether all that a plan finds was committed before, in files like any others."""
    if draft.has_added or draft.delete_files:
        return False
    if any(file.encryption_key or file.is_partial_at(draft.base) for file in plan.files):
        return False
    return sum(len(inlined.rows) for inlined in plan.inlined) <= CATALOG_ROWS


def can_flush(tx: DraftSession, draft: TableDraft, done: Settlement) -> bool:
    """Whether the catalog may keep the rows that are for it."""
    return all(
        tx.can_flush(draft.after, (row[int(numbered) :] for row in rows))
        for numbered, rows in done.kept
    )
