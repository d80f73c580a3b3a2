"""All rows that a plan finds leave a table, and others may come in their place.

Where to ask is dear, this is done where the rows are: by tasks that read the files themselves, each
some of them; else by one that is brought all rows, if they are few. Only if that is too much are
the rows kept first, and then counted, written and deleted one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from tidelake.engine import Job
from tidelake.engine.parquet.delete_files import write_delete_file
from tidelake.model.change import NewDeleteFile, NewFile
from tidelake.model.file import DataFile
from tidelake.model.schema import ROW_FILE, ROW_NUMBER, ROW_POSITION
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.exchange import FILES_OF_A_TASK, Arrival, Exchange, WrittenFiles
from tidelake.session.single_task import (
    Settlement,
    SingleTask,
    can_flush,
    is_for_one_task,
    is_for_tasks,
    is_near,
)
from tidelake.session.small_files import SmallFiles

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

_TARGET, _WHOLE, _DOOMED = "target", "target_whole", "target_doomed"
_PIECES = 1_000
"""Of what is more, every task would have to be told too much."""
_POINTERS, _ROWS_THERE, _POINTERS_THERE = 8, 32, 64
"""For each row that one task is brought at most: so many if only pointers to them are, and so many
if it reads the files itself."""
_LOOKED_AT = 64
"""For each row that a task is brought."""
_Each = TypeVar("_Each")
_Outcome = tuple[int, list[NewFile]]
_Positions = list[tuple[DataFile, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Departure:
    """The rows leave. If there is a query over the relation `found`, which has them all, its rows
    come `instead`, with their numbers."""

    found: str
    instead: str | None = None

    def stage(self, tx: DraftSession, draft: TableDraft, job: Job, plan: ScanPlan) -> _Outcome:
        """Stage all of it; how many rows leave, and the files that others came in."""
        is_done, done = self._where_files_are(tx, draft, job, plan)
        if done is not None:
            return done
        sql = f"SELECT * FROM {job.relation(_TARGET, plan).sql} AS t"
        if not is_done and self._is_soon_found(draft, job, plan):
            job.define(self.found, sql)
            if (done := self._in_one_place(tx, draft, job, plan)) is not None:
                return done
        job.hold(self.found, sql)
        if self.instead is None:
            return staging.remove(tx, draft, job, self.found, plan), []
        gone = staging.by_file(job, self.found)
        count = sum(gone.values())
        coming = (Arrival(self.instead, count, numbered=True),)
        exchange = Exchange(plan, (self.found,), self.found, gone, coming)
        return count, exchange.run(tx, draft, job)

    def _most(self, draft: TableDraft) -> int:
        """How many rows one task is brought."""
        return draft.target.row_group_rows * (_POINTERS if self.instead is None else 1)

    def _is_soon_found(self, draft: TableDraft, job: Job, plan: ScanPlan) -> bool:
        """Whether the rows may be for one task, and to look for them once more if they are not
        takes less than to keep them in any case."""
        if job.in_process or not is_for_one_task(draft, plan):
            return False
        return _rows(plan) <= _LOOKED_AT * self._most(draft)

    def _in_one_place(
        self, tx: DraftSession, draft: TableDraft, job: Job, plan: ScanPlan
    ) -> _Outcome | None:
        """Have the rows brought to one task; None, and nothing is staged, if they are too many, or
        none came."""
        tx.announce()
        most = self._most(draft)
        task = _Gathered(self, SingleTask.of(tx, draft, plan), most)
        answer = job.meet((self.found,), task.run, most=most)
        return None if answer is None else self._staged(tx, draft, plan, answer[0])

    def _where_files_are(
        self, tx: DraftSession, draft: TableDraft, job: Job, plan: ScanPlan
    ) -> tuple[bool, _Outcome | None]:
        """Have tasks read the files, if they can: whether that was tried, and what came of it;
        None, and nothing is staged, if it was too much."""
        pieces = job.pieces(plan) if is_for_tasks(draft, plan) else None
        if pieces is None or len(pieces) > _PIECES:
            return False, None
        if not pieces:
            return True, (0, [])
        most = draft.target.row_group_rows * (
            _POINTERS_THERE if self.instead is None else _ROWS_THERE
        )
        if self.instead is not None and is_near(plan):  # what comes is to be in one file
            pieces = [replace(plan, pruned=())]
        else:
            pieces = [part for piece in pieces for part in _of_few_files(piece)]
        if self._are_all_wanted(plan) and any(_rows(piece) > most for piece in pieces):
            return False, None
        tx.announce()
        found = self._settled(tx, draft, job, pieces, most)
        if found is None:
            return True, None
        settled = found[0] if len(found) == 1 else _together(tx, draft, job, plan, found)
        return True, self._staged(tx, draft, plan, settled)

    def _are_all_wanted(self, plan: ScanPlan) -> bool:
        """Whether it is known before how many rows there are."""
        return self.instead is not None and plan.predicate is None

    def _settled(
        self,
        tx: DraftSession,
        draft: TableDraft,
        job: Job,
        pieces: Sequence[ScanPlan],
        most: int,
    ) -> list[Settlement] | None:
        """What tasks have done, each with a piece; None, and nothing is done, if one of them has
        more rows than so many."""
        tasks = [(piece, SingleTask.of(tx, draft, piece, among=len(pieces))) for piece in pieces]
        undo = partial(_discard, tx)
        answers = list(job.run(tasks, _InPlace(self, most).run, undo))
        found = [answer for (answer,) in answers if answer is not None]
        if len(found) == len(answers):
            return found
        for answer in answers:
            undo(answer)
        return None

    def _staged(
        self, tx: DraftSession, draft: TableDraft, plan: ScanPlan, done: Settlement | None
    ) -> _Outcome | None:
        if done is None:
            return None
        if not can_flush(tx, draft, done):
            tx.discard(done.written.paths)
            return None
        return sum(done.gone.values()), done.stage(tx, draft, plan)


@dataclass(frozen=True, slots=True)
class _Gathered:
    """A task that has all rows in the relation."""

    departure: Departure
    single: SingleTask
    most: int
    doomed: str | None = None
    """A relation that points at them, if that is another."""

    def run(self, work: Workbench) -> tuple[Settlement | None]:
        """None in it, and nothing done, if they are too many."""
        instead, doomed = self.departure.instead, self.doomed or self.departure.found
        gone: dict[int | None, int] = dict(
            work.connection.execute(
                f"SELECT {ROW_FILE}, count(*) FROM {doomed} GROUP BY {ROW_FILE}"
            ).fetchall()
        )
        count = sum(gone.values())
        if count > self.most:
            return (None,)
        coming = () if instead is None else (Arrival(instead, count, numbered=True),)
        return (self.single.settle(work, doomed, gone, coming),)


@dataclass(frozen=True, slots=True)
class _InPlace:
    """Tasks that read all rows of some files."""

    departure: Departure
    most: int

    def run(self, work: Workbench, piece: tuple[ScanPlan, SingleTask]) -> tuple[Settlement | None]:
        work.define(_TARGET, piece[0])
        if self.departure.instead is None:
            return self._kept(work, piece[1])
        done = work.within_memory(partial(self._kept, work, piece[1]))
        if done is None:
            done = work.within_memory(partial(self._passing, work, *piece))
        return done or (None,)

    def _kept(self, work: Workbench, single: SingleTask) -> tuple[Settlement | None]:
        """The rows are read once, and kept meanwhile."""
        found = self.departure.found
        work.connection.execute(f"CREATE TEMP TABLE {found} AS SELECT * FROM {_TARGET} AS t")
        return _Gathered(self.departure, single, self.most).run(work)

    def _passing(
        self, work: Workbench, plan: ScanPlan, single: SingleTask
    ) -> tuple[Settlement | None]:
        """The rows are too wide for that: which they are is kept, and they are read again."""
        found = self.departure.found
        work.connection.execute(f"DROP TABLE IF EXISTS {found}")
        pointers = ", ".join((ROW_FILE, ROW_POSITION, ROW_NUMBER))
        work.connection.execute(f"CREATE TEMP TABLE {_DOOMED} AS SELECT {pointers} FROM {_TARGET}")
        work.define(_WHOLE, replace(plan, where=None, predicate=None))
        work.connection.execute(
            f"CREATE TEMP VIEW {found} AS SELECT * FROM {_WHOLE}"
            f" WHERE {ROW_NUMBER} IN (SELECT {ROW_NUMBER} FROM {_DOOMED})"
        )
        return _Gathered(self.departure, single, self.most, _DOOMED).run(work)


def _discard(tx: DraftSession, answer: tuple[Settlement | None]) -> None:
    """Remove the files of a task."""
    (done,) = answer
    if done is not None:
        tx.discard(done.written.paths)


def _rows(plan: ScanPlan) -> int:
    return sum(map(staging.live, plan.files))


def _of_few_files(piece: ScanPlan) -> list[ScanPlan]:
    """The same, each with no more files than a task writes delete files for."""
    parts = [replace(piece, files=tuple(part), inlined=()) for part in _in_parts(piece.files)]
    return parts or [piece]


def _in_parts(each: Sequence[_Each]) -> list[list[_Each]]:
    starts = range(0, len(each), FILES_OF_A_TASK)
    return [list(each[start : start + FILES_OF_A_TASK]) for start in starts]


def _together(
    tx: DraftSession, draft: TableDraft, job: Job, plan: ScanPlan, found: Sequence[Settlement]
) -> Settlement:
    """What tasks have done that each saw some of the files. Each may have left a few positions for
    the catalog; if they are not few together, they go to delete files too. And each may have
    written a small file."""
    gone = {file: count for done in found for file, count in done.gone.items()}
    positions = [position for done in found for position in done.positions]
    deletes = [delete for done in found for delete in done.written.deletes]
    written = WrittenFiles(deletes, [files for done in found for files in done.written.files])
    kept = tuple(each for done in found for each in done.kept)
    partly = [(file, position) for file, position in positions if file is not None]
    try:
        if len(partly) > draft.options.inline_rows or (partly and deletes):
            files = {file.id: file for file in plan.files}
            listed: _Positions = [
                (files[file], tuple(position for _, position in rows))
                for file, rows in groupby(sorted(partly), itemgetter(0))
            ]
            for more in job.run(_in_parts(listed), _Left(draft.target, draft.stamp).run):
                deletes += more
            positions = [(file, position) for file, position in positions if file is None]
        joined = SmallFiles.of(written.files).joined(tx, draft, job)
    except BaseException:
        tx.discard(written.paths)
        raise
    written = replace(written, files=[(file,) for file in joined.files])
    if joined.rows:
        kept = (*kept, (True, joined.rows))
    return Settlement(gone, written, kept, tuple(positions))


@dataclass(frozen=True, slots=True)
class _Left:
    """Writes delete files for positions that are known."""

    target: Target
    stamp: int

    def run(self, work: Workbench, piece: _Positions) -> list[NewDeleteFile]:
        work.reach([self.target.path, *(file.path for file, _ in piece)])
        return [
            write_delete_file(
                work, self.target, file, f"SELECT unnest({list(gone)}) AS pos", self.stamp
            )
            for file, gone in piece
        ]
