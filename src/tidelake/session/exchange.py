"""Rows that leave a table and rows that come, by one write and on either engine.

Where to ask is dear, and all of them together are few, one task gets them once and writes all
files: those of the rows, and those of what is deleted. Else it is one step after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.engine import Job
from tidelake.engine.parquet.delete_files import write_delete_file
from tidelake.engine.parquet.writer import write_files
from tidelake.model.change import NewDeleteFile, NewFile
from tidelake.model.file import DataFile
from tidelake.model.names import quote
from tidelake.model.schema import ROW_FILE, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_FILES_OF_A_TASK = 32


@dataclass(frozen=True, slots=True)
class Coming:
    """Rows of a query over the table's columns; `numbered` as `staging.add` has it."""

    sql: str
    count: int
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """What `plan` has found, and the job holds in the relations `held`; `rows` is a query of all
    that matters of the first. Over them there are `views`, by name and in order. `doomed` points
    at the rows that leave: so many of each file as `gone` says, those of no file being in the
    catalog."""

    plan: ScanPlan
    held: tuple[str, ...]
    rows: str
    views: Mapping[str, str]
    doomed: str
    gone: Mapping[int | None, int]
    coming: tuple[Coming, ...]

    @property
    def count(self) -> int:
        return sum(self.gone.values()) + sum(c.count for c in self.coming if not c.numbered)

    def run(self, tx: DraftSession, draft: TableDraft, job: Job) -> list[NewFile]:
        """Stage all of it; the files that rows came in."""
        if not self._is_for_one_task(tx, draft, job):
            return self._in_steps(tx, draft, job)
        partly = staging.end_whole(draft, staging.touched(self.plan, self.gone))
        if staging.are_few(draft, partly):
            self._define(job)
            staging.remove_partly(tx, draft, job, self.doomed, partly)
            return self._add(tx, draft, job)
        task = _Task(self, draft.target, tuple(file for file, _ in partly), draft.stamp)
        tx.announce()
        (done,) = job.over(self.rows, task.run, together=True)
        tx.wrote([delete.path for delete in done.deletes])
        staging.take_deletes(draft, done.deletes)
        for files in done.files:
            tx.wrote([file.path for file in files])
            draft.add_files(files)
        return [file for files in done.files for file in files]

    def _is_for_one_task(self, tx: DraftSession, draft: TableDraft, job: Job) -> bool:
        """Whether there are committed files alone to take rows from, and files to write."""
        coming = [each for each in self.coming if each.count]
        if job.in_process or draft.has_added or len(self.held) > 1:
            return False
        if None in self.gone or not self.gone or not coming:
            return False
        if any(staging.may_inline(tx, draft, each.count) for each in coming):
            return False
        return self.count <= draft.target.row_group_rows and len(self.gone) <= _FILES_OF_A_TASK

    def _in_steps(self, tx: DraftSession, draft: TableDraft, job: Job) -> list[NewFile]:
        self._define(job)
        staging.remove(tx, draft, job, self.doomed, self.plan, known=self.gone)
        return self._add(tx, draft, job)

    def _define(self, job: Job) -> None:
        for name, sql in self.views.items():
            job.define(name, sql)

    def _add(self, tx: DraftSession, draft: TableDraft, job: Job) -> list[NewFile]:
        files: list[NewFile] = []
        for each in self.coming:
            files += staging.add(tx, draft, job, each.sql, count=each.count, numbered=each.numbered)
        return files


@dataclass(frozen=True, slots=True)
class _Done:
    deletes: list[NewDeleteFile]
    files: list[tuple[NewFile, ...]]


@dataclass(frozen=True, slots=True)
class _Task:
    """All of an exchange, where its rows are; picklable, because executors run it."""

    exchange: Exchange
    target: Target
    files: tuple[DataFile, ...]
    stamp: int

    def run(self, work: Workbench, sql: str) -> _Done:
        what = self.exchange
        work.reach([self.target.path, *(file.path for file in self.files)])
        work.connection.execute(f"CREATE TEMP TABLE {quote(what.held[0])} AS {sql}")
        for name, view in what.views.items():
            work.connection.execute(f"CREATE TEMP VIEW {quote(name)} AS {view}")
        deletes = [self._deleted(work, file) for file in self.files]
        files = [
            write_files(work, each.sql, self.target, carries_row_ids=each.numbered)
            for each in what.coming
            if each.count
        ]
        return _Done(deletes, files)

    def _deleted(self, work: Workbench, file: DataFile) -> NewDeleteFile:
        positions = (
            f"SELECT {ROW_POSITION} AS pos FROM {self.exchange.doomed} WHERE {ROW_FILE} = {file.id}"
        )
        return write_delete_file(work, self.target, file, positions, self.stamp)
