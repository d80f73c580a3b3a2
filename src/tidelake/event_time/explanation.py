"""How a plan would be read: which files, and why not the others."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.coverage.values.picture import percent
from tidelake.drawing.amounts import quantity
from tidelake.drawing.report import DrawableReport
from tidelake.event_time.values.rollup import RollupUse
from tidelake.model.event_time import moment_text
from tidelake.model.names import TableName
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import PruneStep, ScanPlan


@dataclass(frozen=True, slots=True)
class Explanation(DrawableReport):
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
    completeness: float | None = None
    """How much of what is expected is there; None where no coverage is kept."""

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
            f" ({quantity(self.rows_in_files, 'row')}, {self.bytes:,} bytes)"
        )
        lines.append(f"  pruned   {skipped:,}" + (f": {reasons}" if reasons else ""))
        if self.files_with_deletes:
            lines.append(f"  deletes  in {self.files_with_deletes:,} of the files")
        if self.inlined_rows:
            lines.append(f"  inlined  {quantity(self.inlined_rows, 'row')} from the catalog")
        if self.rollup:
            lines.append(f"  rollup   {self.rollup}")
        if self.completeness is not None:
            lines.append(f"  complete {percent(self.completeness)} of what is expected")
        return "\n".join(lines)


def explain(plan: ScanPlan | AsOfPlan, engine: str) -> Explanation:
    """Of a plan for which the files were counted."""
    return Explanation(
        table=plan.table,
        snapshot_id=plan.snapshot_id,
        engine=engine,
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
