"""Rows that leave a table and rows that come, by one write and on either engine.

Where to ask is dear, and all of them together are few, one task gets them once and writes all
files: those of the rows, and those of what is deleted. Else it is one step after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelake.engine import Job
from tidelake.engine.parquet.delete_files import write_delete_file
from tidelake.engine.parquet.writer import write_files
from tidelake.errors import TidelakeError
from tidelake.model.change import NewDeleteFile, NewFile
from tidelake.model.file import DataFile
from tidelake.model.schema import ROW_FILE, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

FILES_OF_A_TASK = 32
"""From which one task takes rows: it writes a delete file for each."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Rows of a query over the table's columns; `numbered` as `staging.add` has it."""

    sql: str
    count: int
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """What `plan` has found, and the job has in the relations `found`. `doomed`, a relation or a
    query in brackets, points at the rows that leave: so many of each file as `gone`
    says, those of no file being in the catalog."""

    plan: ScanPlan
    found: tuple[str, ...]
    doomed: str
    gone: Mapping[int | None, int]
    coming: tuple[Arrival, ...]

    @property
    def count(self) -> int:
        return sum(self.gone.values()) + sum(c.count for c in self.coming if not c.numbered)

    def run(self, tx: DraftSession, draft: TableDraft, job: Job) -> list[NewFile]:
        """Stage all of it; the files that rows came in."""
        if not self._is_for_one_task(tx, draft, job):
            return self._in_steps(tx, draft, job)
        partly = staging.end_whole(draft, staging.with_counts(self.plan, self.gone))
        if staging.are_few(draft, partly):
            staging.remove_partly(tx, draft, job, self.doomed, partly)
            return self._add(tx, draft, job)
        task = FileTask(
            self.doomed,
            tuple(each for each in self.coming if each.count),
            draft.target,
            tuple(file for file, _ in partly),
            draft.stamp,
        )
        tx.announce()
        done = job.meet(self.found, task.run)
        return self._in_steps(tx, draft, job) if done is None else done.stage(tx, draft)

    def _is_for_one_task(self, tx: DraftSession, draft: TableDraft, job: Job) -> bool:
        """Whether there are committed files alone to take rows from, and files to write."""
        coming = [each for each in self.coming if each.count]
        if job.in_process or draft.has_added or len(self.found) > 1:
            return False
        if None in self.gone or not self.gone or not coming:
            return False
        if any(staging.may_inline(tx, draft, each.count) for each in coming):
            return False
        return self.count <= draft.target.row_group_rows and len(self.gone) <= FILES_OF_A_TASK

    def _in_steps(self, tx: DraftSession, draft: TableDraft, job: Job) -> list[NewFile]:
        staging.remove(tx, draft, job, self.doomed, self.plan, known=self.gone)
        return self._add(tx, draft, job)

    def _add(self, tx: DraftSession, draft: TableDraft, job: Job) -> list[NewFile]:
        files: list[NewFile] = []
        for each in self.coming:
            files += staging.add(tx, draft, job, each.sql, count=each.count, numbered=each.numbered)
        return files


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """Files that a task has written, of what came and of what is deleted."""

    deletes: list[NewDeleteFile]
    files: list[tuple[NewFile, ...]]

    @property
    def paths(self) -> list[str]:
        files = [file.path for files in self.files for file in files]
        return [*(delete.path for delete in self.deletes), *files]

    def stage(self, tx: DraftSession, draft: TableDraft) -> list[NewFile]:
        tx.wrote([delete.path for delete in self.deletes])
        staging.take_deletes(draft, self.deletes)
        for files in self.files:
            tx.wrote([file.path for file in files])
            draft.add_files(files)
        return [file for files in self.files for file in files]


@dataclass(frozen=True, slots=True)
class FileTask:
    """Writes all files of an exchange, where its rows are, or leaves none; picklable, because
    executors run it. Rows leave `files`."""

    doomed: str
    coming: tuple[Arrival, ...]
    target: Target
    files: tuple[DataFile, ...]
    stamp: int

    def run(self, work: Workbench) -> WrittenFiles:
        work.reach([self.target.path, *(file.path for file in self.files)])
        done = WrittenFiles([], [])
        try:
            self._write(work, done)
        except BaseException:
            with suppress(TidelakeError):  # what cannot be removed is left for cleanup
                work.store.delete(done.paths)
            raise
        return done

    def _write(self, work: Workbench, done: WrittenFiles) -> None:
        for file in self.files:
            done.deletes.append(self._deleted(work, file))
        for each in self.coming:
            made = write_files(work, each.sql, self.target, carries_row_ids=each.numbered)
            done.files.append(made)

    def _deleted(self, work: Workbench, file: DataFile) -> NewDeleteFile:
        positions = f"SELECT {ROW_POSITION} AS pos FROM {self.doomed} WHERE {ROW_FILE} = {file.id}"
        return write_delete_file(work, self.target, file, positions, self.stamp)
