"""A merge of few rows, all of it done by one task: it gets the source and the rows of the table
that match, joins them, counts what becomes of them and writes all files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelake.engine import Job
from tidelake.model.change import NewFile
from tidelake.plan.scan import ScanPlan
from tidelake.session import single_task
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.exchange import Arrival
from tidelake.session.single_task import CATALOG_ROWS, Settlement, SingleTask
from tidelake.write.tally import Tally, tally_of

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

TARGET = "target"
_FOR_EACH = 4
"""Rows of the table for a row of the source, so many at most, if one task is to have them all."""


@dataclass(frozen=True, slots=True)
class _Done:
    tally: Tally
    settled: Settlement


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
class MergeTask:
    """It is brought the rows of the table that may match, and takes so many at `most`; or it reads
    all of them itself, if it is told what it `reads`."""

    single: SingleTask
    script: MergeScript
    most: int
    reads: ScanPlan | None = None

    @classmethod
    def of(
        cls, tx: DraftSession, draft: TableDraft, plan: ScanPlan, count: int, script: MergeScript
    ) -> MergeTask:
        return cls(SingleTask.of(tx, draft, plan), script, count * _FOR_EACH + CATALOG_ROWS)

    def run(self, work: Workbench) -> _Done | None:
        """None, and nothing done, if it is too much for one task."""
        connection = work.connection

        def ask(sql: str) -> list[Any]:
            return connection.execute(sql).fetchall()

        if self.reads is not None:
            work.define(TARGET, self.reads)
        elif ask(f"SELECT count(*) FROM {TARGET}")[0][0] > self.most:
            return None
        connection.execute(f"CREATE TEMP TABLE joined AS {self.script.joined}")
        tally = tally_of(ask, self.script.kinds)
        counts = {True: tally.updated, False: tally.inserted}
        coming = [
            Arrival(self.script.queries[numbered], count, numbered)
            for numbered, count in counts.items()
            if count
        ]
        settled = self.single.settle(work, self.script.doomed, tally.gone, coming)
        return None if settled is None else _Done(tally, settled)


def is_for_one_task(draft: TableDraft, plan: ScanPlan, count: int) -> bool:
    """Whether a merge of so many rows may be one: if all that it finds was committed before, in
    files like any others."""
    if draft.target.partitioning or not single_task.is_for_one_task(draft, plan):
        return False
    return draft.options.inline_rows < count <= draft.target.row_group_rows


def run_task(
    tx: DraftSession, draft: TableDraft, job: Job, plan: ScanPlan, task: MergeTask
) -> tuple[Tally, list[NewFile]] | None:
    """Have the merge done, and stage what came of it; None if it is not for one task."""
    tx.announce()
    names = ("source",) if task.reads is not None else ("source", TARGET)
    done = job.meet(names, task.run)
    return None if done is None else (done.tally, done.settled.stage(tx, draft, plan))
