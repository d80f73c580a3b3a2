"""A lazy read of one table: nothing happens until rows, files or an explanation are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelake.engine import Engine, Reading
from tidelake.event_time.state import plan_state
from tidelake.event_time.values.rollup import RollupUse
from tidelake.model.event_time import moment_text
from tidelake.model.file import DataFile
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import PruneStep, ScanPlan
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest
from tidelake.session.source import Source


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a scan would be read; print it, or use the numbers."""

    table: TableName
    snapshot_id: int
    engine: str
    columns: tuple[str, ...]
    where: str | None
    files: int
    total_files: int
    rows_in_files: int
    bytes: int
    pruned: tuple[PruneStep, ...]
    inlined_rows: int
    files_with_deletes: int
    as_of: str | None = None
    rollup: RollupUse | None = None

    def __str__(self) -> str:
        moment = f" as of {self.as_of}" if self.as_of else ""
        lines = [
            f"scan {self.table}{moment} known at snapshot {self.snapshot_id} on {self.engine}",
            f"  columns  {', '.join(self.columns)}",
        ]
        if self.where:
            lines.append(f"  where    {self.where}")
        reasons = ", ".join(f"{step.files:,} by {step.reason}" for step in self.pruned)
        skipped = self.total_files - self.files
        lines.append(
            f"  files    {self.files:,} of {self.total_files:,}"
            f" ({self.rows_in_files:,} rows, {self.bytes:,} bytes)"
        )
        lines.append(f"  pruned   {skipped:,}" + (f": {reasons}" if reasons else ""))
        if self.files_with_deletes:
            lines.append(f"  deletes  in {self.files_with_deletes:,} of the files")
        if self.inlined_rows:
            lines.append(f"  inlined  {self.inlined_rows:,} rows from the catalog")
        if self.rollup:
            lines.append(f"  rollup   {self.rollup}")
        return "\n".join(lines)


class Scan(LazyRows):
    """A table, the columns and rows wanted of it, and the snapshot to read.

    Immutable; every `to_*` plans afresh, unless the catalog has not moved since.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
    ) -> None:
        self.source = source
        self._session = source.session
        self.columns = (columns,) if isinstance(columns, str) else columns
        self.where = where

    def plan(self) -> ScanPlan | AsOfPlan:
        return self._plan()

    def _plan(self, *, counted: bool = False) -> ScanPlan | AsOfPlan:
        asked = ReadRequest(self.columns, self.where, counted=counted)
        session, name, at = self.source.session, self.source.name, self.source.snapshot_id
        if self.source.as_of is None:
            return session.plan(name, at, asked)
        return plan_state(session, name, at, self.source.as_of, asked)

    def files(self) -> list[DataFile]:
        """The data files the scan would read, after pruning."""
        return list(self.plan().files)

    def explain(self) -> Explanation:
        """How many files would be read, and why the others would not."""
        plan = self._plan(counted=True)
        return Explanation(
            table=plan.table,
            snapshot_id=plan.snapshot_id,
            engine=self.source.session.engine_name,
            columns=plan.output,
            where=plan.asked if isinstance(plan, AsOfPlan) else plan.where,
            files=len(plan.files),
            total_files=plan.total_files,
            rows_in_files=sum(file.rows for file in plan.files),
            bytes=sum(file.bytes for file in plan.files),
            pruned=plan.pruned,
            inlined_rows=sum(len(inlined.rows) for inlined in plan.inlined),
            files_with_deletes=sum(file.has_deletes for file in plan.files),
            as_of=moment_text(plan.as_of) if isinstance(plan, AsOfPlan) else None,
            rollup=plan.rollup if isinstance(plan, AsOfPlan) else None,
        )

    def count(self) -> int:
        """How many rows; from the catalog alone where it knows."""
        if self.columns is not None:
            self.plan()  # which refuses columns that are not there
        if self.where is None and self.source.as_of is None:
            known = self.source.session.row_count(self.source.name, self.source.snapshot_id)
            if known is not None:
                return known
        return int(self.source.session.engine.read(self.plan()).count())

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        return engine.read(self.plan())

    def __repr__(self) -> str:
        return f"<Scan of {self.source!r} columns={self.columns} where={self.where!r}>"
