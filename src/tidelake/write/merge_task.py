"""A merge of few rows, all of it done by one task: it gets the source and the rows of the table
that match, joins them, counts what becomes of them and writes all files.

It decides as the driver would: few rows go to the catalog, files that lose all rows end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.engine import Job
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
from tidelake.write.tally import Tally, tally_of

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_FILES_KNOWN = 1_000
"""Of the table, whatever becomes of them: the task is told of all."""
_CATALOG_ROWS = 10_000
_FOR_EACH = 4
"""Rows of the table for a row of the source, so many at most, if one task is to have them all."""
Positions = tuple[tuple[int | None, int], ...]


@dataclass(frozen=True, slots=True)
class _Done:
    """`kept` are the rows for the catalog, of each query that had few; `positions` those that
    leave the catalog, and files of which it keeps that."""

    tally: Tally
    written: WrittenFiles
    kept: tuple[tuple[bool, Rows], ...]
    positions: Positions


@dataclass(frozen=True, slots=True)
class MergeScript:
    """`joined` is a query over the relations `source` and `target`. Over it, `doomed` points at
    the rows that leave, and `queries` give the rows to be written: those that had ids before, and
    others. `kinds` are those of the
    clauses for rows of the table, by the relation that has these."""

    joined: str
    doomed: str
    queries: Mapping[bool, str]
    kinds: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many rows of the table a task takes, and how many the catalog: of rows to be written,
    and of positions that are gone."""

    rows: int
    inlined: int
    positions: int


@dataclass(frozen=True, slots=True)
class MergeTask:
    """`files` are all that rows may leave, with whether they may end."""

    script: MergeScript
    target: Target
    files: Mapping[int, tuple[DataFile, bool]]
    limits: Limits
    stamp: int

    @classmethod
    def of(
        cls, tx: DraftSession, draft: TableDraft, plan: ScanPlan, count: int, script: MergeScript
    ) -> MergeTask:
        few = draft.options.inline_rows
        inlined = few if tx.can_inline(draft.columns) else 0
        files = {file.id: (file, staging.may_end(draft, file)) for file in plan.files}
        limits = Limits(count * _FOR_EACH + _CATALOG_ROWS, inlined, few)
        return cls(script, draft.target, files, limits, draft.stamp)

    def run(self, work: Workbench) -> _Done | None:
        """None, and nothing done, if it is too much for one task."""
        connection = work.connection

        def ask(sql: str) -> list[Any]:
            return connection.execute(sql).fetchall()

        if ask("SELECT count(*) FROM target")[0][0] > self.limits.rows:
            return None
        connection.execute(f"CREATE TEMP TABLE joined AS {self.script.joined}")
        tally = tally_of(ask, self.script.kinds)
        if len(tally.gone) > FILES_OF_A_TASK:
            return None
        partly, listed = self._partly(tally)
        positions = ask(
            f"SELECT {ROW_FILE}, {ROW_POSITION} FROM {self.script.doomed} WHERE {ROW_FILE} IS NULL"
            f" OR {ROW_FILE} IN ({', '.join(map(str, [-1, *listed]))}) ORDER BY ALL"
        )
        counts = {True: tally.updated, False: tally.inserted}
        few = {n: self._few(work, n) for n in counts if 0 < counts[n] <= self.limits.inlined}
        kept = tuple((numbered, rows) for numbered, rows in few.items() if rows is not None)
        coming = tuple(
            Arrival(self.script.queries[numbered], count, numbered)
            for numbered, count in counts.items()
            if count and few.get(numbered) is None
        )
        task = FileTask(self.script.doomed, coming, self.target, partly, self.stamp)
        return _Done(tally, task.run(work), kept, tuple(positions))

    def _few(self, work: Workbench, numbered: bool) -> Rows | None:
        sql, columns = self.script.queries[numbered], self.target.columns
        return as_text(work.connection, sql, columns, numbered=numbered)

    def _partly(self, tally: Tally) -> tuple[tuple[DataFile, ...], list[int]]:
        """The files that need a delete file, and those of which the catalog keeps what leaves."""
        found = []
        for file_id, count in tally.gone.items():
            if file_id is None:
                continue
            file, may_end = self.files[file_id]
            if not (may_end and count == staging.live(file)):
                found.append((file, count))
        if sum(count for _, count in found) <= self.limits.positions:
            return (), [file.id for file, _ in found]
        return tuple(file for file, _ in found), []


def is_for_one_task(draft: TableDraft, plan: ScanPlan, count: int) -> bool:
    """Whether a merge of so many rows may be one: if all that it finds was committed before, in
    files like any others."""
    if draft.has_added or draft.target.partitioning or draft.delete_files:
        return False
    if any(file.encryption_key or file.is_partial_at(draft.base) for file in plan.files):
        return False
    in_catalog = sum(len(inlined.rows) for inlined in plan.inlined)
    if len(plan.files) > _FILES_KNOWN or in_catalog > _CATALOG_ROWS:
        return False
    return draft.options.inline_rows < count <= draft.target.row_group_rows


def run_task(
    tx: DraftSession, draft: TableDraft, job: Job, plan: ScanPlan, task: MergeTask
) -> tuple[Tally, list[NewFile]] | None:
    """Have the merge done, and stage what came of it; None if it is not for one task."""
    tx.announce()
    done = job.meet(("source", "target"), task.run)
    if done is None:
        return None
    staging.end_whole(draft, staging.with_counts(plan, done.tally.gone))
    staging.keep_positions(draft, [(f, p) for f, p in done.positions if f is not None])
    staging.remove_catalog_rows(draft, {p for f, p in done.positions if f is None})
    for numbered, rows in done.kept:
        draft.add_rows(rows, numbered=numbered)
    return done.tally, done.written.stage(tx, draft)
