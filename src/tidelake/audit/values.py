"""What was done to a lake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidelake.drawing.amounts import quantity


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One thing that was done. `actor` is the author of a commit, if it has one; of all else, who
    ran it. `rows` are those that came, changed or went, where that is known."""

    time: datetime
    actor: str | None
    action: str
    table: str | None = None
    snapshot_id: int | None = None
    rows: int | None = None
    detail: str | None = None
    tenant: str | None = None

    def __str__(self) -> str:
        who = f" {self.actor}" if self.actor else ""
        where = f" {self.table}" if self.table else ""
        rows = f" ({quantity(self.rows, 'row')})" if self.rows else ""
        said = f": {self.detail}" if self.detail else ""
        return f"{self.time:%Y-%m-%d %H:%M:%S}{who} {self.action}{where}{rows}{said}"
