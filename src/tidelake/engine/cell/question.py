"""What a cell is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.local.reading import BATCH_ROWS
from tidelake.engine.protocols import Reading
from tidelake.engine.row_source import Tables
from tidelake.model.literal import Value
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan


@dataclass(frozen=True, slots=True)
class Question:
    """A plan, or a SELECT over several; and whether only its rows are to be counted, or its columns
    told."""

    plan: ScanPlan | AsOfPlan | None = None
    sql: str = ""
    tables: Tables | None = None
    parameters: Mapping[str, Value] | None = None
    counts: bool = False
    describes: bool = False
    rows: int = BATCH_ROWS

    def read(self, engine: LocalEngine) -> Reading:
        if self.plan is not None:
            return engine.read(self.plan)
        return engine.query(self.sql, self.tables or {}, self.parameters)
