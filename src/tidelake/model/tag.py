"""Tags: names for snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for a snapshot, which it protects from expiry."""

    name: str
    snapshot_id: int
    created_at: datetime
    author: str | None = None
    message: str | None = None

    def __str__(self) -> str:
        return f"{self.name} → {self.snapshot_id}"
