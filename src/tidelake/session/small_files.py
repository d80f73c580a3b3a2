"""Files that several tasks of a write have written, each with few rows: others put them together.

Nobody knew before how many rows a task would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from tidelake.engine import Job
from tidelake.engine.incoming.inline_text import Rows, as_text
from tidelake.engine.parquet.writer import write_files
from tidelake.model.change import NewFile
from tidelake.model.names import quote
from tidelake.model.schema import ROW_NUMBER
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_SMALL, _SMALL_BYTES = 8, 8 * 1024 * 1024
"""So many files, or more, of as many rows as a row group has, and none of so many bytes."""
_FOUND = "small_files"
_Group = list[NewFile]


@dataclass(frozen=True, slots=True)
class Successors:
    """What small files have become: rows for the catalog, each with its row id, or files."""

    rows: Rows
    files: tuple[NewFile, ...]


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """Files of rows that had ids before, as tasks wrote them."""

    files: tuple[NewFile, ...]

    @classmethod
    def of(cls, written: Iterable[Sequence[NewFile]]) -> SmallFiles:
        return cls(tuple(file for files in written for file in files))

    def joined(self, tx: DraftSession, draft: TableDraft, job: Job) -> Successors:
        """The rows for the catalog, and the files that are left in place of these."""
        few = staging.may_inline(tx, draft, sum(file.rows for file in self.files))
        groups = [[*self.files]] if few and self.files else [*self._groups(draft.target)]
        if not groups:
            return Successors((), self.files)
        plans = [_read(tx, draft, group) for group in groups]
        undo = partial(_discard, tx)
        made = [*job.run(plans, _Join(draft.target, few).run, undo)]
        gone = {
            file.path
            for group, each in zip(groups, made, strict=True)
            for file in group
            if each is not None
        }
        tx.discard(gone)
        left = (file for file in self.files if file.path not in gone)
        done = [each for each in made if each is not None]
        return Successors(
            tuple(row for each in done for row in each.rows),
            (*left, *(file for each in done for file in each.files)),
        )

    def _groups(self, target: Target) -> Iterator[_Group]:
        """Small files that may share one, up to a row group of rows."""
        small = [file for file in self.files if _is_small(file, target)]
        small.sort(key=_partition)
        for _, alike in groupby(small, _partition):
            group: _Group = []
            for file in alike:
                group.append(file)
                many = sum(each.rows for each in group) >= target.row_group_rows
                if many or sum(each.bytes for each in group) >= target.file_bytes:
                    yield group
                    group = []
            if len(group) > 1:
                yield group


def _is_small(file: NewFile, target: Target) -> bool:
    return file.rows * _SMALL < target.row_group_rows and file.bytes < _SMALL_BYTES


def _partition(file: NewFile) -> list[tuple[bool, str]]:
    return [(value is None, value or "") for value in file.partition_values or ()]


def _read(tx: DraftSession, draft: TableDraft, group: _Group) -> ScanPlan:
    files = tuple(draft.as_staged(-1 - place, file) for place, file in enumerate(group))
    return replace(staging.plan_of(tx, draft, files=files), pruned=())


def _discard(tx: DraftSession, made: Successors | None) -> None:
    if made is not None:
        tx.discard([file.path for file in made.files])


@dataclass(frozen=True, slots=True)
class _Join:
    """A task that reads small files, and writes all rows once more; if they are `few`, for the
    catalog, if that can keep them."""

    target: Target
    few: bool

    def run(self, work: Workbench, plan: ScanPlan) -> Successors | None:
        """None, and nothing is written, if there is not the memory for it."""
        return work.within_memory(partial(self._joined, work, plan))

    def _joined(self, work: Workbench, plan: ScanPlan) -> Successors:
        work.define(_FOUND, plan)
        work.reach([self.target.path])
        columns = self.target.columns
        names = ", ".join(quote(column.name) for column in columns)
        sql = f"SELECT {names}, {ROW_NUMBER} FROM {_FOUND}"
        rows = as_text(work.connection, sql, columns, numbered=True) if self.few else None
        if rows is not None:
            return Successors(rows, ())
        return Successors((), write_files(work, sql, self.target, carries_row_ids=True))
